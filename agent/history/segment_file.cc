#include "agent/history/segment_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "agent/history/batch_scan.h"

namespace stackray {
namespace {

constexpr std::string_view kEnding = ".otlp", kIndexEnding = ".index", kGroupEnding = ".group";
constexpr size_t kSequenceDigits = 12, kTimeDigits = 15;

absl::Status FileError(const std::string& name, std::string_view what, int error) {
  const std::string text = fmt::format("{} {}: {}", what, name, std::strerror(error));
  const bool full = error == ENOSPC || error == EDQUOT;
  return full ? absl::ResourceExhaustedError(text) : absl::UnavailableError(text);
}

std::optional<uint64_t> Digits(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

uint32_t BigEndian(FileWindow& file, uint64_t offset) {
  uint32_t value = 0;
  for (uint64_t i = 0; i < SegmentFile::kLengthBytes; ++i)
    value = value << 8 | file.At(offset + i).value_or(0);
  return value;
}

// 0 when all of both parts is at `offset`, else the error; a full disk may first write a part.
int WriteBoth(int fd, std::string_view head, std::string_view body, uint64_t offset) {
  while (!head.empty() || !body.empty()) {
    const iovec parts[] = {{const_cast<char*>(head.data()), head.size()},
                           {const_cast<char*>(body.data()), body.size()}};
    const ssize_t wrote = pwritev(fd, parts, 2, static_cast<off_t>(offset));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return wrote < 0 ? errno : ENOSPC;
    offset += static_cast<uint64_t>(wrote);
    const size_t of_head = std::min(head.size(), static_cast<size_t>(wrote));
    head.remove_prefix(of_head);
    body.remove_prefix(static_cast<size_t>(wrote) - of_head);
  }
  return 0;
}

}  // namespace

std::string SegmentFile::NameOf(uint64_t sequence, int64_t first_ms) {
  return fmt::format("{:0{}}-{:0{}}{}", sequence, kSequenceDigits, first_ms, kTimeDigits, kEnding);
}

std::optional<uint64_t> SegmentFile::SequenceOf(std::string_view name) {
  if (name.size() != kSequenceDigits + 1 + kTimeDigits + kEnding.size() ||
      name[kSequenceDigits] != '-' || !name.ends_with(kEnding) ||
      !Digits(name.substr(kSequenceDigits + 1, kTimeDigits)))
    return std::nullopt;
  return Digits(name.substr(0, kSequenceDigits));
}

namespace {

std::string WithEnding(std::string_view name, std::string_view from, std::string_view to) {
  return fmt::format("{}{}", name.substr(0, name.size() - from.size()), to);
}

std::string SegmentOf(std::string_view name, std::string_view ending) {
  if (!name.ends_with(ending)) return "";
  std::string segment = WithEnding(name, ending, kEnding);
  return SegmentFile::SequenceOf(segment) ? segment : "";
}

}  // namespace

std::string SegmentFile::IndexNameOf(std::string_view segment) {
  return WithEnding(segment, kEnding, kIndexEnding);
}
std::string SegmentFile::NameOfIndex(std::string_view index) {
  return SegmentOf(index, kIndexEnding);
}
std::string SegmentFile::GroupNameOf(std::string_view segment) {
  return WithEnding(segment, kEnding, kGroupEnding);
}
std::string SegmentFile::NameOfGroup(std::string_view group) {
  return SegmentOf(group, kGroupEnding);
}

absl::StatusOr<std::shared_ptr<SegmentFile>> SegmentFile::Create(int directory, std::string name) {
  UniqueFd fd(
      openat(directory, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return FileError(name, "cannot create", errno);
  return std::shared_ptr<SegmentFile>(new SegmentFile(std::move(fd), std::move(name)));
}

absl::StatusOr<std::shared_ptr<SegmentFile>> SegmentFile::Open(int directory, std::string name) {
  // Non-blocking: opening a pipe of that name must not hang.
  UniqueFd fd(openat(directory, name.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts;
  if (!fd.valid() || fstat(fd.get(), &facts) != 0) return FileError(name, "cannot open", errno);
  if (!S_ISREG(facts.st_mode))
    return absl::FailedPreconditionError(fmt::format("{} is not a regular file", name));
  std::shared_ptr<SegmentFile> segment(new SegmentFile(std::move(fd), std::move(name)));
  const absl::Status listed = segment->ListFrames(static_cast<uint64_t>(facts.st_size));
  if (!listed.ok()) return listed;
  return segment;
}

absl::Status SegmentFile::ListFrames(uint64_t file_bytes) {
  FileWindow window(fd_.get());
  while (file_bytes - size_bytes_ > kLengthBytes) {
    const uint64_t length = BigEndian(window, size_bytes_);
    const uint64_t begin = size_bytes_ + kLengthBytes;
    if (length == 0 || length > kMaxBatchBytes || length > file_bytes - begin) break;
    const std::optional<BatchTimes> times = ScanBatch(window, begin, length);
    if (!times) break;
    batches_.push_back({begin, static_cast<uint32_t>(length), 0, times->start_unix_ns,
                        times->start_unix_ns + times->duration_ns});
    size_bytes_ = begin + length;
  }
  damaged_bytes_ = file_bytes - size_bytes_;
  if (damaged_bytes_ > 0 && ftruncate(fd_.get(), static_cast<off_t>(size_bytes_)) != 0)
    return FileError(name_, "cannot cut off the damaged end of", errno);
  return absl::OkStatus();
}

absl::StatusOr<StoredBatch> SegmentFile::Write(std::string_view bytes, int64_t start_unix_ns,
                                               int64_t duration_ns) {
  if (bytes.empty() || bytes.size() > kMaxBatchBytes)
    return absl::ResourceExhaustedError("a batch of no or more than 64 MiB");
  const auto length = static_cast<uint32_t>(bytes.size());
  const char head[kLengthBytes] = {static_cast<char>(length >> 24), static_cast<char>(length >> 16),
                                   static_cast<char>(length >> 8), static_cast<char>(length)};
  if (const int error = WriteBoth(fd_.get(), {head, sizeof(head)}, bytes, size_bytes_);
      error != 0) {
    // If this fails too, the torn frame is overwritten by the next Write() or cut off at the next
    // Open().
    [[maybe_unused]] const int ignored = ftruncate(fd_.get(), static_cast<off_t>(size_bytes_));
    return FileError(name_, "cannot write to", error);
  }
  return StoredBatch{size_bytes_ + kLengthBytes, length, 0, start_unix_ns,
                     start_unix_ns + duration_ns};
}

absl::StatusOr<std::string> SegmentFile::Read(const StoredBatch& batch) const {
  std::string bytes(batch.length_bytes, '\0');
  for (size_t have = 0; have < bytes.size();) {
    const ssize_t got = pread(fd_.get(), bytes.data() + have, bytes.size() - have,
                              static_cast<off_t>(batch.offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError(name_, "cannot read", errno);
    if (got == 0) return absl::DataLossError(fmt::format("{} became shorter", name_));
    have += static_cast<size_t>(got);
  }
  return bytes;
}

void SegmentFile::StartWriteOut() const { sync_file_range(fd_.get(), 0, 0, SYNC_FILE_RANGE_WRITE); }

void SegmentFile::WaitForDisk() const { fdatasync(fd_.get()); }

}  // namespace stackray
