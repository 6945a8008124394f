// Ruby's frames walked on the host: the same C as in BPF (bpf/ruby.h), over any memory.
#ifndef STACKRAY_TESTS_RECORDER_RUBY_CHAIN_H_
#define STACKRAY_TESTS_RECORDER_RUBY_CHAIN_H_

#include <cstdint>
#include <vector>

#include "bpf/shared/records.h"
#include "bpf/shared/ruby.h"
#include "interpreters/process_memory.h"

namespace stackray {

struct RubyChain {
  uint64_t context = 0;         // 0: none was found for the thread.
  std::vector<uint64_t> words;  // Frames, innermost first; a FRAME_RUN_END closes each run.
  // What BPF would send of each frame's code if it were new, without the pieces' bytes.
  std::vector<code_record> sent;
  bool is_cut = false;
};

// The execution context is the one that Ruby itself would take; the list of threads is not
// searched. Ends after a bounded number of frames, whatever the memory says.
RubyChain WalkRubyChain(ProcessMemory& memory, const ruby_layout& layout, uint64_t base,
                        uint64_t thread_pointer);

}  // namespace stackray

#endif  // STACKRAY_TESTS_RECORDER_RUBY_CHAIN_H_
