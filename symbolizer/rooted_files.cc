#include "symbolizer/rooted_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string_view>

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

UniqueFd RootedFiles::OpenPlace(const std::string& path) const {
  if (!root_.valid() || path.empty() || path.find('\0') != std::string::npos) return UniqueFd();
  open_how how = {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  UniqueFd place(
      static_cast<int>(syscall(SYS_openat2, root_.get(), path.c_str(), &how, sizeof(how))));
  return place.valid() && !IsServedElsewhere(place.get()) ? std::move(place) : UniqueFd();
}

std::unique_ptr<FileSource> RootedFiles::Open(const std::string& path) const {
  const UniqueFd place = OpenPlace(path);
  struct stat info;
  if (!place.valid() || fstat(place.get(), &info) != 0 || !S_ISREG(info.st_mode)) return nullptr;
  return FileSource::Take(UniqueFd(open(fmt::format("/proc/self/fd/{}", place.get()).c_str(),
                                        O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)));
}

std::vector<std::string> RootedFiles::List(const std::string& path, size_t most) const {
  const UniqueFd place = OpenPlace(path);
  UniqueFd fd(place.valid() ? openat(place.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1);
  DIR* const stream = fd.valid() ? fdopendir(fd.get()) : nullptr;
  if (stream == nullptr) return {};
  fd.release();  // closedir() closes it.
  std::vector<std::string> names;
  for (const dirent* entry; names.size() < most && (entry = readdir(stream)) != nullptr;)
    if (const std::string_view name = entry->d_name; name != "." && name != "..")
      names.emplace_back(name);
  closedir(stream);
  return names;
}

}  // namespace stackray
