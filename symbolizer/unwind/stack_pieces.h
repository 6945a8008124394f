// Keeps what BPF sent of a stack above a stack slice until the slice's sample comes.
// Input:   decoded records; of any order, because a ring that was full lacks some.
// Memory:  at most kMaxBytes, and nothing when no sample is waited for; as a rule one stack.
// Threads: one.
#ifndef STACKRAY_SYMBOLIZER_UNWIND_STACK_PIECES_H_
#define STACKRAY_SYMBOLIZER_UNWIND_STACK_PIECES_H_

#include <cstdint>
#include <map>
#include <vector>

#include "kernel/raw_sample.h"

namespace stackray {

// A stretch of a thread's stack.
struct StackAbove {
  uint64_t address = 0;  // Of its first byte.
  std::vector<uint8_t> bytes;
};

class StackPieces {
 public:
  static constexpr size_t kMaxBytes = 8 << 20;

  // A piece that is not the next of its CPU's stack begins a new one.
  void Take(const StackPiece& piece);
  // What came for this sample; empty when nothing did. Forgets what its CPU has sent.
  StackAbove TakeOf(const sample_record& sample);
  size_t bytes() const { return bytes_; }

 private:
  struct Stack {
    uint64_t time_ns = 0;
    uint32_t pid = 0, tid = 0;
    StackAbove above;
  };
  void Forget(std::map<uint32_t, Stack>::iterator at);

  std::map<uint32_t, Stack> stacks_;  // By CPU.
  size_t bytes_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_UNWIND_STACK_PIECES_H_
