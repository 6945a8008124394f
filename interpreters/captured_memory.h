// Memory of a process as it was when BPF sampled it: a few pieces, by address.
//
// Memory:  its own copy of the pieces.
// Threads: one at a time.
#ifndef STACKRAY_INTERPRETERS_CAPTURED_MEMORY_H_
#define STACKRAY_INTERPRETERS_CAPTURED_MEMORY_H_

#include <cstdint>
#include <span>
#include <vector>

#include "interpreters/process_memory.h"
#include "kernel/raw_sample.h"

namespace stackray {

class CapturedMemory : public ProcessMemory {
 public:
  explicit CapturedMemory(const CodeMemory& code);
  // False where the bytes do not all lie in one piece.
  bool Read(uint64_t address, std::span<uint8_t> to) override;
  bool IsGone() const override { return false; }

  // Something was asked for that no piece has, since the last call.
  bool TakeMissed();
  size_t bytes() const;

 private:
  struct Piece {
    uint64_t address = 0;
    std::vector<uint8_t> bytes;
  };
  std::vector<Piece> pieces_;
  bool missed_ = false;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_CAPTURED_MEMORY_H_
