// The frames of one runtime, walked on the host by the code that BPF runs, and their names.
#ifndef STACKRAY_TESTS_RECORDER_RUNTIME_CHAIN_H_
#define STACKRAY_TESTS_RECORDER_RUNTIME_CHAIN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bpf/shared/records.h"
#include "interpreters/process_memory.h"
#include "interpreters/runtime.h"

namespace stackray {

struct RuntimeChain {
  // Of Python the thread state, of Ruby the execution context; 0: none was found, or none is asked
  // for.
  uint64_t thread_state = 0;
  std::vector<uint64_t> words;  // Frames, innermost first; a FRAME_RUN_END closes each run.
  // What BPF would send of each frame's code if it were new, without the pieces' bytes.
  std::vector<code_record> sent;
  bool is_cut = false;
};

// One line a frame, innermost first: "FUNCTION FILE:LINE", "[stale]". A line that begins with "--"
// closes a run and says its place, where that is one of its own ("-- callback").
// `base`: where byte 0 of the runtime's text mapping would be.
std::string DescribeChain(const RuntimeData& data, const RuntimeChain& chain, uint64_t base,
                          ProcessMemory& memory);

}  // namespace stackray

#endif  // STACKRAY_TESTS_RECORDER_RUNTIME_CHAIN_H_
