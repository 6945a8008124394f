// A fuzzer's input as a process's memory: over and over from address 0 on, so that pointers in it
// lead to other parts of it.
#ifndef STACKRAY_TESTS_FUZZ_INPUT_MEMORY_H_
#define STACKRAY_TESTS_FUZZ_INPUT_MEMORY_H_

#include <cstdint>
#include <span>

#include "interpreters/process_memory.h"

namespace stackray {

inline constexpr uint64_t kMostAddress = uint64_t{1} << 47;

class InputMemory : public ProcessMemory {
 public:
  InputMemory(std::span<const uint8_t> input, uint64_t end) : input_(input), end_(end) {}
  bool Read(uint64_t address, std::span<uint8_t> to) override {
    if (address >= end_ || to.size() > end_ - address) return false;
    for (size_t i = 0; i < to.size(); ++i) to[i] = input_[(address + i) % input_.size()];
    return true;
  }
  bool IsGone() const override { return false; }

 private:
  std::span<const uint8_t> input_;
  const uint64_t end_;
};

}  // namespace stackray

#endif  // STACKRAY_TESTS_FUZZ_INPUT_MEMORY_H_
