// A process's memory for tests: bytes at addresses.
#ifndef STACKRAY_TESTS_INTERPRETERS_FAKE_MEMORY_H_
#define STACKRAY_TESTS_INTERPRETERS_FAKE_MEMORY_H_

#include <cstdint>
#include <cstring>
#include <map>
#include <span>

#include "interpreters/process_memory.h"

namespace stackray::test {

class FakeMemory : public ProcessMemory {
 public:
  template <typename T>
  void Put(uint64_t address, T value) {
    uint8_t bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    for (size_t i = 0; i < sizeof(T); ++i) bytes_[address + i] = bytes[i];
  }
  void PutBytes(uint64_t address, std::span<const uint8_t> bytes) {
    for (size_t i = 0; i < bytes.size(); ++i) bytes_[address + i] = bytes[i];
  }
  void SetGone(bool gone) { gone_ = gone; }

  bool Read(uint64_t address, std::span<uint8_t> to) override {
    if (gone_) return false;
    for (size_t i = 0; i < to.size(); ++i) {
      const auto byte = bytes_.find(address + i);
      if (byte == bytes_.end()) return false;
      to[i] = byte->second;
    }
    return true;
  }
  bool IsGone() const override { return gone_; }

 private:
  std::map<uint64_t, uint8_t> bytes_;
  bool gone_ = false;
};

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_INTERPRETERS_FAKE_MEMORY_H_
