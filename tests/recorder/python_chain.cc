#include "tests/recorder/python_chain.h"

#include <memory>

#include "bpf/scratch.h"

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define barrier_var(variable) asm volatile("" : "+r"(variable))

namespace stackray {
namespace {

// What bpf/python.h asks of its includer.
int env_read(scratch* s, void* to, u32 bytes, u64 from) {
  auto& memory = *reinterpret_cast<ProcessMemory*>(s->host);
  return memory.Read(from, {static_cast<uint8_t*>(to), bytes}) ? END_NONE : END_READ_FAULT;
}
int env_is_new_code(scratch*, u64, u32) { return 1; }
void env_send_code(scratch*) {}

#include "bpf/python.h"

constexpr int kMostSteps = 4 * STAGED_WORDS;

}  // namespace

PythonChain WalkPythonChain(ProcessMemory& memory, const python_layout& layout, uint64_t base,
                            uint64_t thread_pointer) {
  const auto s = std::make_unique<scratch>();
  runtime_walk& p = s->run;
  s->host = reinterpret_cast<u64>(&memory);
  p.layout.python = layout;
  p.base = base;
  p.thread_pointer = thread_pointer;
  PythonChain chain;
  const u64 state = python_current_state(s.get());
  if (layout.chain == PYTHON_NO_CHAIN || !is_own_thread_state(s.get(), state)) return chain;
  chain.thread_state = p.thread_state = state;
  begin_python_chain(s.get());
  for (int i = 0; i < kMostSteps && (p.is_staging || p.frame || p.word_count); ++i) {
    if (p.is_staging) {
      if (stage_python_frame(s.get()) != END_NONE) break;
      continue;
    }
    chain.words.insert(chain.words.end(), p.words, p.words + p.word_count);
    chain.words.push_back(u64{FRAME_RUN_END} << FRAME_KIND_SHIFT |
                          (p.entry == NO_ENTRY ? 0 : p.entry & FRAME_OFFSET_MASK));
    p.word_count = 0;
    p.entry = NO_ENTRY;
    p.is_staging = p.frame != 0;
  }
  chain.is_cut = p.is_cut != 0;
  return chain;
}

}  // namespace stackray
