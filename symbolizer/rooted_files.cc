#include "symbolizer/rooted_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace stackray {
namespace {

constexpr uint32_t kFuse = 0x65735546;  // FUSE_SUPER_MAGIC of the kernel's fs/fuse/inode.c.

// Another process answers its reads, or does not.
bool IsServedElsewhere(int fd) {
  struct statfs info;
  if (fstatfs(fd, &info) != 0) return true;
  return static_cast<uint32_t>(info.f_type) == kFuse;
}

}  // namespace

RootedFiles::RootedFiles(const std::string& directory)
    : root_(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

std::unique_ptr<FileSource> RootedFiles::Open(const std::string& path) const {
  if (!root_.valid() || path.empty() || path.find('\0') != std::string::npos) return nullptr;
  open_how how = {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const UniqueFd place(
      static_cast<int>(syscall(SYS_openat2, root_.get(), path.c_str(), &how, sizeof(how))));
  struct stat info;
  if (!place.valid() || fstat(place.get(), &info) != 0 || !S_ISREG(info.st_mode)) return nullptr;
  if (IsServedElsewhere(place.get())) return nullptr;
  return FileSource::Take(UniqueFd(open(fmt::format("/proc/self/fd/{}", place.get()).c_str(),
                                        O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)));
}

}  // namespace stackray
