#include "symbolizer/unwind/host_chains.h"

#include <cstring>

#include "bpf/scratch.h"

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define barrier_var(variable) asm volatile("" : "+r"(variable))

namespace stackray {
namespace {

// What the headers of bpf/ ask of their includer. Functions that are global in BPF take the number
// of a scratch; here there is one.
struct Host {
  const HostChains::ReadMemory& read;
  scratch* s;
};
thread_local Host* g_host = nullptr;

int env_read(scratch*, void* to, u32 bytes, u64 from) {
  return g_host->read(from, {static_cast<uint8_t*>(to), bytes}) ? END_NONE : END_READ_FAULT;
}
// Names are read from the process's memory when somebody asks for them.
int env_is_new_code(scratch*, u64, u32) { return 0; }
void env_send_code(scratch*) {}
[[maybe_unused]] void env_count(u32) {}
static void env_send_ruby_names(scratch* s);
scratch* scratch_at(u32) { return g_host->s; }

// BPF remembers the states of threads; nothing is remembered here.
struct seen_thread {
  u32 pid, tid;
  u64 state;
};
thread_local seen_thread g_seen = {};

#define __noinline [[maybe_unused]] __attribute__((noinline))
#define bpf_map_lookup_elem(map, key) ((void)*(key), &g_seen)
#define IS_LEFT_OUT(NAME) 0
#define SEEN_THREADS 1024
#define MAX_SEARCHED_THREADS 16384
#define STACKRAY_BPF_ENV_BPF_H
#define STACKRAY_BPF_CODE_RECORD_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include "bpf/lua.h"
#include "bpf/perl.h"
#include "bpf/php.h"
#include "bpf/python_thread.h"
#include "bpf/ruby_thread.h"
#pragma GCC diagnostic pop

static u64 env_running_lua_call(scratch* s, u64 state) { return running_lua_call(s, state); }

constexpr int kMostSteps = 8 * STAGED_WORDS;
constexpr size_t kMostWords = SAMPLE_MAX_USER_WORDS - 2;

// Is there anything to walk?
bool Begin(scratch* s, uint64_t stack_pointer) {
  switch (s->run.layout.kind) {
    case RUNTIME_PYTHON: return begin_python(0) != 0;
    case RUNTIME_RUBY: return begin_ruby(0) != 0;
    case RUNTIME_PHP: return begin_php(s) != 0;
    case RUNTIME_PERL: return begin_perl(s) != 0;
    case RUNTIME_LUA: return begin_lua(s, stack_pointer, 0) != 0;
    default: return false;
  }
}

int StagePython(scratch* s) {
  const u32 more = s->run.more_states;
  if (more != 0 && s->run.frame == 0) return next_python_state(0);
  const int end = stage_python_frame(s);
  // 3.15: the state itself holds the last frame of all, which runs nothing and lies on no stack.
  if (more != 0 && s->run.frame == 0 && s->run.word_count == 0) s->run.is_staging = 1;
  return end;
}

int Stage(scratch* s) {
  switch (s->run.layout.kind) {
    case RUNTIME_PYTHON: return StagePython(s);
    case RUNTIME_RUBY: return stage_ruby_frame(s);
    case RUNTIME_PHP: return stage_php_frame(s);
    case RUNTIME_PERL: return stage_perl_frame(s);
    case RUNTIME_LUA: return stage_lua_frame(s);
    default: return END_BAD_TABLE;
  }
}

bool AreRunsMarked(const runtime_layout& layout) {
  return layout.kind == RUNTIME_PYTHON && layout.python.chain != PYTHON_FRAME_OBJECTS;
}

// As drain_step() in bpf/runtime_walk.h.
uint64_t PlaceOf(const runtime_walk& run, bool is_first) {
  if (run.entry == NO_ENTRY)
    return run.has_markers != 0 ? uint64_t{RUN_OF_NO_LOOP} : uint64_t{RUN_OF_MANY_LOOPS};
  if (!is_first && run.has_markers != 0) return RUN_OF_ONE_LOOP;
  return run.entry & FRAME_OFFSET_MASK;
}

void Reset(scratch* s, const HostChains::Runtime& runtime, const HostChains::Thread& thread) {
  std::memset(&s->run, 0, sizeof(s->run));
  s->record.tid = thread.tid;
  s->record.process.pid = thread.pid;
  ++s->record.header.time_ns;  // What was read of code objects was another thread's.
  s->regs = {};
  s->word_count = 0;
  s->first_user_word = 0;
  s->search = {};
  s->run.layout = runtime.layout;
  s->run.base = runtime.base;
  s->run.thread_pointer = thread.thread_pointer;
  s->run.has_markers = AreRunsMarked(runtime.layout) ? 1 : 0;
  s->run.entry = NO_ENTRY;
  g_seen = {};
}

}  // namespace

HostChains::HostChains() : scratch_(std::make_unique<scratch>()) {}
HostChains::~HostChains() = default;

std::vector<uint64_t> HostChains::Walk(const ReadMemory& read, const Runtime& runtime,
                                       const Thread& thread) {
  scratch* const s = scratch_.get();
  Host host{read, s};
  g_host = &host;
  Reset(s, runtime, thread);
  std::vector<uint64_t> words;
  runtime_walk& run = s->run;
  bool is_more = Begin(s, thread.stack_pointer);
  for (int i = 0; i < kMostSteps && is_more; ++i) {
    if (run.is_staging != 0) {
      if (Stage(s) == END_NONE) continue;
      run.is_staging = 0;  // What was staged so far is true, and nothing more is known.
      run.frame = 0;
      run.more_states = PYTHON_NO_MORE;
      continue;
    }
    if (words.size() + run.word_count >= kMostWords) break;
    if (run.word_count != 0) {
      words.insert(words.end(), run.words, run.words + run.word_count);
      words.push_back(u64{FRAME_RUN_END} << FRAME_KIND_SHIFT |
                      u64{runtime.range} << FRAME_RANGE_SHIFT | PlaceOf(run, runtime.is_first));
    }
    run.word_count = 0;
    run.entry = NO_ENTRY;
    is_more = run.frame != 0 || run.more_states != 0;
    run.is_staging = is_more ? 1 : 0;
  }
  g_host = nullptr;
  return words;
}

}  // namespace stackray
