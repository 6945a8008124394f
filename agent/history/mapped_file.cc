#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agent/history/history.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

// A page that cannot be read would end the process where it is touched. Reading each once before
// tells of an error instead.
absl::Status ReadThrough(int fd, size_t size, const std::string& name) {
  std::string part(size_t{64} << 10, '\0');
  for (size_t at = 0; at < size;) {
    const ssize_t got = pread(fd, part.data(), part.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return absl::UnavailableError(fmt::format(
          "cannot read {}: {}", name, got == 0 ? "it became shorter" : std::strerror(errno)));
    at += static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::Open(int directory,
                                                                   const std::string& name) {
  const UniqueFd fd(
      openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid() && errno == ENOENT) return absl::NotFoundError(name);
  struct stat facts;
  if (!fd.valid() || fstat(fd.get(), &facts) != 0)
    return absl::UnavailableError(fmt::format("cannot open {}: {}", name, std::strerror(errno)));
  if (!S_ISREG(facts.st_mode) || facts.st_size <= 0)
    return absl::FailedPreconditionError(fmt::format("{} is no regular file, or empty", name));
  const auto size = static_cast<size_t>(facts.st_size);
  if (absl::Status read = ReadThrough(fd.get(), size, name); !read.ok()) return read;
  void* const bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (bytes == MAP_FAILED)
    return absl::UnavailableError(fmt::format("cannot map {}: {}", name, std::strerror(errno)));
  return std::shared_ptr<const MappedFile>(new MappedFile(static_cast<const char*>(bytes), size));
}

MappedFile::~MappedFile() { munmap(const_cast<char*>(bytes_), size_); }

void MappedFile::DropPages() const { madvise(const_cast<char*>(bytes_), size_, MADV_DONTNEED); }

}  // namespace stackray
