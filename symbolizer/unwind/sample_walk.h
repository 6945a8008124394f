// Finishes a sampled walk for which BPF had no table: the record's registers and raw stack, and
// tables loaded now.
#ifndef STACKRAY_SYMBOLIZER_UNWIND_SAMPLE_WALK_H_
#define STACKRAY_SYMBOLIZER_UNWIND_SAMPLE_WALK_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "kernel/raw_sample.h"
#include "kernel/row_memory.h"
#include "symbolizer/unwind/host_walk.h"
#include "symbolizer/unwind/made_code.h"
#include "symbolizer/unwind/stack_pieces.h"
#include "symbolizer/unwind/table_loader.h"

namespace stackray {

// Threads: one at a time; takes the loader's lock for the length of one walk.
class SampleWalk {
 public:
  // Both outlive this. Without `made_code_callers` code that a runtime has made ends a stack.
  SampleWalk(TableLoader& loader, RowMemory& memory, MadeCodeCallersOf made_code_callers = {})
      : loader_(loader), memory_(memory), made_code_callers_(std::move(made_code_callers)) {}

  // `sample` has SAMPLE_HAS_RAW; `above`: what of its stack came behind the slice. The stack in the
  // result is whole, from the leaf on; its end says why it stopped, END_READ_FAULT also when both
  // were too short.
  WalkResult Finish(const RawSample& sample, const StackAbove& above);

 private:
  void TakeMovedTexts(RawSample* sample) ABSL_EXCLUSIVE_LOCKS_REQUIRED(loader_.mutex());

  TableLoader& loader_;
  RowMemory& memory_;
  const MadeCodeCallersOf made_code_callers_;
  HostWalk walk_;
  std::vector<code_range> ranges_;  // Of the sample at hand, where texts were moved.
  std::vector<uint64_t> words_;     // Frame words of that sample.
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_UNWIND_SAMPLE_WALK_H_
