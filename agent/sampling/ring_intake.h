// What is done with a record before it waits for the sample loop: the walks that BPF could not end
// are finished here, with the stack that the ring brought for them, and that stack is kept no
// longer.
//
// Threads: one at a time. Memory: StackPieces' and SampleWalk's.
#ifndef STACKRAY_AGENT_SAMPLING_RING_INTAKE_H_
#define STACKRAY_AGENT_SAMPLING_RING_INTAKE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "symbolizer/unwind/sample_walk.h"
#include "symbolizer/unwind/stack_pieces.h"

namespace stackray {

struct TakenRecord {
  std::span<const uint8_t> bytes;        // As in the ring, aligned to 8.
  const WalkResult* finished = nullptr;  // In place of the sample's own walk.
  size_t slice_bytes = 0;  // Of `bytes`: a sample's slice, which is not needed any more;
  size_t tail_bytes = 0;   // and behind it the last of `bytes`, its context.
};

class RingIntake {
 public:
  // Valid during the call.
  using Take = std::function<void(const TakenRecord&)>;

  // `walk` outlives this.
  explicit RingIntake(SampleWalk& walk) : walk_(walk) {}

  // Calls `take` for a record of the ring, damaged ones included, but not for pieces of stacks.
  // Returns the bytes of slices that it held, to be given back.
  uint64_t Add(std::span<const uint8_t> bytes, const Take& take);

 private:
  SampleWalk& walk_;
  StackPieces stack_pieces_;  // Of samples that are to come.
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_RING_INTAKE_H_
