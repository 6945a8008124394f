// libs: stackray_interpreters
// HotSpot's tables, names and frames in memory that says anything: reading them must end, stay
// inside of its buffers and give bounded texts; leaving frames must go upwards or end.
//
// The input is the process's memory, over and over from address 0 on, so that pointers in it lead
// to other parts of it. The tables' strides are right at one place, so that entries are read too.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "bpf/scratch.h"
#include "interpreters/hotspot/compiled.h"
#include "interpreters/hotspot/instance.h"
#include "interpreters/hotspot/java_heap.h"
#include "interpreters/hotspot/java_threads.h"
#include "interpreters/hotspot/layout.h"
#include "interpreters/hotspot/method.h"
#include "tests/fuzz/input_memory.h"

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define barrier_var(variable) asm volatile("" : "+r"(variable))

namespace {

using stackray::ProcessMemory;
namespace hotspot = stackray::hotspot;

constexpr size_t kMostText = 4096, kMostLines = 64;
constexpr int kMostFrames = 300;
constexpr uint64_t kStrides = 1 << 20;

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
[[maybe_unused]] int env_describe_jit_table(scratch*) { return 0; }

#define CODE_IS_READABLE 1
#include "bpf/hotspot.h"

int env_leave_pushed(scratch* s, u64 at, u32 words) { return leave_pushed(s, at, words); }
int env_find_sender(scratch* s, u32 between) { return find_hotspot_sender(s, between); }
int env_step_hotspot(scratch* s, u32 step) {
  if (step == HOTSPOT_STEP_INTERPRETED) return step_interpreted_frame(s);
  return step == HOTSPOT_STEP_COMPILED ? step_compiled_frame(s) : step_hotspot_stub(s);
}

// The input, and behind it the strides of the tables.
class TablesMemory : public stackray::InputMemory {
 public:
  using InputMemory::InputMemory;
  bool Read(uint64_t address, std::span<uint8_t> to) override {
    if (address / 4096 != kStrides / 4096) return InputMemory::Read(address, to);
    constexpr uint64_t kWords[] = {48, 40, 16};
    std::fill(to.begin(), to.end(), 0);
    const uint64_t at = address - kStrides;
    if (at == 0) std::memcpy(to.data(), kWords, std::min(to.size(), sizeof(kWords)));
    return true;
  }
};

// Of JDK 25's shapes or 17's; offsets by the input.
hotspot::Layout LayoutOf(std::span<const uint8_t> data) {
  hotspot::Layout layout;
  const bool is_old = (data[0] & 1) != 0;
  uint16_t next = data[1];
  for (uint16_t* field : {&layout.bpf.name,           &layout.bpf.size,
                          &layout.bpf.frame_size,     &layout.bpf.frame_complete,
                          &layout.bpf.code_begin,     &layout.bpf.method,
                          &layout.bpf.compile_id,     &layout.bpf.original_pc,
                          &layout.bpf.deopt_handler,  &layout.bpf.const_method,
                          &layout.bpf.code_size,      &layout.const_method_pool,
                          &layout.const_method_words, &layout.const_method_name,
                          &layout.pool_holder,        &layout.class_name,
                          &layout.symbol_body,        &layout.scopes_begin,
                          &layout.scopes_pcs,         &layout.pcs_end})
    *field = next = static_cast<uint16_t>((next * 5 + 8) % 300);
  layout.bpf.kind = is_old ? HOTSPOT_NO_FIELD : 3;
  layout.bpf.kind_of_upcalls = is_old ? 0 : 2;
  layout.bpf.blob = 16;
  layout.bpf.used = 8;
  layout.bpf.are_pointers = is_old;
  layout.bpf.is_short_complete = !is_old;
  layout.bpf.deopt_handler_of_handles = HOTSPOT_NO_FIELD;
  layout.bpf.bytecode_slot = 8;
  layout.bpf.const_method_bytes = layout.pool_bytes = 48;
  layout.is_scopes_pointer = is_old;
  layout.metadata = is_old ? 24 : hotspot::kNoField;
  layout.immutable_data = is_old ? hotspot::kNoField : 32;
  layout.mutable_data = layout.relocation_bytes = 40;
  layout.bpf.heaps[0] = {.begin = 0, .bytes = 32768, .segment_map = 4096};
  layout.bpf.interpreter_begin = 40960;
  layout.bpf.interpreter_bytes = 4096;
  layout.bpf.segment_shift = 7;
  return layout;
}

void CheckLines(const stackray::RuntimeCode& code, int32_t instruction) {
  const auto lines = code.LinesAt(instruction);
  if (lines.empty() || lines.size() > kMostLines) std::abort();
  for (const stackray::SourceLine& line : lines)
    if (line.function.size() > kMostText || line.system_name.size() > 2 * kMostText) std::abort();
}

void Name(ProcessMemory& memory, const hotspot::Layout& layout, std::span<const uint8_t> data) {
  const hotspot::Instance instance(layout);
  for (size_t at = 0; at + 16 <= std::min<size_t>(data.size(), 96); at += 16) {
    const stackray::RuntimePlace place = hotspot::PlaceOfFrame(
        stackray::NumberAt<uint64_t>(data, at) % 65536, stackray::NumberAt<uint64_t>(data, at + 8));
    const auto code = instance.ReadCode(memory, place);
    if (code.ok()) CheckLines(**code, place.instruction);
  }
  if (const auto method = hotspot::ReadMethod(memory, layout, data[2] * 8U, std::nullopt);
      method.ok())
    (void)method->At(data[3]);
}

// Fields and threads of either shape. A UTF-16 unit is at most three bytes of UTF-8.
void NameThreads(ProcessMemory& memory, hotspot::Layout layout, std::span<const uint8_t> data) {
  hotspot::ThreadLayout& at = layout.threads;
  uint16_t next = data[8];
  for (uint16_t* field :
       {&at.load_bad_mask, &at.list_length, &at.list_threads, &at.next, &at.os_thread, &at.id,
        &at.object, &at.class_super, &at.class_pool, &at.bad_mask, &at.forwarding.heap,
        &at.forwarding.table, &at.forwarding.map, &at.forwarding.begin,
        &at.forwarding.alignment_shift, &at.forwarding.entries, &at.forwarding.offset_mask,
        &at.forwarding.good_mask})
    *field = next = static_cast<uint16_t>((next * 5 + 8) % 300);
  if ((data[0] & 32) != 0) at.load_bad_mask = hotspot::kNoField;
  at.forwarding.bytes = 64;
  at.forwarding.collected_heap_at = (data[0] & 64) != 0 ? 520 : 0;
  if ((data[0] & 2) != 0)
    at.class_field_stream = 48;
  else
    at.class_fields = 48, at.class_field_count = 64;
  ((data[0] & 4) != 0 ? at.list_at : at.first_at) = 128;
  at.colours_at = (data[0] & 8) != 0 ? 512 : 0;
  at.oop_base_at = at.oop_shift_at = at.class_base_at = at.class_shift_at = 136;
  at.is_handle = (data[0] & 16) != 0;
  at.flags_with_number = 21, at.flags_without = 10, at.flag_of_added = 2;
  (void)hotspot::FieldOffset(memory, layout, data[9] * 8U, "name", "Ljava/lang/String;");
  hotspot::JavaThreads threads(layout);
  threads.List(memory);
  for (const size_t place : {10, 11, 12, 13}) {
    const auto tid = stackray::NumberAt<uint32_t>(data, data[place]);
    const auto name = threads.NameOf(memory, tid, "worker");
    if (name && name->size() > 3UL * hotspot::kMostNameUnits) std::abort();
  }
}

void Walk(ProcessMemory& memory, const hotspot::Layout& layout, std::span<const uint8_t> data) {
  static const auto s = std::make_unique<scratch>();
  std::memset(static_cast<void*>(s.get()), 0, sizeof(*s));
  s->host = reinterpret_cast<u64>(&memory);
  s->stack.process = hotspot::Instance(layout).ForBpf();
  s->window_base = ~0ULL;
  s->range_count = 1;
  s->regs.r[UNWIND_SP] = data[4] * 8U;
  s->regs.r[UNWIND_FP] = data[5] * 8U;
  s->regs.pc = stackray::NumberAt<u16>(data, 6);
  for (const int of_sender : {HOTSPOT_RAX, HOTSPOT_RBX, HOTSPOT_RSI, HOTSPOT_R13})
    s->regs.r[of_sender] = stackray::NumberAt<u16>(data, 14 + static_cast<size_t>(of_sender));
  s->regs.exact_pc = 1;
  for (int i = 0; i < kMostFrames; ++i) {
    const u64 sp = s->regs.r[UNWIND_SP];
    ++s->word_count;
    if (step_hotspot(s.get()) != END_NONE) break;
    // A leaf between two methods may have nothing on the stack: a register has its caller.
    const bool may_stay = i == 0 || s->regs.pc == layout.bpf.return_barrier;
    if (s->regs.r[UNWIND_SP] < sp + (may_stay ? 0 : 1)) std::abort();
    if (s->word_count > SAMPLE_MAX_USER_WORDS) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  const std::span<const uint8_t> data(input, size);
  if (size < 16) return 0;
  TablesMemory memory(data, 65536);
  const hotspot::VmSymbols symbols{.structs = data[0],
                                   .types = data[1],
                                   .int_constants = data[2],
                                   .struct_stride = kStrides,
                                   .type_stride = kStrides + 8,
                                   .int_constant_stride = kStrides + 16};
  if (const auto tables = hotspot::VmTables::Read(memory, symbols); tables.ok())
    (void)hotspot::MakeLayout(*tables);
  const hotspot::Layout layout = LayoutOf(data);
  Name(memory, layout, data);
  NameThreads(memory, layout, data);
  Walk(memory, layout, data);
  return 0;
}
