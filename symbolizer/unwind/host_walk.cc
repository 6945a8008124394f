#include "symbolizer/unwind/host_walk.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernel/raw_sample.h"

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define barrier_var(variable) asm volatile("" : "+r"(variable))

namespace stackray {
namespace {

WalkEnvironment& EnvironmentOf(const scratch* s) {
  return *reinterpret_cast<WalkEnvironment*>(s->host);
}

// What bpf/native.h and bpf/table_lookup.h ask of their includer.
int env_read(scratch* s, void* to, u32 bytes, u64 from) {
  return EnvironmentOf(s).Read(from, {static_cast<uint8_t*>(to), bytes}) ? END_NONE
                                                                         : END_READ_FAULT;
}
[[maybe_unused]] int env_read_runtime(scratch* s, void* to, u32 bytes, u64 from) {
  return EnvironmentOf(s).ReadRuntime(from, {static_cast<uint8_t*>(to), bytes}) ? END_NONE
                                                                                : END_READ_FAULT;
}
u8* env_chunk(scratch* s, u32 index) { return EnvironmentOf(s).Chunk(index); }
void env_count(u32) {}
int env_find_range(scratch* s, u64 pc);
int env_find_code(scratch* s, u64 file_offset);
int env_find_jit_table(scratch* s, u64 file_offset);
int env_step_rarely(scratch* s, u64 file_offset);
[[maybe_unused]] int env_frame_record_kind(scratch*) { return 0; }
[[maybe_unused]] int env_scan_word(scratch*, u64) { return 0; }  // It would have to see code.
#ifndef STACKRAY_ARM64
int env_leave_made_code(scratch* s);
u32 env_bytes_of_new_frame(scratch* s);
#endif
int env_find_go_stack(scratch* s);
int env_leave_probe(scratch* s, int end);

#define CODE_IS_READABLE 0
#include "bpf/native.h"

int env_find_jit_process(scratch* s) {
  return EnvironmentOf(s).FindJitProcess(&s->jit.process) ? 1 : 0;
}
int env_describe_jit_table(scratch* s) {
  const std::optional<range_table> table = EnvironmentOf(s).DescribeJitTable(s->jit.key);
  if (table) s->jit.table = *table;
  return table ? 1 : 0;
}

#include "bpf/jit_rows.h"

int env_find_jit_table(scratch* s, u64 file_offset) {
  return find_jit_table_inline(s, file_offset);
}
int env_find_code(scratch* s, u64 file_offset) { return find_code_inline(s, file_offset); }
int env_find_go_stack(scratch* s) { return find_go_stack(s); }
#ifndef STACKRAY_ARM64
u32 env_bytes_of_new_frame(scratch* s) { return bytes_of_new_frame(s); }
#endif

// A leaf of a probe's page is BPF's to leave: it has the thread at hand.
int env_leave_probe(scratch* s, int end) {
  if (s->regs.exact_pc) return end;
  for (const probed_return& probed : EnvironmentOf(s).ProbedReturns()) {
    if (!is_probed_return(&s->regs, &probed)) continue;
    s->regs.pc = probed.address;
    return env_find_range(s, probed.address - 1);
  }
  return end;
}
int env_step_rarely(scratch* s, u64 file_offset) { return step_rarely(s, file_offset); }

int env_find_range(scratch* s, u64 pc) {
  for (u32 i = 0; i < s->range_count; ++i) {
    if (pc < s->ranges[i].start || pc >= s->ranges[i].end) continue;
    s->current_range = i;
    return END_NONE;
  }
  if (s->range_count >= SAMPLE_MAX_RANGES) return END_TOO_MANY_RANGES;
  const std::optional<code_range> range = EnvironmentOf(s).FindRange(pc);
  if (!range) return END_NO_MAPPING;
  s->ranges[s->range_count] = *range;
  s->tables[s->range_count] = EnvironmentOf(s).DescribeTable(*range);
  s->current_range = s->range_count++;
  return END_NONE;
}

#ifndef STACKRAY_ARM64
#include "bpf/stack_steps.h"

int env_leave_pushed(scratch* s, u64 at, u32 words) { return leave_pushed(s, at, words); }
int env_find_sender(scratch* s, u32 between) { return find_hotspot_sender(s, between); }
int env_step_hotspot(scratch* s, u32 step) {
  if (step == HOTSPOT_STEP_INTERPRETED) return step_interpreted_frame(s);
  return step == HOTSPOT_STEP_COMPILED ? step_compiled_frame(s) : step_hotspot_stub(s);
}

int env_step_v8(scratch* s, u32 step) {
  if (step == V8_STEP_AWAITING) return V8_AWAITING_CUT;  // The heap has changed since.
  return step == V8_STEP_LEAF ? step_v8_leaf(s) : step_v8_frame(s);
}

void FindRuntimesOfMadeCode(scratch* s) {
  s->made_code.is_known = 1;
  s->made_code.is_there = EnvironmentOf(s).FindMadeCode(&s->made_code) ? 1 : 0;
  const stack_process* const process = EnvironmentOf(s).FindStackRuntime();
  s->made_code.has_stack_runtime = process != nullptr ? 1 : 0;
  if (process == nullptr) return;
  s->stack.process = *process;
  s->stack.method_names[0] = s->stack.method_names[1] = 0;
}

int env_leave_made_code(scratch* s) {
  if (s->made_code.is_known == 0) FindRuntimesOfMadeCode(s);
  if (s->made_code.has_stack_runtime != 0) {
    if (may_have_stub_code(s) != 0) find_stub_code(s);
    const int end = step_of_stack_runtime(s);
    if (end != END_UNSUPPORTED_RULE) return end;
  }
  return s->made_code.is_there != 0 ? leave_made_frame(s) : int{END_UNSUPPORTED_RULE};
}
#endif

bool IsMiss(int end) { return end == END_UNKNOWN_FILE || end == END_MISSING_PAGE; }

// Leaves the current frame; a missing page is loaded and tried once more, then guessed.
int Leave(scratch* s, u64 file_offset) {
  int end = leave_native_frame(s, file_offset);
  if (!IsMiss(end)) return end;
  const code_range range = s->ranges[s->current_range];
  if (EnvironmentOf(s).Load(range, file_offset)) {
    s->tables[s->current_range] = EnvironmentOf(s).DescribeTable(range);
    end = leave_native_frame(s, file_offset);
  }
  if (!IsMiss(end)) return end;
  return step_frame_pointer(s) == END_NONE ? END_NONE : end;  // A guess is no reason to be whole.
}

// How many of the ranges, from the first on, the words name.
size_t NamedRanges(std::span<const uint64_t> words) {
  size_t named = 0;
  for (size_t i = 0; i < words.size(); i += FrameWordCount(words[i]))
    if (NamesRange(words[i])) named = std::max<size_t>(named, FrameWordRange(words[i]) + 1);
  return named;
}

}  // namespace

// Of a list that is full only what the frames name and runtimes' files, so that there is room for
// what the walk comes to: FindRange() knows the others.
void HostWalk::TakeRanges(std::span<const uint64_t> words, std::span<const code_range> ranges) {
  scratch* s = scratch_.get();
  ranges = ranges.first(std::min<size_t>(ranges.size(), SAMPLE_MAX_RANGES));
  const size_t kept = ranges.size() < SAMPLE_MAX_RANGES
                          ? ranges.size()
                          : std::min<size_t>(NamedRanges(words), ranges.size());
  code_range* end = std::copy_n(ranges.begin(), kept, s->ranges);
  const auto others = ranges.subspan(kept);
  end = std::copy_if(others.begin(), others.end(), end,
                     [](const code_range& range) { return range.runtime != 0; });
  s->range_count = static_cast<u32>(end - s->ranges);
}

// Splits off the runs behind the last native frame that are closed by a FRAME_RUN_END.
std::span<const uint64_t> HostWalk::TakeWaiting(std::span<const uint64_t> words) {
  waiting_.clear();
  placed_ = 0;
  size_t native_end = 0;
  for (size_t i = 0; i < words.size(); i += FrameWordCount(words[i])) {
    const uint64_t kind = FrameWordKind(words[i]);
    if (IsNativeKind(kind) || kind == FRAME_NO_RANGE || kind == FRAME_OF_STACK)
      native_end = i + FrameWordCount(words[i]);
  }
  Waiting run;
  for (size_t i = native_end; i < words.size();) {
    const size_t count = std::min(FrameWordCount(words[i]), words.size() - i);
    if (words[i] >> FRAME_KIND_SHIFT == FRAME_RUN_END) {
      run.marker = words[i] & FRAME_OFFSET_MASK;
      run.end = words[i];
      waiting_.push_back(std::exchange(run, {}));
    } else {
      run.words.insert(run.words.end(), words.begin() + static_cast<ptrdiff_t>(i),
                       words.begin() + static_cast<ptrdiff_t>(i + count));
    }
    i += count;
  }
  return words.first(native_end);
}

// The frame that was appended last has the stack from `below` up to `above`.
void HostWalk::Place(uint64_t below, uint64_t above) {
  scratch* s = scratch_.get();
  if (placed_ == waiting_.size() || s->word_count == 0) return;
  const Waiting& run = waiting_[placed_];
  if (run.marker < below || run.marker >= above) return;
  if (s->word_count + run.words.size() >= s->max_words) return;
  const u64 native = s->body[--s->word_count];
  for (uint64_t word : run.words) append_word(s, word);
  append_word(s, native | u64{FRAME_OF_RUNTIME} << FRAME_KIND_SHIFT);
  ++placed_;
}

void HostWalk::AppendWaiting(std::vector<uint64_t>* words) {
  for (; placed_ < waiting_.size(); ++placed_) {
    const Waiting& run = waiting_[placed_];
    if (words->size() + run.words.size() >= SAMPLE_MAX_USER_WORDS) return;
    words->insert(words->end(), run.words.begin(), run.words.end());
    words->push_back(run.end);
  }
}

HostWalk::HostWalk() : scratch_(std::make_unique<scratch>()) {}
HostWalk::~HostWalk() = default;

WalkResult HostWalk::Run(WalkEnvironment& environment, bool inside_frame) {
  scratch* s = scratch_.get();
  s->host = reinterpret_cast<u64>(&environment);
  s->window_base = ~0ULL;
  s->first_user_word = 0;
  s->flags = 0;
  s->guessed_words = 0;
  s->null_record_words = 0;
  s->run.thread_pointer = environment.ThreadPointer();
  s->go_callback_sp = 0;
  s->made_code = {};
  s->jit.state = 0;
  int end = END_NONE;
  u64 file_offset = 0;
  while (end == END_NONE) {
    if (!inside_frame) end = enter_native_frame(s, &file_offset);
    if (inside_frame) {
      const u64 pc = place_of_rules(s, s->word_count - 1);
      end = env_find_range(s, pc);
      const code_range& range = s->ranges[std::min<u32>(s->current_range, SAMPLE_MAX_RANGES - 1)];
      file_offset = pc - range.start + range.file_offset;
      inside_frame = false;
    }
    const u64 below = s->regs.r[UNWIND_SP];
    if (end == END_NONE) end = Leave(s, file_offset);
    const bool is_guess = s->guessed_words == s->word_count;
    if (end == END_NONE) Place(below, s->regs.r[UNWIND_SP]);
    if (is_guess) s->guessed_words = s->word_count;
  }
  WalkResult result;
  result.words.assign(s->body, s->body + s->word_count);
  AppendWaiting(&result.words);
  result.ranges.assign(s->ranges, s->ranges + s->range_count);
  result.end = static_cast<uint32_t>(end);
  result.flags = s->flags;
  return result;
}

WalkResult HostWalk::Walk(WalkEnvironment& environment, const unwind_registers& leaf) {
  waiting_.clear();
  placed_ = 0;
  scratch_->max_words = SAMPLE_MAX_NATIVE_FRAMES;
  scratch_->regs = leaf;
  scratch_->word_count = 0;
  scratch_->range_count = 0;
  scratch_->current_range = SAMPLE_MAX_RANGES;
  return Run(environment, /*inside_frame=*/false);
}

WalkResult HostWalk::Resume(WalkEnvironment& environment, const unwind_registers& resume,
                            std::span<const uint64_t> words, std::span<const code_range> ranges) {
  scratch* s = scratch_.get();
  s->regs = resume;
  words = words.first(std::min<size_t>(words.size(), SAMPLE_MAX_USER_WORDS));
  TakeRanges(words, ranges);
  words = TakeWaiting(words);
  s->max_words = waiting_.empty() && words.size() <= SAMPLE_MAX_NATIVE_FRAMES
                     ? SAMPLE_MAX_NATIVE_FRAMES
                     : SAMPLE_MAX_USER_WORDS;
  std::copy(words.begin(), words.end(), s->body);
  s->word_count = static_cast<u32>(words.size());
  for (u32 i = 0; i < s->range_count; ++i) s->tables[i] = environment.DescribeTable(s->ranges[i]);
  s->current_range = SAMPLE_MAX_RANGES;
  return Run(environment, /*inside_frame=*/!words.empty());
}

}  // namespace stackray
