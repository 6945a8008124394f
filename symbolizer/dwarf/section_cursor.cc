#include "symbolizer/dwarf/section_cursor.h"

#include <algorithm>

namespace stackray::dwarf {
namespace {

constexpr size_t kFirstReadBytes = 512;
constexpr uint64_t kStepsOfRead = 16;  // A window costs about as much as that many entries.

}  // namespace

SectionPart SectionPart::Slice(uint64_t begin, uint64_t slice_bytes) const {
  if (begin > size_bytes) return {};
  return {source, offset + begin, std::min(slice_bytes, size_bytes - begin)};
}

void SectionCursor::Seek(uint64_t position) {
  if (part_.empty() || position > part_.size_bytes) {
    Fail();
    return;
  }
  failed_ = false;
  if (position >= window_begin_ && position - window_begin_ < end_) {
    at_ = static_cast<size_t>(position - window_begin_);
    return;
  }
  window_begin_ = position;
  at_ = end_ = 0;
  next_read_bytes_ = kFirstReadBytes;
}

void SectionCursor::Skip(uint64_t bytes) {
  if (bytes <= end_ - at_) {
    at_ += static_cast<size_t>(bytes);
    return;
  }
  if (failed_) return;
  const uint64_t from = position();
  if (bytes > part_.size_bytes - from) {
    Fail();
    return;
  }
  if (bytes > kMaxWindowBytes) next_read_bytes_ = kFirstReadBytes;
  window_begin_ = from + bytes;
  at_ = end_ = 0;
}

// Makes `bytes` bytes readable at the cursor.
bool SectionCursor::Fill(size_t bytes) {
  if (failed_) return false;
  const uint64_t from = position();
  const uint64_t there = part_.size_bytes - from;
  if (from > part_.size_bytes || bytes > there || !budget_->Spend(kStepsOfRead)) {
    Fail();
    return false;
  }
  const size_t kept = end_ - at_;
  const auto wanted =
      static_cast<size_t>(std::min<uint64_t>(std::max(next_read_bytes_, bytes), there));
  if (window_.size() < wanted) window_.resize(wanted);
  if (kept > 0) std::memmove(window_.data(), window_.data() + at_, kept);
  const std::span<uint8_t> out = std::span(window_).subspan(kept, wanted - kept);
  if (!part_.source->ReadAt(part_.offset + from + kept, out).ok()) {
    Fail();
    return false;
  }
  window_begin_ = from;
  at_ = 0;
  end_ = wanted;
  next_read_bytes_ = std::min(next_read_bytes_ * 4, kMaxWindowBytes);
  return true;
}

uint64_t SectionCursor::ReadSized(unsigned bytes) {
  switch (bytes) {
    case 1: return Read<uint8_t>();
    case 2: return Read<uint16_t>();
    case 4: return Read<uint32_t>();
    case 8: return Read<uint64_t>();
    default: break;
  }
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes && i < 8; ++i) value |= uint64_t{Read<uint8_t>()} << (8 * i);
  return value;
}

uint64_t SectionCursor::ReadInitialLength(uint8_t* offset_bytes) {
  constexpr uint32_t kWideFormat = 0xffffffff, kFirstReserved = 0xfffffff0;
  const auto length = Read<uint32_t>();
  *offset_bytes = length == kWideFormat ? 8 : 4;
  if (length == kWideFormat) return Read<uint64_t>();
  if (length >= kFirstReserved) Fail();
  return failed_ ? 0 : length;
}

uint64_t SectionCursor::ReadLeb(bool is_signed) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    const auto byte = Read<uint8_t>();
    if (failed_) return 0;
    if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
    if ((byte & 0x80) != 0) continue;
    shift += 7;
    if (is_signed && (byte & 0x40) != 0 && shift < 64) value |= ~uint64_t{0} << shift;
    return value;
  }
  Fail();
  return 0;
}

std::string SectionCursor::ReadString(size_t max_bytes) {
  std::string text;
  while (at_ < end_ || Fill(1)) {
    const char* begin = reinterpret_cast<const char*>(window_.data()) + at_;
    const size_t length = strnlen(begin, end_ - at_);
    text.append(begin, std::min(length, max_bytes - text.size()));
    const bool ended = at_ + length < end_;
    at_ += length + (ended ? 1 : 0);
    if (ended || text.size() == max_bytes) break;
  }
  return text;
}

void SectionCursor::SkipString() {
  while (at_ < end_ || Fill(1)) {
    const void* nul = std::memchr(window_.data() + at_, 0, end_ - at_);
    if (nul == nullptr) {
      at_ = end_;
      continue;
    }
    at_ = static_cast<size_t>(static_cast<const uint8_t*>(nul) - window_.data()) + 1;
    return;
  }
}

std::vector<uint8_t> SectionCursor::ReadBytes(size_t bytes) {
  if (bytes > kMaxWindowBytes || (end_ - at_ < bytes && !Fill(bytes))) {
    Fail();
    return {};
  }
  std::vector<uint8_t> out(window_.begin() + static_cast<ptrdiff_t>(at_),
                           window_.begin() + static_cast<ptrdiff_t>(at_ + bytes));
  at_ += bytes;
  return out;
}

}  // namespace stackray::dwarf
