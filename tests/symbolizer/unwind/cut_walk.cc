#include "tests/symbolizer/unwind/cut_walk.h"

#include <memory>
#include <optional>

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define barrier_var(variable) asm volatile("" : "+r"(variable))

namespace stackray {
namespace {

WalkEnvironment& EnvironmentOf(const scratch* s) {
  return *reinterpret_cast<WalkEnvironment*>(s->host);
}
int env_read(scratch* s, void* to, u32 bytes, u64 from) {
  return EnvironmentOf(s).Read(from, {static_cast<uint8_t*>(to), bytes}) ? END_NONE
                                                                         : END_READ_FAULT;
}
u8* env_chunk(scratch* s, u32 index) { return EnvironmentOf(s).Chunk(index); }
void env_count(u32) {}
int env_find_jit_table(scratch*, u64) { return 0; }
int env_find_range(scratch* s, u64 pc);
int env_find_code(scratch* s, u64 file_offset);
int env_step_rarely(scratch* s, u64 file_offset);
[[maybe_unused]] int env_frame_record_kind(scratch*) { return 0; }
#ifndef STACKRAY_ARM64
u32 env_bytes_of_new_frame(scratch* s);
#endif
[[maybe_unused]] int env_scan_word(scratch*, u64) { return 0; }
[[maybe_unused]] int env_leave_made_code(scratch*) { return END_UNSUPPORTED_RULE; }
int env_find_go_stack(scratch* s);
int env_leave_probe(scratch*, int end) { return end; }

#define CODE_IS_READABLE 0
#include "bpf/native.h"

int env_find_code(scratch* s, u64 file_offset) { return find_code_inline(s, file_offset); }
int env_find_go_stack(scratch* s) { return find_go_stack(s); }
#ifndef STACKRAY_ARM64
u32 env_bytes_of_new_frame(scratch* s) { return bytes_of_new_frame(s); }
#endif
int env_step_rarely(scratch* s, u64 file_offset) { return step_rarely(s, file_offset); }

// As bpf/walk.h: the current range first, then those that are there, then a new one.
int env_find_range(scratch* s, u64 pc) {
  for (u32 i = 0; i < s->range_count; ++i) {
    if (pc < s->ranges[i].start || pc >= s->ranges[i].end) continue;
    s->current_range = i;
    return END_NONE;
  }
  const std::optional<code_range> range = EnvironmentOf(s).FindRange(pc);
  if (!range) return END_NO_MAPPING;
  if (s->range_count >= SAMPLE_MAX_RANGES) return END_TOO_MANY_RANGES;
  s->ranges[s->range_count] = *range;
  s->tables[s->range_count] = EnvironmentOf(s).DescribeTable(*range);
  s->current_range = s->range_count++;
  return END_NONE;
}

}  // namespace

std::vector<CutWalk> CutAtEveryFrame(WalkEnvironment& environment, const unwind_registers& leaf) {
  const auto s = std::make_unique<scratch>();
  s->host = reinterpret_cast<u64>(&environment);
  s->run.thread_pointer = environment.ThreadPointer();
  s->window_base = ~0ULL;
  s->max_words = SAMPLE_MAX_NATIVE_FRAMES;
  s->regs = leaf;
  std::vector<CutWalk> cuts;
  u64 file_offset = 0;
  while (enter_native_frame(s.get(), &file_offset) == END_NONE) {
    // A frame in no code has no page that could be missing.
    if (s->body[s->word_count - 1] >> FRAME_KIND_SHIFT != FRAME_NO_RANGE)
      cuts.push_back(
          {{s->body, s->body + s->word_count}, {s->ranges, s->ranges + s->range_count}, s->regs});
    if (leave_native_frame(s.get(), file_offset) != END_NONE) break;
  }
  return cuts;
}

}  // namespace stackray
