#include "agent/captures/capture_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>
#include <utility>

#include "agent/captures/trusted_path.h"
#include "agent/settings/capture_list.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

constexpr size_t kMostNames = 10'000;  // Also of other files.

bool IsFlagFile(std::string_view name) {
  return !name.starts_with('.') &&
         (name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json"));
}

// What tells that a file is another one or has changed.
std::array<int64_t, 7> IdentityOf(const struct stat& facts) {
  return {static_cast<int64_t>(facts.st_dev),
          static_cast<int64_t>(facts.st_ino),
          facts.st_size,
          facts.st_mtim.tv_sec,
          facts.st_mtim.tv_nsec,
          facts.st_ctim.tv_sec,
          facts.st_ctim.tv_nsec};
}

// "line 3: …" of "PATH:3: …", as the path stands beside it.
std::string WithoutPath(std::string_view text, std::string_view path) {
  if (!text.starts_with(path) || !text.substr(path.size()).starts_with(':'))
    return std::string(text);
  text.remove_prefix(path.size() + 1);
  return text.starts_with(' ') ? std::string(text.substr(1)) : fmt::format("line {}", text);
}

absl::StatusOr<std::string> ReadText(int fd, size_t most_bytes) {
  std::string text(most_bytes + 1, '\0');
  size_t length = 0;
  while (length < text.size()) {
    const ssize_t got = read(fd, text.data() + length, text.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::UnavailableError(std::strerror(errno));
    if (got == 0) break;
    length += static_cast<size_t>(got);
  }
  if (length > most_bytes)
    return absl::InvalidArgumentError(fmt::format("larger than {} KiB", most_bytes / 1024));
  text.resize(length);
  return text;
}

}  // namespace

bool CaptureFiles::ListNames(std::vector<std::string>* names) {
  problem_.clear();
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(opendir(directory_.c_str()), &closedir);
  if (listing == nullptr) {
    if (errno == ENOENT || errno == ENOTDIR) return true;  // Nothing is asked for.
    problem_ = fmt::format("cannot be read: {}", std::strerror(errno));
    return false;
  }
  if (const absl::Status status = OnlyRootChanges(directory_); !status.ok()) {
    problem_ = fmt::format("is not read: {}", std::string(status.message()));
    return false;
  }
  const dirent* entry = nullptr;
  for (size_t i = 0; i < kMostNames && (entry = readdir(listing.get())) != nullptr; ++i)
    if (IsFlagFile(entry->d_name)) names->emplace_back(entry->d_name);
  std::ranges::sort(*names);
  if (entry != nullptr || names->size() > kMostFiles)
    problem_ = fmt::format("has more than {} files; the others are not read", kMostFiles);
  names->resize(std::min(names->size(), kMostFiles));
  return true;
}

absl::Status CaptureFiles::ReadEntries(int fd, const std::string& name, File& file) const {
  struct stat facts = {};
  if (fstat(fd, &facts) != 0) return absl::UnavailableError(std::strerror(errno));
  if (!S_ISREG(facts.st_mode)) return absl::InvalidArgumentError("not a regular file");
  if (const absl::Status status = OnlyRootChanges(fmt::format("{}/{}", directory_, name));
      !status.ok())
    return status;
  const absl::StatusOr<std::string> text = ReadText(fd, kMostFileBytes);
  if (!text.ok()) return text.status();
  absl::StatusOr<std::vector<CaptureEntry>> entries =
      ParseCaptureFile(*text, fmt::format("{}/{}", directory_, name));
  if (!entries.ok()) return entries.status();
  file.entries = *std::move(entries);
  return absl::OkStatus();
}

// A link whose target went asks for nothing; a file that cannot be looked at goes on as before.
bool CaptureFiles::NoteFailure(const std::string& name, int error) {
  File& file = files_[name];
  const std::string problem = std::strerror(error);
  const bool changed = file.problem != problem;
  if (error == ENOENT) file.entries.clear();
  file.identity = {};
  file.problem = problem;
  return changed;
}

// False: it is as it was.
bool CaptureFiles::ReadFile(const std::string& name) {
  const std::string path = fmt::format("{}/{}", directory_, name);
  struct stat facts = {};
  if (stat(path.c_str(), &facts) != 0) return NoteFailure(name, errno);
  const Identity identity = IdentityOf(facts);
  if (const auto known = files_.find(name); known != files_.end())
    if (known->second.identity == identity) return false;
  File& file = files_[name];
  const File before = file;
  // Non-blocking: opening a pipe of that name must not hang.
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid()) return NoteFailure(name, errno);
  const absl::Status status = ReadEntries(fd.get(), name, file);
  // Two writes within a tick of the file system's clock look alike.
  const bool may_look_alike = std::time(nullptr) - facts.st_ctim.tv_sec < 2;
  file.identity = may_look_alike || absl::IsUnavailable(status) ? Identity() : identity;
  file.problem = WithoutPath(std::string(status.message()), path);
  return file.entries != before.entries || file.problem != before.problem;
}

bool CaptureFiles::Read() {
  const std::string old_problem = problem_;
  std::vector<std::string> names;
  if (!ListNames(&names)) return problem_ != old_problem;
  bool changed = problem_ != old_problem;
  changed |= std::erase_if(files_, [&](const auto& file) {
               return !std::ranges::binary_search(names, file.first);
             }) > 0;
  for (const std::string& name : names) changed |= ReadFile(name);
  return changed;
}

std::vector<CaptureEntry> CaptureFiles::Entries() const {
  std::vector<CaptureEntry> entries;
  for (const auto& [name, file] : files_)
    entries.insert(entries.end(), file.entries.begin(), file.entries.end());
  return entries;
}

std::vector<CaptureFlagProblem> CaptureFiles::Problems() const {
  std::vector<CaptureFlagProblem> problems;
  if (!problem_.empty()) problems.push_back({directory_, problem_});
  for (const auto& [name, file] : files_)
    if (!file.problem.empty())
      problems.push_back({fmt::format("{}/{}", directory_, name), file.problem});
  return problems;
}

}  // namespace stackray
