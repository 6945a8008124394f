// Bytes in memory that count what is read of them.
#ifndef STACKRAY_TESTS_SYMBOLIZER_COUNTING_SOURCE_H_
#define STACKRAY_TESTS_SYMBOLIZER_COUNTING_SOURCE_H_

#include <vector>

#include "symbolizer/byte_source.h"

namespace stackray::test {

class CountingSource : public ByteSource {
 public:
  explicit CountingSource(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)), source_(bytes_) {}
  uint64_t size_bytes() const override { return source_.size_bytes(); }
  absl::Status ReadAt(uint64_t offset, std::span<uint8_t> out) const override {
    ++reads_;
    bytes_read_ += out.size();
    return source_.ReadAt(offset, out);
  }
  uint64_t reads() const { return reads_; }
  uint64_t bytes_read() const { return bytes_read_; }
  void Reset() { reads_ = bytes_read_ = 0; }

 private:
  const std::vector<uint8_t> bytes_;
  const MemorySource source_;
  mutable uint64_t reads_ = 0, bytes_read_ = 0;
};

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_SYMBOLIZER_COUNTING_SOURCE_H_
