#include "agent/privileges/file_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "kernel/foreign/local_file.h"

namespace stackray {
namespace {

// FUSE compares the real, effective and saved ids of who asks, not only those for files.
bool BecomeUser(const HelperRequest& request) {
  std::vector<gid_t> groups(request.groups,
                            request.groups + std::min(request.group_count, kMostGroups));
  if (getuid() == request.uid && request.uid != 0) return true;  // Without root's rights: already.
  return setgroups(groups.size(), groups.data()) == 0 &&
         setresgid(request.gid, request.gid, request.gid) == 0 &&
         setresuid(request.uid, request.uid, request.uid) == 0;
}

bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

HelperReply ReplyOf(const struct stat& info) {
  return {.mode = info.st_mode,
          .device = info.st_dev,
          .inode = info.st_ino,
          .size_bytes = static_cast<uint64_t>(info.st_size),
          .mtime_s = info.st_mtim.tv_sec,
          .mtime_ns = static_cast<uint64_t>(info.st_mtim.tv_nsec)};
}

FileCopy Failed(int error) { return {.reply = {.error = error}, .fd = UniqueFd()}; }

}  // namespace

FileCopy CopyFileAsUser(const HelperRequest& request, int path_fd, const std::string& directory) {
  SetCopyDirectory(directory.c_str());
  uint64_t most = request.most_bytes;
  UniqueFd copy = MakeCopyFile(&most);  // Still as ourselves: no user may write there.
  if (!BecomeUser(request)) return Failed(errno);
  const UniqueFd file(open(fmt::format("/proc/self/fd/{}", path_fd).c_str(),
                           O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.valid()) return Failed(errno);
  struct stat before, after;
  if (fstat(file.get(), &before) != 0) return Failed(errno);
  if (!S_ISREG(before.st_mode)) return Failed(EINVAL);
  FileCopy result{.reply = ReplyOf(before), .fd = UniqueFd()};
  if (request.most_bytes == 0) return result;
  if (!copy.valid()) return Failed(EMFILE);
  if (result.reply.size_bytes > most) return Failed(EFBIG);
  if (const int error = CopyFileBytes(file.get(), copy.get(), result.reply.size_bytes, nullptr);
      error != 0)
    return Failed(error);
  if (fstat(file.get(), &after) != 0 || !SameFile(before, after)) return Failed(ESTALE);
  result.fd = std::move(copy);
  return result;
}

}  // namespace stackray
