// A walk that stops in the middle of a stack, as a sampling program does when a table page is
// missing.
#ifndef STACKRAY_TESTS_SYMBOLIZER_UNWIND_CUT_WALK_H_
#define STACKRAY_TESTS_SYMBOLIZER_UNWIND_CUT_WALK_H_

#include <vector>

#include "symbolizer/unwind/host_walk.h"

namespace stackray {

// What BPF would put into the record.
struct CutWalk {
  std::vector<uint64_t> words;
  std::vector<code_range> ranges;
  unwind_registers resume = {};  // Of the last frame in `words`.
};

// One entry a frame that the walk can be left at: the first `i + 1` frames are in entry i. Nothing
// is loaded on the way.
std::vector<CutWalk> CutAtEveryFrame(WalkEnvironment& environment, const unwind_registers& leaf);

}  // namespace stackray

#endif  // STACKRAY_TESTS_SYMBOLIZER_UNWIND_CUT_WALK_H_
