#include "kernel/foreign/local_file.h"

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <vector>

namespace stackray {
namespace {

constexpr uint64_t kMostBytesInMemory = 64 << 20;
constexpr size_t kChunkBytes = 256 << 10;

// Magic numbers of include/uapi/linux/magic.h (Linux 6.18) and of the file systems' own sources.
constexpr uint32_t kOverlay = 0x794c7630;
constexpr std::array<uint32_t, 20> kLocal = {
    0xef53,      // ext2, ext3, ext4
    0x58465342,  // xfs
    0x9123683e,  // btrfs
    0xf2f52010,  // f2fs
    0x01021994,  // tmpfs, and memory files
    0x858458f6,  // ramfs
    0x73717368,  // squashfs
    0xe0f5e1e2,  // erofs
    0x9660,      // isofs
    0x15013346,  // udf
    0x4d44,      // vfat
    0x2011bab0,  // exfat
    0x2fc12fc1,  // zfs
    0xca451a4e,  // bcachefs
    0x3153464a,  // jfs
    0x52654973,  // reiserfs
    0x3434,      // nilfs
    0x7366746e,  // ntfs3
    0x958458f6,  // hugetlbfs
    0x28cd3d45,  // cramfs
};

std::string& CopyDirectory() {
  static std::string directory = "/var/tmp";
  return directory;
}

// The question goes to the file system that has the bytes. FUSE, NFS and 9p know no answer.
bool KnowsItsBlocks(int fd) {
  alignas(fiemap) uint8_t bytes[sizeof(fiemap) + sizeof(fiemap_extent)] = {};
  auto* const question = reinterpret_cast<fiemap*>(bytes);
  question->fm_length = 1;
  question->fm_extent_count = 1;
  return ioctl(fd, FS_IOC_FIEMAP, question) == 0;
}

bool IsSameFile(const struct stat& a, const struct stat& b) {
  return a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace

void SetCopyDirectory(const char* directory) { CopyDirectory() = directory; }

bool IsLocalFile(int fd) {
  struct statfs system;
  if (fstatfs(fd, &system) != 0) return false;
  const auto type = static_cast<uint32_t>(system.f_type);
  if (type == kOverlay) return KnowsItsBlocks(fd);
  return std::ranges::find(kLocal, type) != kLocal.end();
}

UniqueFd MakeCopyFile(uint64_t* most_bytes) {
  UniqueFd fd(open(CopyDirectory().c_str(), O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600));
  if (fd.valid()) return fd;
  *most_bytes = std::min(*most_bytes, kMostBytesInMemory);
  return UniqueFd(memfd_create("stackray-copy", MFD_CLOEXEC));
}

int CopyFileBytes(int from, int to, uint64_t size_bytes, ForeignJob* job) {
  std::vector<char> chunk(std::min<uint64_t>(kChunkBytes, size_bytes));
  for (uint64_t at = 0; at < size_bytes;) {
    const size_t wanted = std::min<uint64_t>(chunk.size(), size_bytes - at);
    const ssize_t got = pread(from, chunk.data(), wanted, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0 ? ESTALE : errno;
    const ssize_t put = pwrite(to, chunk.data(), static_cast<size_t>(got), static_cast<off_t>(at));
    if (put != got) return put < 0 ? errno : ENOSPC;
    at += static_cast<uint64_t>(got);
    if (job != nullptr) job->ComeForward();
  }
  return 0;
}

bool ReturnForReading(ForeignJob& job, UniqueFd fd, uint64_t most_bytes, AnswerFile* facts) {
  const auto fail = [&job](int error) {
    job.Fail(error);
    return false;
  };
  if (fstat(fd.get(), &facts->info) != 0) return fail(errno);
  if (!S_ISREG(facts->info.st_mode)) return fail(EINVAL);
  if (IsLocalFile(fd.get())) {
    job.Return(std::move(fd));
    return true;
  }
  UniqueFd copy = MakeCopyFile(&most_bytes);
  if (!copy.valid()) return fail(errno);
  if (static_cast<uint64_t>(facts->info.st_size) > most_bytes) return fail(EFBIG);
  if (const int error = CopyFileBytes(fd.get(), copy.get(), facts->info.st_size, &job); error != 0)
    return fail(error);
  struct stat after;
  if (fstat(fd.get(), &after) != 0 || !IsSameFile(facts->info, after)) return fail(ESTALE);
  facts->is_copy = 1;
  job.Return(std::move(copy));
  return true;
}

}  // namespace stackray
