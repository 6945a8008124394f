#include "interpreters/jit/jit_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "kernel/process_files.h"

namespace stackray {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;

int64_t WrittenUnixNs(const struct stat& info) {
  return info.st_mtim.tv_sec * kNsPerSecond + info.st_mtim.tv_nsec;
}

absl::Status Refused(absl::string_view why) { return absl::PermissionDeniedError(why); }

// `place`: O_PATH of a regular file. Opening a FIFO for reading would wait, and a device would see
// it.
absl::StatusOr<UniqueFd> OpenChecked(int place, const JitFileOwner& owner, int64_t oldest_unix_ns) {
  struct stat info;
  if (fstat(place, &info) != 0) return absl::NotFoundError("the file is gone");
  if (info.st_uid != 0 && std::ranges::find(owner.uids, info.st_uid) == owner.uids.end())
    return Refused("another user's");
  if (WrittenUnixNs(info) < oldest_unix_ns) return Refused("older than the process");
  return OpenFound(place);
}

}  // namespace

std::optional<JitFileOwner> ParseJitFileOwner(const std::string& status) {
  JitFileOwner owner;
  std::istringstream lines(status);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    const std::vector<uint32_t> numbers(std::istream_iterator<uint32_t>(words), {});
    if (key == "Uid:") owner.uids = numbers;
    if (key == "NSpid:" && !numbers.empty()) owner.inner_pid = numbers.back();
  }
  if (owner.uids.empty() || owner.inner_pid == 0) return std::nullopt;
  return owner;
}

std::optional<JitFileOwner> ReadJitFileOwner(uint32_t pid) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  std::ostringstream text;
  text << file.rdbuf();
  return ParseJitFileOwner(text.str());
}

absl::StatusOr<UniqueFd> OpenJitFile(const ProcessPlace& place, const std::string& path,
                                     const JitFileOwner& owner, int64_t oldest_unix_ns) {
  const absl::StatusOr<UniqueFd> found =
      FindUserFile(place.root.get(), path, place.user, FollowLinks::kOfDirectories);
  if (!found.ok()) return found.status();
  return OpenChecked(found->get(), owner, oldest_unix_ns);
}

bool IsJitDumpPath(std::string_view path) {
  constexpr std::string_view kBegin = "jit-", kEnd = ".dump", kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  path = path.substr(path.rfind('/') + 1);
  if (!path.starts_with(kBegin) || !path.ends_with(kEnd)) return false;
  path.remove_prefix(kBegin.size());
  if (path.size() <= kEnd.size()) return false;
  path.remove_suffix(kEnd.size());
  return path.find_first_not_of("0123456789") == std::string_view::npos;
}

bool IsMemoryFilePath(std::string_view path) { return path.starts_with("/memfd:"); }

absl::StatusOr<UniqueFd> OpenMarkedJitDump(uint32_t pid, const JitFileOwner& owner,
                                           const FileUser& user) {
  const absl::StatusOr<std::string> mapping = FindExecutableMapping(pid, IsJitDumpPath);
  if (!mapping.ok()) return mapping.status();
  const UniqueFd place(open(mapping->c_str(), O_PATH | O_CLOEXEC));
  if (!place.valid()) return absl::NotFoundError("the mapping is gone");
  if (absl::Status status = CheckUserFile(place.get(), user); !status.ok()) return status;
  return OpenChecked(place.get(), owner, 0);
}

}  // namespace stackray
