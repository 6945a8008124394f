#include "agent/history/batch_scan.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace stackray {
namespace {

constexpr size_t kWindowBytes = 4096;

// Wire types of protobuf.
enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Field {
  uint32_t number = 0;
  uint32_t wire_type = 0;
  uint64_t value = 0;           // kVarint, kFixed64.
  uint64_t begin = 0, end = 0;  // kBytes: the payload.
};

// Walks the fields of one message in [position, end).
class FieldWalker {
 public:
  FieldWalker(FileWindow& file, uint64_t begin, uint64_t end)
      : file_(file), position_(begin), end_(end) {}

  bool at_end() const { return position_ == end_; }

  // The next field, or nullopt when these bytes are none.
  std::optional<Field> Next() {
    const std::optional<uint64_t> tag = Varint();
    if (!tag || *tag >> 3 == 0 || *tag >> 3 >= 1 << 29) return std::nullopt;
    Field field{static_cast<uint32_t>(*tag >> 3), static_cast<uint32_t>(*tag & 7)};
    const std::optional<uint64_t> value = field.wire_type == kFixed64   ? Fixed(8)
                                          : field.wire_type == kFixed32 ? Fixed(4)
                                          : field.wire_type == kVarint || field.wire_type == kBytes
                                              ? Varint()
                                              : std::nullopt;
    if (!value) return std::nullopt;
    field.value = *value;
    if (field.wire_type != kBytes) return field;
    if (*value > end_ - position_) return std::nullopt;
    field.begin = position_;
    field.end = position_ += *value;
    return field;
  }

 private:
  std::optional<uint8_t> Byte() {
    if (position_ >= end_) return std::nullopt;
    return file_.At(position_++);
  }
  std::optional<uint64_t> Fixed(int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) {
      const std::optional<uint8_t> byte = Byte();
      if (!byte) return std::nullopt;
      value |= static_cast<uint64_t>(*byte) << (8 * i);
    }
    return value;
  }
  std::optional<uint64_t> Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::optional<uint8_t> byte = Byte();
      if (!byte) return std::nullopt;
      value |= static_cast<uint64_t>(*byte & 0x7f) << shift;
      if (!(*byte & 0x80)) return value;
    }
    return std::nullopt;
  }

  FileWindow& file_;
  uint64_t position_;
  const uint64_t end_;
};

std::optional<BatchTimes> TimesOfProfile(FileWindow& file, const Field& profile) {
  constexpr uint32_t kTime = 3, kDuration = 4;
  std::optional<BatchTimes> times;
  FieldWalker fields(file, profile.begin, profile.end);
  while (!fields.at_end()) {
    const std::optional<Field> field = fields.Next();
    if (!field) return std::nullopt;
    if (field->number == kTime && field->wire_type == kFixed64)
      times.emplace().start_unix_ns = static_cast<int64_t>(field->value);
    if (field->number == kDuration && field->wire_type == kVarint && times)
      times->duration_ns = static_cast<int64_t>(field->value);
    if (field->number > kDuration && times) break;  // Fields are written in ascending order.
  }
  if (!times || times->start_unix_ns <= 0 || times->duration_ns < 0 ||
      times->duration_ns > INT64_MAX - times->start_unix_ns)
    return std::nullopt;
  return times;
}

// The first profile's times below a message whose field 2 holds `depth` more levels down to it.
std::optional<BatchTimes> TimesBelow(FileWindow& file, const Field& message, int depth) {
  if (depth == 0) return TimesOfProfile(file, message);
  FieldWalker fields(file, message.begin, message.end);
  while (!fields.at_end()) {
    const std::optional<Field> field = fields.Next();
    if (!field) return std::nullopt;
    if (field->number != 2 || field->wire_type != kBytes) continue;  // scope_profiles; profiles.
    if (const std::optional<BatchTimes> times = TimesBelow(file, *field, depth - 1)) return times;
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint8_t> FileWindow::At(uint64_t offset) {
  if (offset < buffer_offset_ || offset - buffer_offset_ >= buffer_.size()) {
    buffer_.resize(kWindowBytes);
    ssize_t got;
    do {
      got = pread(fd_, buffer_.data(), buffer_.size(), static_cast<off_t>(offset));
    } while (got < 0 && errno == EINTR);
    buffer_.resize(got > 0 ? static_cast<size_t>(got) : 0);
    buffer_offset_ = offset;
    if (buffer_.empty()) return std::nullopt;
  }
  return static_cast<uint8_t>(buffer_[offset - buffer_offset_]);
}

std::optional<BatchTimes> ScanBatch(FileWindow& file, uint64_t offset, uint64_t length) {
  // What fields skip is not read: a length may say more than the file has.
  if (length == 0 || length > UINT64_MAX - offset || !file.At(offset + length - 1))
    return std::nullopt;
  std::optional<BatchTimes> times;
  FieldWalker fields(file, offset, offset + length);
  while (!fields.at_end()) {
    const std::optional<Field> field = fields.Next();
    if (!field || field->wire_type != kBytes || field->number > 2) return std::nullopt;
    if (field->number == 1 && !times) times = TimesBelow(file, *field, 2);
  }
  return times;
}

}  // namespace stackray
