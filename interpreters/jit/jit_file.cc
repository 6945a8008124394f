#include "interpreters/jit/jit_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "kernel/process_files.h"

namespace stackray {
namespace {

constexpr uint32_t kFuse = 0x65735546;  // FUSE_SUPER_MAGIC of the kernel's fs/fuse/inode.c.
constexpr int64_t kNsPerSecond = 1'000'000'000;

int64_t WrittenUnixNs(const struct stat& info) {
  return info.st_mtim.tv_sec * kNsPerSecond + info.st_mtim.tv_nsec;
}

absl::Status Refused(absl::string_view why) { return absl::PermissionDeniedError(why); }

// What an O_PATH descriptor says before anybody opens the file itself: opening a FIFO for reading
// would wait, and a device would see it.
absl::Status Check(int place, const JitFileOwner& owner, int64_t oldest_unix_ns) {
  struct stat info;
  struct statfs system;
  if (fstat(place, &info) != 0) return absl::NotFoundError("the file is gone");
  if (S_ISLNK(info.st_mode)) return Refused("symbolic link");
  if (!S_ISREG(info.st_mode)) return Refused("no regular file");
  if (info.st_uid != 0 && std::ranges::find(owner.uids, info.st_uid) == owner.uids.end())
    return Refused("another user's");
  if (WrittenUnixNs(info) < oldest_unix_ns) return Refused("older than the process");
  if (fstatfs(place, &system) != 0 || static_cast<uint32_t>(system.f_type) == kFuse)
    return Refused("file system of a process");
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> OpenChecked(UniqueFd place, const JitFileOwner& owner,
                                     int64_t oldest_unix_ns) {
  if (!place.valid()) return absl::NotFoundError("no such file");
  if (absl::Status status = Check(place.get(), owner, oldest_unix_ns); !status.ok()) return status;
  UniqueFd fd(open(fmt::format("/proc/self/fd/{}", place.get()).c_str(),
                   O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return Refused("not readable");
  return fd;
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

absl::StatusOr<UniqueFd> OpenJitFile(const std::string& root, const std::string& path,
                                     const JitFileOwner& owner, int64_t oldest_unix_ns) {
  const UniqueFd directory(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return absl::NotFoundError("the process is gone");
  open_how how = {};
  how.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return OpenChecked(UniqueFd(static_cast<int>(
                         syscall(SYS_openat2, directory.get(), path.c_str(), &how, sizeof(how)))),
                     owner, oldest_unix_ns);
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

absl::StatusOr<UniqueFd> OpenMarkedJitDump(uint32_t pid, const JitFileOwner& owner) {
  const absl::StatusOr<std::string> place = FindExecutableMapping(pid, IsJitDumpPath);
  if (!place.ok()) return place.status();
  return OpenChecked(UniqueFd(open(place->c_str(), O_PATH | O_CLOEXEC)), owner, 0);
}

}  // namespace stackray
