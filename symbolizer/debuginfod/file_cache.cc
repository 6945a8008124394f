#include "symbolizer/debuginfod/file_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "symbolizer/build_id.h"
#include "symbolizer/elf_image.h"

namespace stackray::debuginfod {
namespace {

constexpr std::string_view kEnding = ".debug";
constexpr mode_t kOursAlone = 0700;

std::string NameOf(const std::string& build_id) { return fmt::format("{}{}", build_id, kEnding); }

struct CachedFile {
  std::string name;
  uint64_t size_bytes;
  int64_t used_ns;
};

std::vector<CachedFile> ListFiles(int directory) {
  std::vector<CachedFile> files;
  const int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return files;
  DIR* stream = fdopendir(copy);
  if (stream == nullptr) {
    close(copy);
    return files;
  }
  while (const dirent* entry = readdir(stream)) {
    const std::string_view name = entry->d_name;
    struct stat info;
    if (!name.ends_with(kEnding) ||
        fstatat(directory, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(info.st_mode))
      continue;
    files.push_back({std::string(name), static_cast<uint64_t>(info.st_size),
                     info.st_atim.tv_sec * 1'000'000'000 + info.st_atim.tv_nsec});
  }
  closedir(stream);
  return files;
}

}  // namespace

bool IsBuildId(const std::string& build_id) {
  return build_id.size() >= 8 && build_id.size() <= 128 && build_id.size() % 2 == 0 &&
         std::all_of(build_id.begin(), build_id.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

absl::StatusOr<FileCache> FileCache::Open(const std::string& directory, uint64_t max_bytes) {
  for (size_t slash = 1; (slash = directory.find('/', slash)) != std::string::npos; ++slash)
    (void)mkdir(directory.substr(0, slash).c_str(), kOursAlone);
  (void)mkdir(directory.c_str(), kOursAlone);
  UniqueFd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info;
  if (!fd.valid() || fstat(fd.get(), &info) != 0)
    return absl::UnavailableError(fmt::format("{}: cannot be opened or made", directory));
  if (info.st_uid != geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return absl::FailedPreconditionError(
        fmt::format("{}: others than this user may write there", directory));
  return FileCache(std::move(fd), max_bytes);
}

std::unique_ptr<FileSource> FileCache::Find(const std::string& build_id) const {
  if (!IsBuildId(build_id)) return nullptr;
  UniqueFd fd(
      openat(directory_.get(), NameOf(build_id).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return nullptr;
  const timespec now_and_same[] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  (void)futimens(fd.get(), now_and_same);
  return FileSource::Take(std::move(fd));
}

absl::StatusOr<UniqueFd> FileCache::Create() const {
  UniqueFd fd(openat(directory_.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd.valid()) return absl::UnavailableError("cannot make a file in the cache of debug files");
  return fd;
}

absl::Status FileCache::Keep(const UniqueFd& file, const std::string& build_id) const {
  struct stat info;
  if (!IsBuildId(build_id) || fstat(file.get(), &info) != 0)
    return absl::UnavailableError("the downloaded file cannot be read");
  const FdSource source(file.get(), static_cast<uint64_t>(info.st_size));
  const absl::StatusOr<ElfImage> image = ElfImage::Create(source);
  if (!image.ok() || GnuBuildId(*image) != build_id)
    return absl::DataLossError("the server sent another file than the one of that build id");
  const std::string link = fmt::format("/proc/self/fd/{}", file.get());
  const std::string name = NameOf(build_id);
  if (linkat(AT_FDCWD, link.c_str(), directory_.get(), name.c_str(), AT_SYMLINK_FOLLOW) != 0 &&
      errno != EEXIST)
    return absl::UnavailableError("the downloaded file cannot be kept");
  MakeRoom();
  return absl::OkStatus();
}

void FileCache::MakeRoom() const {
  std::vector<CachedFile> files = ListFiles(directory_.get());
  uint64_t total = 0;
  for (const CachedFile& file : files) total += file.size_bytes;
  std::sort(files.begin(), files.end(),
            [](const CachedFile& a, const CachedFile& b) { return a.used_ns < b.used_ns; });
  for (const CachedFile& file : files) {
    if (total <= max_bytes_) return;
    if (unlinkat(directory_.get(), file.name.c_str(), 0) == 0) total -= file.size_bytes;
  }
}

}  // namespace stackray::debuginfod
