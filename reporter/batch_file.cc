#include "reporter/batch_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace stackray {
namespace {

constexpr size_t kLengthBytes = 4;
constexpr size_t kChunkBytes = size_t{1} << 20;

absl::Status WriteError(int error) {
  const std::string text = fmt::format("writing a batch: {}", std::strerror(error));
  if (error == ENOSPC || error == EDQUOT || error == EFBIG)
    return absl::ResourceExhaustedError(text);
  return absl::UnavailableError(text);
}

}  // namespace

absl::Status BatchFileWriter::WriteAll(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return WriteError(errno);
    if (written == 0) return WriteError(ENOSPC);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

// A pipe has no offset and cannot be cut; its reader sees a torn batch.
void BatchFileWriter::CutBack(int64_t offset) {
  if (offset < 0 || ftruncate(fd_, offset) != 0) return;
  static_cast<void>(lseek(fd_, offset, SEEK_SET));
}

absl::Status BatchFileWriter::Append(std::string_view batch) {
  if (batch.size() > kMaxBatchFileFrameBytes)
    return absl::InvalidArgumentError(fmt::format("batch of {} bytes is too long", batch.size()));
  const int64_t begin = lseek(fd_, 0, SEEK_CUR);
  const auto length = static_cast<uint32_t>(batch.size());
  std::string frame;
  frame.reserve(kLengthBytes + batch.size());
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(length >> shift);
  frame += batch;
  absl::Status status = WriteAll(frame);
  if (!status.ok()) CutBack(begin);
  return status;
}

BatchFileReader BatchFileReader::FromFd(int fd) {
  return BatchFileReader([fd](char* buffer, size_t size) -> absl::StatusOr<size_t> {
    ssize_t got = 0;
    do {
      got = read(fd, buffer, size);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
      return absl::UnavailableError(fmt::format("reading batches: {}", std::strerror(errno)));
    return static_cast<size_t>(got);
  });
}

absl::Status BatchFileReader::Fill(size_t size, std::string* out) {
  while (size > 0) {
    const size_t begin = out->size();
    const size_t chunk = std::min(size, kChunkBytes);
    out->resize(begin + chunk);
    const absl::StatusOr<size_t> got = read_(out->data() + begin, chunk);
    const size_t taken = got.ok() ? std::min(*got, chunk) : 0;
    out->resize(begin + taken);
    offset_ += taken;
    size -= taken;
    if (!got.ok()) return got.status();
    if (taken == 0) break;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::string>> BatchFileReader::Fail(absl::Status status) {
  status_ = std::move(status);
  return status_;
}

absl::StatusOr<std::optional<std::string>> BatchFileReader::Next() {
  if (!status_.ok()) return status_;
  const uint64_t begin = offset_;
  std::string head;
  if (absl::Status status = Fill(kLengthBytes, &head); !status.ok()) return Fail(status);
  if (head.empty()) return std::nullopt;
  uint32_t length = 0;
  for (const char byte : head) length = length << 8 | static_cast<uint8_t>(byte);
  if (head.size() == kLengthBytes && length > kMaxBatchFileFrameBytes) {
    return Fail(absl::DataLossError(
        fmt::format("no batch at offset {}: a length of {} bytes", begin, length)));
  }
  std::string batch;
  if (head.size() == kLengthBytes) {
    if (absl::Status status = Fill(length, &batch); !status.ok()) return Fail(status);
  }
  if (head.size() < kLengthBytes || batch.size() < length) {
    return Fail(
        absl::DataLossError(fmt::format("the batch at offset {} is torn: the file ends after {} of "
                                        "its bytes; {} whole batches before",
                                        begin, offset_ - begin, batches_)));
  }
  ++batches_;
  return batch;
}

}  // namespace stackray
