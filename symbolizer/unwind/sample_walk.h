// Finishes a sampled walk for which BPF had no table: the record's registers and raw stack, and
// tables loaded now.
#ifndef STACKRAY_SYMBOLIZER_UNWIND_SAMPLE_WALK_H_
#define STACKRAY_SYMBOLIZER_UNWIND_SAMPLE_WALK_H_

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "kernel/raw_sample.h"
#include "kernel/row_memory.h"
#include "symbolizer/unwind/host_walk.h"
#include "symbolizer/unwind/made_code.h"
#include "symbolizer/unwind/stack_pieces.h"
#include "symbolizer/unwind/table_loader.h"

namespace stackray {

// What is there of a process whose thread waits: its memory may be read while its stack is walked.
struct LiveThread {
  // All of `to`, or false.
  std::function<bool(uint64_t address, std::span<uint8_t> to)> read;
  const stack_process* stack_runtime = nullptr;  // Of kind STACK; nullptr: none that is known.
  uint64_t thread_pointer = 0;
};

// Threads: one at a time; takes the loader's lock for the length of one walk.
class SampleWalk {
 public:
  // Both outlive this. Without `made_code_callers` and `find_stack_runtime` code that a runtime has
  // made ends a stack.
  SampleWalk(TableLoader& loader, RowMemory& memory, MadeCodeCallersOf made_code_callers = {},
             FindStackRuntime find_stack_runtime = {})
      : loader_(loader),
        memory_(memory),
        made_code_callers_(std::move(made_code_callers)),
        find_stack_runtime_(std::move(find_stack_runtime)) {}

  // `sample` has SAMPLE_HAS_RAW; `above`: what of its stack came behind the slice. The stack in the
  // result is whole, from the leaf on; its end says why it stopped, END_READ_FAULT also when both
  // were too short. Where the sample asks for a runtime that the process does not have, and BPF's
  // walk met no missing table, BPF's own result comes back.
  WalkResult Finish(const RawSample& sample, const StackAbove& above);
  // Walks a thread that is on no CPU, from the sample's leaf on; its slice is read first.
  WalkResult WalkLive(const RawSample& sample, const LiveThread& live);

 private:
  WalkResult Finish(const RawSample& raw, const StackAbove& above, const LiveThread* live);
  void TakeMovedTexts(RawSample* sample) ABSL_EXCLUSIVE_LOCKS_REQUIRED(loader_.mutex());

  TableLoader& loader_;
  RowMemory& memory_;
  const MadeCodeCallersOf made_code_callers_;
  const FindStackRuntime find_stack_runtime_;
  HostWalk walk_;
  std::vector<code_range> ranges_;  // Of the sample at hand, where texts were moved.
  std::vector<uint64_t> words_;     // Frame words of that sample.
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_UNWIND_SAMPLE_WALK_H_
