#include "tests/recorder/ruby_chain.h"

#include "tests/recorder/chain_walk.h"

namespace stackray {
namespace {

#include "bpf/ruby_names.h"

void env_send_ruby_names(scratch* s) { send_ruby_names(s); }

#include "bpf/ruby.h"

}  // namespace

RuntimeChain WalkRubyChain(ProcessMemory& memory, const ruby_layout& layout, uint64_t base,
                           uint64_t thread_pointer) {
  ChainWalk walk(memory);
  runtime_walk& run = walk.run();
  run.layout.ruby = layout;
  run.base = base;
  run.thread_pointer = thread_pointer;
  const u64 context = ruby_current_context(walk.s());
  if (layout.context_kind == RUBY_CONTEXT_NONE || context == 0) return {};
  if (layout.context_kind == RUBY_CONTEXT_GLOBAL && !is_own_context(walk.s(), context)) return {};
  walk.chain().thread_state = run.thread_state = context;
  begin_ruby_chain(walk.s(), context);
  return walk.Finish(stage_ruby_frame);
}

}  // namespace stackray
