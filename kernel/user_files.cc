#include "kernel/user_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <optional>
#include <utility>
#include <vector>

#include "kernel/text.h"

namespace stackray {
namespace {

// Of the kernel's include/uapi/linux/magic.h and fs/fuse/inode.c.
constexpr uint32_t kProc = 0x9fa0, kFuse = 0x65735546;

absl::Status Refused(std::string_view why) {
  return absl::PermissionDeniedError(absl::string_view(why.data(), why.size()));
}
absl::Status Missing() { return absl::NotFoundError("no such file"); }

struct Facts {
  FileRights rights;
  uint64_t device = 0;
};

// What is known without asking a server again.
std::optional<Facts> LookAt(int fd) {
  struct statx info = {};
  if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &info) != 0)
    return std::nullopt;
  return Facts{.rights = {.mode = info.stx_mode, .uid = info.stx_uid, .gid = info.stx_gid},
               .device = makedev(info.stx_dev_major, info.stx_dev_minor)};
}

bool HasAccessList(int fd) {
  const std::string name = fmt::format("/proc/self/fd/{}", fd);
  return getxattr(name.c_str(), "system.posix_acl_access", nullptr, 0) >= 0 ||
         (errno != ENODATA && errno != EOPNOTSUPP);
}

// The list is asked for only where the answer hangs on it.
bool MayUseOpen(int fd, const Facts& facts, const FileUser& user, FileUse use) {
  if (!MayUse(user, facts.rights, use)) return false;
  FileRights rights = facts.rights;
  if (user.reads_all || user.uid == rights.uid) return true;
  rights.has_list = HasAccessList(fd);
  return MayUse(user, rights, use);
}

absl::Status CheckFileSystem(int fd) {
  struct statfs info;
  if (fstatfs(fd, &info) != 0) return Missing();
  if (static_cast<uint32_t>(info.f_type) == kFuse) return Refused("file system of a process");
  if (static_cast<uint32_t>(info.f_type) == kProc) return Refused("file of the kernel");
  return absl::OkStatus();
}

absl::Status CheckFile(int place, const Facts& facts, const FileUser& user) {
  if (S_ISLNK(facts.rights.mode)) return Refused("symbolic link");
  if (!S_ISREG(facts.rights.mode)) return Refused("no regular file");
  if (absl::Status status = CheckFileSystem(place); !status.ok()) return status;
  if (!MayUseOpen(place, facts, user, FileUse::kRead)) return Refused("not its user's to read");
  return absl::OkStatus();
}

// One way from a root. At any time it is in a directory, with parts of the path before it.
class Way {
 public:
  Way(int root, const FileUser& user, FollowLinks links, bool to_file)
      : root_(root), user_(user), links_(links), to_file_(to_file) {}

  absl::StatusOr<UniqueFd> Walk(std::string_view path) {
    if (root_ < 0 || !Push(path)) return Missing();
    while (!left_.empty()) {
      const std::string part = std::move(left_.back());
      left_.pop_back();
      if (part == "..") {
        if (absl::Status status = EnterHere(); !status.ok()) return status;
        if (!directories_.empty()) directories_.pop_back();
        continue;
      }
      absl::StatusOr<UniqueFd> found = Step(part);
      if (!found.ok() || found->valid()) return found;
    }
    return Missing();  // A directory above.
  }

 private:
  int here() const { return directories_.empty() ? root_ : directories_.back().get(); }

  // Puts the path's parts before those that are left. False: too many.
  bool Push(std::string_view path) {
    if (path.empty() || path.size() > kMostPathBytes || path.find('\0') != path.npos) return false;
    const std::vector<std::string_view> parts = Split(path, '/');
    for (auto part = parts.rbegin(); part != parts.rend(); ++part)
      if (!part->empty() && *part != ".") left_.emplace_back(*part);
    return left_.size() <= kMostPathParts;
  }

  absl::Status EnterHere() {
    const std::optional<Facts> facts = LookAt(here());
    if (!facts) return Missing();
    if (facts->device != device_) {  // Another file system, or the first one.
      if (absl::Status status = CheckFileSystem(here()); !status.ok()) return status;
      device_ = facts->device;
    }
    if (!S_ISDIR(facts->rights.mode)) return Missing();
    if (!MayUseOpen(here(), *facts, user_, FileUse::kSearch))
      return Refused("not its user's to search");
    return absl::OkStatus();
  }

  // An invalid descriptor: there is more of the way.
  absl::StatusOr<UniqueFd> Step(const std::string& part) {
    if (absl::Status status = EnterHere(); !status.ok()) return status;
    open_how how = {};
    how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    how.resolve = left_.empty() && to_file_ ? RESOLVE_NO_XDEV : 0;
    UniqueFd next(static_cast<int>(syscall(SYS_openat2, here(), part.c_str(), &how, sizeof(how))));
    if (!next.valid()) return errno == EXDEV ? Refused("mounted over a file") : Missing();
    const std::optional<Facts> facts = LookAt(next.get());
    if (!facts) return Missing();
    if (S_ISLNK(facts->rights.mode)) return Follow(next.get());
    if (left_.empty()) return Arrive(std::move(next), *facts);
    if (directories_.size() >= kMostPathParts) return Missing();
    directories_.push_back(std::move(next));
    return UniqueFd();
  }

  absl::StatusOr<UniqueFd> Follow(int link) {
    if (links_ == FollowLinks::kNone || (links_ == FollowLinks::kOfDirectories && left_.empty()))
      return Refused("symbolic link");
    char target[kMostPathBytes];
    const ssize_t bytes = readlinkat(link, "", target, sizeof(target));
    if (bytes <= 0 || ++followed_ > kMostPathLinks) return Missing();
    if (target[0] == '/') directories_.clear();
    if (!Push({target, static_cast<size_t>(bytes)})) return Missing();
    return UniqueFd();
  }

  absl::StatusOr<UniqueFd> Arrive(UniqueFd found, const Facts& facts) {
    if (to_file_) {
      if (absl::Status status = CheckFile(found.get(), facts, user_); !status.ok()) return status;
      return found;
    }
    directories_.push_back(std::move(found));
    if (absl::Status status = EnterHere(); !status.ok()) return status;
    if (!MayUseOpen(here(), facts, user_, FileUse::kRead)) return Refused("not its user's to read");
    return std::move(directories_.back());
  }

  const int root_;
  const FileUser& user_;
  const FollowLinks links_;
  const bool to_file_;
  std::vector<UniqueFd> directories_;  // From the root on, which has its own.
  std::vector<std::string> left_;      // The next one last.
  size_t followed_ = 0;
  std::optional<uint64_t> device_;
};

UniqueFd OpenPlace(int directory, const char* name) {
  return UniqueFd(openat(directory, name, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

ProcessPlace OpenProcessPlace(const std::string& proc, uint32_t pid) {
  const UniqueFd process(
      open(fmt::format("{}/{}", proc, pid).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!process.valid()) return {};
  return {.root = OpenPlace(process.get(), "root"),
          .working_directory = OpenPlace(process.get(), "cwd"),
          .user = ReadFileUser(process.get())};
}

absl::StatusOr<UniqueFd> FindUserFile(int root, std::string_view path, const FileUser& user,
                                      FollowLinks links) {
  return Way(root, user, links, /*to_file=*/true).Walk(path);
}

absl::StatusOr<UniqueFd> FindUserDirectory(int root, std::string_view path, const FileUser& user,
                                           FollowLinks links) {
  return Way(root, user, links, /*to_file=*/false).Walk(path);
}

absl::Status CheckUserFile(int place, const FileUser& user) {
  const std::optional<Facts> facts = LookAt(place);
  return facts ? CheckFile(place, *facts, user) : Missing();
}

absl::StatusOr<UniqueFd> OpenFound(int place) {
  UniqueFd fd(open(fmt::format("/proc/self/fd/{}", place).c_str(),
                   O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return Refused("not readable");
  return fd;
}

}  // namespace stackray
