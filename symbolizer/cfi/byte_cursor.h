// Reads little-endian fields out of untrusted bytes.
//
// A read past the end yields 0 and makes the cursor fail for good, so that a parser may check once
// after several reads.
#ifndef STACKRAY_SYMBOLIZER_CFI_BYTE_CURSOR_H_
#define STACKRAY_SYMBOLIZER_CFI_BYTE_CURSOR_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace stackray::cfi {

class ByteCursor {
 public:
  ByteCursor() = default;
  explicit ByteCursor(std::span<const uint8_t> bytes)
      : position_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool ok() const { return !failed_; }
  bool AtEnd() const { return position_ == end_; }
  size_t remaining_bytes() const { return static_cast<size_t>(end_ - position_); }
  const uint8_t* position() const { return position_; }

  template <typename T>
  T Read() {
    T value{};
    if (remaining_bytes() < sizeof(T)) {
      Fail();
      return value;
    }
    std::memcpy(&value, position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }

  // The next `size_bytes` bytes; empty, and the cursor failed, when there are fewer.
  std::span<const uint8_t> Take(uint64_t size_bytes) {
    if (size_bytes > remaining_bytes()) {
      Fail();
      return {};
    }
    const std::span<const uint8_t> taken(position_, size_bytes);
    position_ += size_bytes;
    return taken;
  }

  // LEB128. Ten bytes hold 64 bits; a longer one is damage.
  uint64_t ReadUleb() {
    if (position_ != end_ && *position_ < 0x80) return *position_++;
    bool negative;
    unsigned shift;
    return ReadLebBits(&shift, &negative);
  }
  int64_t ReadSleb() {
    bool negative;
    unsigned shift;
    uint64_t value = ReadLebBits(&shift, &negative);
    if (negative && shift < 64) value |= ~uint64_t{0} << shift;
    return static_cast<int64_t>(value);
  }

  void Fail() {
    failed_ = true;
    position_ = end_;
  }

 private:
  uint64_t ReadLebBits(unsigned* shift, bool* negative) {
    uint64_t value = 0;
    *negative = false;
    for (*shift = 0; *shift < 70; *shift += 7) {
      if (position_ == end_) break;
      const uint8_t byte = *position_++;
      if (*shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << *shift;
      if (byte & 0x80) continue;
      *negative = (byte & 0x40) != 0;
      *shift += 7;
      return value;
    }
    Fail();
    return 0;
  }

  const uint8_t* position_ = nullptr;
  const uint8_t* end_ = nullptr;
  bool failed_ = false;
};

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_BYTE_CURSOR_H_
