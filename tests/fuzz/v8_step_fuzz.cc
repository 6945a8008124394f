// libs: stackray_interpreters
// V8's frames in memory that says anything: leaving them must go upwards or end, whatever the
// registers, the code around the pc and the layout are, and each frame has two words.
//
// The input is the process's memory, over and over, so that pointers in it lead to other parts of
// it. Its first bytes are the registers' places (head below), then the layout.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "bpf/scratch.h"
#include "interpreters/v8/frame.h"
#include "tests/fuzz/input_memory.h"

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define barrier_var(variable) asm volatile("" : "+r"(variable))

namespace {

using stackray::ProcessMemory;

constexpr int kMostFrames = 300;
constexpr uint64_t kStack = 1 << 20;  // An address, as pc and stack pointer have.

int env_read(scratch* s, void* to, u32 bytes, u64 from) {
  auto* const memory = reinterpret_cast<ProcessMemory*>(s->host);
  return memory->Read(from, {static_cast<u8*>(to), bytes}) ? END_NONE : END_READ_FAULT;
}
int env_read_runtime(scratch* s, void* to, u32 bytes, u64 from) {
  return env_read(s, to, bytes, from);
}
u8* env_chunk(scratch*, u32) { return nullptr; }
[[maybe_unused]] void env_count(u32) {}
[[maybe_unused]] int env_find_code(scratch*, u64) { return END_BAD_TABLE; }
[[maybe_unused]] int env_find_jit_table(scratch*, u64) { return 0; }

#define CODE_IS_READABLE 1
#include "bpf/v8.h"

int env_step_v8(scratch* s, u32 step) {
  if (step == V8_STEP_AWAITING) return step_awaiting(s);
  return step == V8_STEP_LEAF ? step_v8_leaf(s) : step_v8_frame(s);
}

struct Head {
  u8 kind, is_exact, sp, fp;  // sp, fp: in words from kStack on.
  u16 pc;
  u16 ranges;  // Bit n: frame n is in the file.
};
static_assert(sizeof(Head) == 8, "no hidden padding");

void Begin(const Head& head, std::span<const uint8_t> data, scratch* s) {
  std::memset(static_cast<void*>(s), 0, sizeof(*s));
  s->stack.process.kind = RUNTIME_V8;
  s->stack.process.runtime = STACK_RUNTIME | 1;
  std::memcpy(&s->stack.process.v8, data.data() + sizeof(Head), sizeof(v8_process));
  s->window_base = ~0ULL;
  s->range_count = 1;
  s->max_words = SAMPLE_MAX_NATIVE_FRAMES;
  for (size_t i = 0; i < UNWIND_REGISTERS; ++i)
    std::memcpy(&s->regs.r[i], data.data() + sizeof(Head) + (i * 8) % (data.size() - 16), 8);
  s->regs.r[UNWIND_SP] = kStack + head.sp * 8U;
  s->regs.r[UNWIND_FP] = kStack + head.fp * 8U;
  s->regs.pc = kStack + head.pc;
  s->regs.exact_pc = head.is_exact & 1;
}

void Walk(const Head& head, scratch* s) {
  for (int i = 0; i < kMostFrames; ++i) {
    const u64 sp = s->regs.r[UNWIND_SP];
    const u32 words = ++s->word_count, before = s->extra_words;
    s->ranges[0].kind = (head.ranges >> (i & 15) & 1) != 0 ? RANGE_FILE : RANGE_ANON;
    if (step_v8(s) != END_NONE) return;
    // A frame of two words; or any number of them in front of a builtin's own, of one.
    const u32 made = s->extra_words - before;
    if (s->regs.r[UNWIND_SP] < sp || s->word_count < words || s->word_count > words + 2 * made)
      std::abort();
    for (u32 at = words - 1; at + 1 < s->word_count; at += 2) {
      const stackray::v8::V8Frame frame =
          stackray::v8::UnpackFrame(s->body[at] & FRAME_OFFSET_MASK, s->body[at + 1]);
      if (frame.kind > stackray::v8::V8Frame::Kind::kAwaiting) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  static const auto s = std::make_unique<scratch>();
  Head head;
  if (size < sizeof(head) + sizeof(v8_process) + 16) return 0;
  std::memcpy(&head, input, sizeof(head));
  stackray::InputMemory memory({input, size}, stackray::kMostAddress);
  Begin(head, {input, size}, s.get());
  s->host = reinterpret_cast<u64>(&memory);
  Walk(head, s.get());
  return 0;
}
