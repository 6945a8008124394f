// Ruby's frames walked on the host: the same C as in BPF (bpf/ruby.h), over any memory.
#ifndef STACKRAY_TESTS_RECORDER_RUBY_CHAIN_H_
#define STACKRAY_TESTS_RECORDER_RUBY_CHAIN_H_

#include <cstdint>

#include "bpf/shared/ruby.h"
#include "interpreters/process_memory.h"
#include "tests/recorder/runtime_chain.h"

namespace stackray {

// The execution context is the one that Ruby itself would take; the list of threads is not
// searched. Ends after a bounded number of frames, whatever the memory says.
RuntimeChain WalkRubyChain(ProcessMemory& memory, const ruby_layout& layout, uint64_t base,
                           uint64_t thread_pointer);

}  // namespace stackray

#endif  // STACKRAY_TESTS_RECORDER_RUBY_CHAIN_H_
