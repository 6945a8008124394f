#include "kernel/private_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/status/status.h"

namespace stackray {
namespace {

absl::Status DirectoryError(std::string_view what, std::string_view shown, int error) {
  return absl::UnavailableError(fmt::format("{} {}: {}", what, shown, std::strerror(error)));
}

}  // namespace

absl::StatusOr<UniqueFd> OpenPrivateDirectory(int parent, const std::string& name,
                                              std::string_view shown) {
  UniqueFd directory(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts;
  if (!directory.valid() || fstat(directory.get(), &facts) != 0)
    return DirectoryError("cannot open", shown, errno);
  if (facts.st_uid != geteuid())
    return absl::PermissionDeniedError(
        fmt::format("{} belongs to user {}, not to us", shown, facts.st_uid));
  if ((facts.st_mode & 077) != 0 && fchmod(directory.get(), 0700) != 0)
    return DirectoryError("cannot make private", shown, errno);
  return directory;
}

std::string LockHolder(int lock) {
  char text[32] = {};
  const ssize_t got = pread(lock, text, sizeof(text) - 1, 0);
  const std::string_view digits(text, got > 0 ? static_cast<size_t>(got) : 0);
  const size_t end = std::min(digits.find_first_not_of("0123456789"), digits.size());
  return end == 0 ? "unknown pid" : fmt::format("pid {}", digits.substr(0, end));
}

ListedNames ListNames(int directory, size_t max_names,
                      const std::function<bool(std::string_view name)>& is_ours) {
  ListedNames result;
  // closedir() closes it.
  const int own = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(own < 0 ? nullptr : fdopendir(own), &closedir);
  if (listing == nullptr) return result;
  while (const dirent* entry = readdir(listing.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == ".." || is_ours(name)) continue;
    result.all = result.names.size() < max_names;
    if (!result.all) break;
    result.names.emplace_back(name);
  }
  std::ranges::sort(result.names);
  return result;
}

}  // namespace stackray
