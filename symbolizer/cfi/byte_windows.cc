#include "symbolizer/cfi/byte_windows.h"

#include <algorithm>

namespace stackray::cfi {
namespace {

constexpr uint64_t kMaxRangeBytes = 256 << 10;  // The longest real entries are a few KiB.
constexpr uint64_t kAlignBytes = 512;           // So that a look slightly back still hits.

}  // namespace

const uint8_t* ByteWindows::GetSlowly(uint64_t position, uint64_t bytes) {
  if (position > size_bytes_ || bytes > size_bytes_ - position || bytes > kMaxRangeBytes)
    return nullptr;
  if (bytes > slot_bytes_ - kAlignBytes) return GetLong(position, bytes);
  size_t oldest = 0;
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (position >= slot.begin && position < slot.end && bytes <= slot.end - position) {
      slot.last_use = ++use_count_;
      last_slot_ = i;
      return slot.bytes.data() + (position - slot.begin);
    }
    if (slot.last_use < slots_[oldest].last_use) oldest = i;
  }
  Slot& slot = slots_[oldest];
  const uint64_t begin = position & ~(kAlignBytes - 1);
  const uint64_t window_bytes = std::min<uint64_t>(slot_bytes_, size_bytes_ - begin);
  slot.bytes.resize(slot_bytes_);
  slot.begin = slot.end = 0;
  if (!ReadOnce(begin, std::span(slot.bytes).first(window_bytes))) return nullptr;
  slot.begin = begin;
  slot.end = begin + window_bytes;
  slot.last_use = ++use_count_;
  last_slot_ = oldest;
  if (!long_range_.empty()) std::vector<uint8_t>().swap(long_range_);
  return slot.bytes.data() + (position - begin);
}

const uint8_t* ByteWindows::GetLong(uint64_t position, uint64_t bytes) {
  long_range_.resize(bytes);
  return ReadOnce(position, long_range_) ? long_range_.data() : nullptr;
}

bool ByteWindows::ReadOnce(uint64_t position, std::span<uint8_t> out) {
  if (position > size_bytes_ || out.size() > size_bytes_ - position) return false;
  absl::Status status = source_->ReadAt(offset_ + position, out);
  if (status.ok()) return true;
  status_ = std::move(status);
  return false;
}

size_t ByteWindows::memory_bytes() const {
  size_t bytes = slots_.capacity() * sizeof(Slot) + long_range_.capacity();
  for (const Slot& slot : slots_) bytes += slot.bytes.capacity();
  return bytes;
}

}  // namespace stackray::cfi
