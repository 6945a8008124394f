// A few windows onto one part of a ByteSource, so that neighbouring reads cost one system call.
// Input:   the source may shrink or fail at any time; sizes are checked against the part.
// Memory:  slot_count × slot_bytes from the first read on, and one buffer for a longer range while
//          that range is the last one asked for.
// Threads: one at a time.
#ifndef STACKRAY_SYMBOLIZER_CFI_BYTE_WINDOWS_H_
#define STACKRAY_SYMBOLIZER_CFI_BYTE_WINDOWS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "symbolizer/byte_source.h"

namespace stackray::cfi {

class ByteWindows {
 public:
  // `source` is owned by the caller and must outlive this object. The part [offset, offset + size)
  // must lie in the source.
  ByteWindows(const ByteSource* source, uint64_t offset, uint64_t size_bytes, size_t slot_count,
              size_t slot_bytes)
      : source_(source),
        offset_(offset),
        size_bytes_(size_bytes),
        slot_bytes_(slot_bytes),
        slots_(slot_count) {}

  uint64_t size_bytes() const { return size_bytes_; }

  // `bytes` bytes from `position` (relative to the part), valid until the next call. nullptr when
  // they are not in the part or cannot be read; status() tells the two apart.
  const uint8_t* Get(uint64_t position, uint64_t bytes) {
    Slot& last = slots_[last_slot_];
    if (position >= last.begin && position < last.end && bytes <= last.end - position)
      return last.bytes.data() + (position - last.begin);
    return GetSlowly(position, bytes);
  }

  // One read past the windows, for probes that have no neighbours.
  bool ReadOnce(uint64_t position, std::span<uint8_t> out);

  // The last read error of the source since ClearStatus(); Ok when only bounds were refused.
  const absl::Status& status() const { return status_; }
  void ClearStatus() { status_ = absl::OkStatus(); }
  size_t memory_bytes() const;

 private:
  struct Slot {
    uint64_t begin = 0, end = 0;
    uint64_t last_use = 0;
    std::vector<uint8_t> bytes;
  };
  const uint8_t* GetSlowly(uint64_t position, uint64_t bytes);
  const uint8_t* GetLong(uint64_t position, uint64_t bytes);

  const ByteSource* source_;
  uint64_t offset_, size_bytes_;
  size_t slot_bytes_;
  std::vector<Slot> slots_;
  size_t last_slot_ = 0;
  uint64_t use_count_ = 0;
  std::vector<uint8_t> long_range_;
  absl::Status status_;
};

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_BYTE_WINDOWS_H_
