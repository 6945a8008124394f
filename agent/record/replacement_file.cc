#include "agent/record/replacement_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <utility>

namespace stackray {
namespace {

constexpr mode_t kPermissions = 0777;
constexpr int kNamesTried = 100;

std::string OwnFdPath(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

// ".NAME.1a2b3c", within the file system's bound for names.
std::string TemporaryName(const std::string& base) {
  constexpr size_t kMost = NAME_MAX - 12;
  uint32_t number = 0;
  (void)!getrandom(&number, sizeof(number), 0);
  return fmt::format(".{}.{:06x}", base.substr(0, kMost), number & 0xffffff);
}

bool IsMountPoint(int fd) {
  struct statx facts = {};
  return statx(fd, "", AT_EMPTY_PATH, 0, &facts) == 0 &&
         (facts.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

std::string PathOfOpenFile(int fd) {
  char target[PATH_MAX];
  const ssize_t n = readlink(OwnFdPath(fd).c_str(), target, sizeof(target));
  if (n <= 0 || target[0] != '/') return "";
  return std::string(target, static_cast<size_t>(n));
}

std::unique_ptr<ReplacementFile> ReplacementFile::Create(UniqueFd existing,
                                                         const std::optional<SudoUser>& owner) {
  std::string path = PathOfOpenFile(existing.get());
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) {
    errno = ENOENT;
    return nullptr;
  }
  std::unique_ptr<ReplacementFile> file(new ReplacementFile(std::move(existing), std::move(path)));
  file->base_ = file->path_.substr(slash + 1);
  const std::string directory = file->path_.substr(0, std::max<size_t>(slash, 1));
  file->directory_.reset(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file->OpenTemporary(owner)) return nullptr;
  return file;
}

ReplacementFile::~ReplacementFile() {
  if (!temporary_.empty()) unlinkat(directory_.get(), temporary_.c_str(), 0);
}

// In the old file's folder, where Commit() can give it a name; else in any place, and Commit()
// copies.
bool ReplacementFile::OpenTemporary(const std::optional<SudoUser>& owner) {
  const std::string here = OwnFdPath(directory_.get());
  const bool replaceable = directory_.valid() && !IsMountPoint(existing_.get());
  if (replaceable) fd_.reset(open(here.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  for (int i = 0; replaceable && !fd_.valid() && i < kNamesTried; ++i) {
    std::string name = TemporaryName(base_);
    fd_.reset(openat(directory_.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (fd_.valid()) temporary_ = std::move(name);
    if (!fd_.valid() && errno != EEXIST) break;
  }
  if (!fd_.valid()) {
    directory_.reset();
    fd_.reset(open("/var/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
    if (!fd_.valid()) fd_.reset(open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  }
  struct stat old = {};
  if (!fd_.valid() || fstat(existing_.get(), &old) != 0) return false;
  (void)!fchown(fd_.get(), owner ? owner->uid : old.st_uid, owner ? owner->gid : old.st_gid);
  (void)!fchmod(fd_.get(), old.st_mode & kPermissions);
  return true;
}

bool ReplacementFile::GiveTemporaryName() {
  for (int i = 0; temporary_.empty() && i < kNamesTried; ++i) {
    std::string name = TemporaryName(base_);
    if (linkat(AT_FDCWD, OwnFdPath(fd_.get()).c_str(), directory_.get(), name.c_str(),
               AT_SYMLINK_FOLLOW) == 0)
      temporary_ = std::move(name);
    else if (errno != EEXIST)
      return false;
  }
  return !temporary_.empty();
}

int ReplacementFile::Commit(bool* spoilt) {
  *spoilt = false;
  if (fsync(fd_.get()) != 0 && errno != EINVAL) return errno;
  struct stat old = {}, now = {};
  // Who has put another file there meanwhile gets the result where the name leads, not where it
  // led.
  const bool is_there = directory_.valid() && fstat(existing_.get(), &old) == 0 &&
                        fstatat(directory_.get(), base_.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0;
  const bool replaceable =
      directory_.valid() && (!is_there || SameFile(old, now) || S_ISREG(now.st_mode));
  if (replaceable && GiveTemporaryName() &&
      renameat(directory_.get(), temporary_.c_str(), directory_.get(), base_.c_str()) == 0) {
    temporary_.clear();
    return 0;
  }
  return CopyIntoExisting(spoilt);
}

// Room for the copy is made sure of first, so that a full disk costs nothing.
int ReplacementFile::CopyIntoExisting(bool* spoilt) {
  struct stat facts = {};
  if (fstat(fd_.get(), &facts) != 0) return errno;
  if (facts.st_size > 0) {
    if (const int error = posix_fallocate(existing_.get(), 0, facts.st_size);
        error != 0 && error != EOPNOTSUPP && error != EINVAL)
      return error;
  }
  *spoilt = true;
  off_t at = 0;
  while (at < facts.st_size) {
    const ssize_t n =
        sendfile(existing_.get(), fd_.get(), &at, static_cast<size_t>(facts.st_size - at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) break;
  }
  if (ftruncate(existing_.get(), at) != 0 || fsync(existing_.get()) != 0) return errno;
  *spoilt = false;
  return 0;
}

std::string ReplacementFile::NameBeside() {
  struct stat facts = {};
  if (!directory_.valid() || fstat(fd_.get(), &facts) != 0 || facts.st_size == 0) return "";
  const std::string name = fmt::format("{}.part", base_.substr(0, NAME_MAX - 5));
  if (linkat(AT_FDCWD, OwnFdPath(fd_.get()).c_str(), directory_.get(), name.c_str(),
             AT_SYMLINK_FOLLOW) != 0)
    return "";
  return path_.substr(0, path_.size() - base_.size()) + name;
}

}  // namespace stackray
