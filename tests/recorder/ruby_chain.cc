#include "tests/recorder/ruby_chain.h"

#include <memory>

#include "bpf/scratch.h"

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define barrier_var(variable) asm volatile("" : "+r"(variable))

namespace stackray {
namespace {

// What bpf/ruby.h asks of its includer.
struct Host {
  ProcessMemory& memory;
  std::vector<code_record>& sent;
};
int env_read(scratch* s, void* to, u32 bytes, u64 from) {
  ProcessMemory& memory = reinterpret_cast<Host*>(s->host)->memory;
  return memory.Read(from, {static_cast<uint8_t*>(to), bytes}) ? END_NONE : END_READ_FAULT;
}
int env_is_new_code(scratch*, u64, u32) { return 1; }
void env_send_code(scratch* s) { reinterpret_cast<Host*>(s->host)->sent.push_back(s->code_record); }

#include "bpf/ruby_names.h"

void env_send_ruby_names(scratch* s) { send_ruby_names(s); }

#include "bpf/ruby.h"

constexpr int kMostSteps = 4 * STAGED_WORDS;

}  // namespace

RubyChain WalkRubyChain(ProcessMemory& memory, const ruby_layout& layout, uint64_t base,
                        uint64_t thread_pointer) {
  const auto s = std::make_unique<scratch>();
  runtime_walk& run = s->run;
  run.layout.ruby = layout;
  run.base = base;
  run.thread_pointer = thread_pointer;
  RubyChain chain;
  Host host{.memory = memory, .sent = chain.sent};
  s->host = reinterpret_cast<u64>(&host);
  const u64 context = ruby_current_context(s.get());
  if (layout.context_kind == RUBY_CONTEXT_NONE || context == 0) return chain;
  if (layout.context_kind == RUBY_CONTEXT_GLOBAL && !is_own_context(s.get(), context)) return chain;
  chain.context = run.thread_state = context;
  begin_ruby_chain(s.get(), context);
  for (int i = 0; i < kMostSteps && (run.is_staging || run.frame || run.word_count); ++i) {
    if (run.is_staging) {
      if (stage_ruby_frame(s.get()) != END_NONE) break;
      continue;
    }
    if (run.word_count != 0) {
      chain.words.insert(chain.words.end(), run.words, run.words + run.word_count);
      chain.words.push_back(u64{FRAME_RUN_END} << FRAME_KIND_SHIFT |
                            (run.entry == NO_ENTRY ? 0 : run.entry & FRAME_OFFSET_MASK));
    }
    run.word_count = 0;
    run.entry = NO_ENTRY;
    run.is_staging = run.frame != 0;
  }
  chain.is_cut = run.is_cut != 0;
  return chain;
}

}  // namespace stackray
