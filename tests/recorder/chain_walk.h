// Walks a runtime's frames on the host. A file that includes this header and then, in a namespace
// of its own, one of the readers in bpf/ (bpf/perl.h) has all that the reader asks of its
// surroundings (bpf/env.h).
#ifndef STACKRAY_TESTS_RECORDER_CHAIN_WALK_H_
#define STACKRAY_TESTS_RECORDER_CHAIN_WALK_H_

#include <memory>
#include <utility>

#include "bpf/runtime_frames.h"
#include "bpf/scratch.h"
#include "interpreters/process_memory.h"
#include "tests/recorder/runtime_chain.h"

namespace stackray {

// One walk over a process's memory; both outlive it. Threads: one at a time.
class ChainWalk {
 public:
  explicit ChainWalk(ProcessMemory& memory) : memory_(memory) {
    scratch_->host = reinterpret_cast<u64>(this);
  }
  ChainWalk(const ChainWalk&) = delete;
  ChainWalk& operator=(const ChainWalk&) = delete;

  // The walk whose surroundings are asked.
  static ChainWalk& Of(const scratch* s) { return *reinterpret_cast<ChainWalk*>(s->host); }

  scratch* s() { return scratch_.get(); }
  runtime_walk& run() { return scratch_->run; }
  ProcessMemory& memory() { return memory_; }
  RuntimeChain& chain() { return chain_; }

  // Stages frame after frame, a bounded number of them, and closes each run that has any.
  template <class StageFrame>
  RuntimeChain Finish(StageFrame stage_frame) {
    constexpr int kMostSteps = 8 * STAGED_WORDS;
    runtime_walk& run = scratch_->run;
    for (int i = 0; i < kMostSteps && (run.is_staging || run.frame || run.word_count); ++i) {
      if (run.is_staging) {
        if (stage_frame(s()) != END_NONE) break;
      } else {
        CloseRun();
      }
    }
    chain_.is_cut = run.is_cut != 0;
    return std::move(chain_);
  }

 private:
  void CloseRun() {
    runtime_walk& run = scratch_->run;
    if (run.word_count != 0) {
      const u64 place = run.entry == NO_ENTRY ? 0 : run.entry & FRAME_OFFSET_MASK;
      chain_.words.insert(chain_.words.end(), run.words, run.words + run.word_count);
      chain_.words.push_back(u64{FRAME_RUN_END} << FRAME_KIND_SHIFT | place);
    }
    run.word_count = 0;
    run.entry = NO_ENTRY;
    run.is_staging = run.frame != 0;
  }

  ProcessMemory& memory_;
  std::unique_ptr<scratch> scratch_ = std::make_unique<scratch>();
  RuntimeChain chain_;
};

inline int env_read(scratch* s, void* to, u32 bytes, u64 from) {
  ProcessMemory& memory = ChainWalk::Of(s).memory();
  return memory.Read(from, {static_cast<uint8_t*>(to), bytes}) ? END_NONE : END_READ_FAULT;
}

// All code is new, so that what is sent along is read as well.
inline int env_is_new_code(scratch* /*s*/, u64 /*code*/, u32 /*check*/) { return 1; }

inline void env_send_code(scratch* s) { ChainWalk::Of(s).chain().sent.push_back(s->code_record); }

}  // namespace stackray

// What the readers say to BPF's compiler.
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define barrier_var(variable) asm volatile("" : "+r"(variable))

#endif  // STACKRAY_TESTS_RECORDER_CHAIN_WALK_H_
