#include "symbolizer/dwarf/scratch_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

namespace stackray::dwarf {

namespace {

std::atomic<uint64_t> bytes_in_use{0};

}  // namespace

absl::StatusOr<std::unique_ptr<ScratchFile>> ScratchFile::Create(const std::string& directory,
                                                                 uint64_t max_bytes,
                                                                 uint64_t most_in_all) {
  UniqueFd fd(open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600));
  if (!fd.valid()) return absl::UnavailableError("no scratch file in " + directory);
  return std::unique_ptr<ScratchFile>(new ScratchFile(std::move(fd), max_bytes, most_in_all));
}

ScratchFile::~ScratchFile() { bytes_in_use -= counted_bytes_; }

uint64_t ScratchFile::BytesInUse() { return bytes_in_use; }

absl::Status ScratchFile::Append(std::span<const uint8_t> bytes) {
  if (bytes.size() > max_bytes_ - std::min(size_bytes_, max_bytes_))
    return absl::ResourceExhaustedError("more bytes than a scratch file may have");
  counted_bytes_ += bytes.size();
  if ((bytes_in_use += bytes.size()) > most_in_all_)
    return absl::ResourceExhaustedError("more bytes than all scratch files may have");
  while (!bytes.empty()) {
    const ssize_t n =
        pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(size_bytes_));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return absl::UnavailableError("cannot write a scratch file");
    bytes = bytes.subspan(static_cast<size_t>(n));
    size_bytes_ += static_cast<uint64_t>(n);
  }
  return absl::OkStatus();
}

absl::Status ScratchFile::ReadAt(uint64_t offset, std::span<uint8_t> out) const {
  return FdSource(fd_.get(), size_bytes_).ReadAt(offset, out);
}

}  // namespace stackray::dwarf
