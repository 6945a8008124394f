#include "agent/privileges/file_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace stackray {
namespace {

constexpr uint64_t kMostBytesInMemory = 64 << 20;
constexpr size_t kChunkBytes = 256 << 10;

UniqueFd MakeCopyFile(const std::string& directory) {
  UniqueFd fd(open(directory.c_str(), O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600));
  return fd;
}

// FUSE compares the real, effective and saved ids of who asks, not only those for files.
bool BecomeUser(const HelperRequest& request) {
  std::vector<gid_t> groups(request.groups,
                            request.groups + std::min(request.group_count, kMostGroups));
  if (getuid() == request.uid && request.uid != 0) return true;  // Without root's rights: already.
  return setgroups(groups.size(), groups.data()) == 0 &&
         setresgid(request.gid, request.gid, request.gid) == 0 &&
         setresuid(request.uid, request.uid, request.uid) == 0;
}

int CopyBytes(int from, int to, uint64_t size_bytes) {
  std::vector<char> chunk(kChunkBytes);
  for (uint64_t at = 0; at < size_bytes;) {
    const size_t wanted = std::min<uint64_t>(chunk.size(), size_bytes - at);
    const ssize_t got = pread(from, chunk.data(), wanted, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0 ? ESTALE : errno;
    const ssize_t put = pwrite(to, chunk.data(), static_cast<size_t>(got), static_cast<off_t>(at));
    if (put != got) return put < 0 ? errno : ENOSPC;
    at += static_cast<uint64_t>(got);
  }
  return 0;
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
  UniqueFd copy = MakeCopyFile(directory);  // Still as ourselves: no user may write there.
  if (!BecomeUser(request)) return Failed(errno);
  const UniqueFd file(open(fmt::format("/proc/self/fd/{}", path_fd).c_str(),
                           O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.valid()) return Failed(errno);
  struct stat before, after;
  if (fstat(file.get(), &before) != 0) return Failed(errno);
  if (!S_ISREG(before.st_mode)) return Failed(EINVAL);
  FileCopy result{.reply = ReplyOf(before), .fd = UniqueFd()};
  if (request.most_bytes == 0) return result;
  const bool in_memory = !copy.valid();
  if (in_memory) copy = UniqueFd(memfd_create("stackray-copy", MFD_CLOEXEC));
  if (!copy.valid()) return Failed(errno);
  const uint64_t most =
      in_memory ? std::min(request.most_bytes, kMostBytesInMemory) : request.most_bytes;
  if (result.reply.size_bytes > most) return Failed(EFBIG);
  if (const int error = CopyBytes(file.get(), copy.get(), result.reply.size_bytes); error != 0)
    return Failed(error);
  if (fstat(file.get(), &after) != 0 || !SameFile(before, after)) return Failed(ESTALE);
  result.fd = std::move(copy);
  return result;
}

}  // namespace stackray
