#include "agent/captures/trusted_path.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <vector>

#include "kernel/text.h"

namespace stackray {
namespace {

constexpr int kMostLinks = 40;  // As the kernel's MAXSYMLINKS.

absl::Status Failed(int error) {
  return error == ENOENT ? absl::NotFoundError(strerror(error))
                         : absl::UnavailableError(strerror(error));
}

bool IsReadOnly(const std::string& path) {
  struct statvfs system = {};
  return statvfs(path.c_str(), &system) == 0 && (system.f_flag & ST_RDONLY) != 0;
}

absl::Status Judge(const std::string& path, const struct stat& facts, bool is_last) {
  if (facts.st_uid != 0 && facts.st_uid != geteuid())
    return absl::FailedPreconditionError(fmt::format("user {} owns {}", facts.st_uid, path));
  if (S_ISLNK(facts.st_mode) || (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0) return absl::OkStatus();
  if (S_ISDIR(facts.st_mode) && !is_last && (facts.st_mode & S_ISVTX) != 0) return absl::OkStatus();
  if (IsReadOnly(path)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("others than root may write {0}: chmod go-w {0}", path));
}

// The last name comes first.
void Prepend(std::vector<std::string>& rest, std::string_view path) {
  std::vector<std::string> names;
  for (const std::string_view name : Split(path, '/'))
    if (!name.empty() && name != ".") names.emplace_back(name);
  rest.insert(rest.end(), names.rbegin(), names.rend());
}

}  // namespace

absl::Status OnlyRootChanges(const std::string& path) {
  std::vector<std::string> rest;
  Prepend(rest, path);
  std::string here;  // "" is the root directory.
  for (int links = 0; !rest.empty();) {
    const std::string name = rest.back();
    rest.pop_back();
    if (name == "..") {
      here.resize(here.empty() ? 0 : here.rfind('/'));
      continue;
    }
    const std::string next = fmt::format("{}/{}", here, name);
    struct stat facts = {};
    if (lstat(next.c_str(), &facts) != 0) return Failed(errno);
    if (absl::Status status = Judge(next, facts, rest.empty()); !status.ok()) return status;
    if (!S_ISLNK(facts.st_mode)) {
      here = next;
      continue;
    }
    char target[PATH_MAX];
    const ssize_t bytes = readlink(next.c_str(), target, sizeof(target));
    if (bytes <= 0 || ++links > kMostLinks) return Failed(bytes < 0 ? errno : ELOOP);
    const std::string_view text(target, static_cast<size_t>(bytes));
    if (text.starts_with('/')) here.clear();
    Prepend(rest, text);
  }
  return absl::OkStatus();
}

}  // namespace stackray
