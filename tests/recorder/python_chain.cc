#include "tests/recorder/python_chain.h"

#include "tests/recorder/chain_walk.h"

namespace stackray {
namespace {

#include "bpf/python.h"

}  // namespace

RuntimeChain WalkPythonChain(ProcessMemory& memory, const python_layout& layout, uint64_t base,
                             uint64_t thread_pointer) {
  ChainWalk walk(memory);
  runtime_walk& run = walk.run();
  run.layout.python = layout;
  run.base = base;
  run.thread_pointer = thread_pointer;
  const u64 state = python_current_state(walk.s());
  if (layout.chain == PYTHON_NO_CHAIN || !is_own_thread_state(walk.s(), state)) return {};
  walk.chain().thread_state = run.thread_state = state;
  begin_python_chain(walk.s());
  return walk.Finish(stage_python_frame);
}

}  // namespace stackray
