#include "interpreters/hotspot/stubs.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "interpreters/paged_memory.h"
#include "symbolizer/cfi/rule_encode.h"
#include "symbolizer/cfi/x86_64_gaps.h"
#include "symbolizer/cfi/x86_frame_state.h"
#include "symbolizer/cfi/x86_instruction.h"

namespace stackray::hotspot {
namespace {

// A StubCodeDesc: pointers to the next one, to its group and its name; JDK 8 has a number there,
// then come begin and end.
constexpr uint64_t kName = 16, kBegin = 24, kOldBegin = 32;
constexpr size_t kDescBytes = 48, kMostNameBytes = 96;
constexpr uint64_t kMostBytes = 1 << 20;  // Of one stub.
constexpr uint64_t kClose = 16 << 10;     // Between two stubs of one blob.
constexpr u16 kNone = CODE_SPECIAL(SPECIAL_NONE);

using cfi::FlowEffect;
using cfi::LookedFrame;
using cfi::X86FrameState;
using cfi::X86Instruction;

bool IsStub(const hotspot_process& heaps, uint64_t begin, uint64_t end) {
  return begin < end && end - begin <= kMostBytes &&
         std::ranges::any_of(heaps.heaps, [&](const hotspot_heap& heap) {
           return begin - heap.begin < heap.bytes && end - heap.begin <= heap.bytes;
         });
}

bool IsName(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

// Not those that an exception or the return of a virtual thread's oldest frame leads to: they begin
// with what a frame that has ended had on the stack.
bool IsEnteredByCall(std::string_view name) {
  return !name.starts_with("cont") && !name.starts_with("Cont") &&
         name.find("xception") == std::string_view::npos;
}

std::optional<Stub> StubOf(ProcessMemory& memory, std::span<const uint8_t> desc,
                           const hotspot_process& heaps) {
  for (const uint64_t at : {kBegin, kOldBegin}) {
    Stub stub{
        .begin = NumberAt<uint64_t>(desc, at), .end = NumberAt<uint64_t>(desc, at + 8), .name = {}};
    if (!IsStub(heaps, stub.begin, stub.end)) continue;
    stub.name = TextAt(memory, NumberAt<uint64_t>(desc, kName), kMostNameBytes);
    if (!IsName(stub.name)) return std::nullopt;
    return stub;
  }
  return std::nullopt;
}

// The state before each instruction of a stub that is called at its begin. A jump out of it is not
// followed: tables of data have names in the list, too, and what they would jump to is no code's.
class Flow {
 public:
  Flow(std::span<const uint8_t> code, uint64_t address) : code_(code), address_(address) {
    states_.resize(code.size());
  }

  void Call(uint64_t address) {
    if (address - address_ < code_.size()) Reach(address - address_, {});
  }
  void Run() {
    while (!waiting_.empty()) {
      const size_t at = *waiting_.begin();
      waiting_.erase(waiting_.begin());
      Step(at);
    }
  }
  // kUnknown: nothing leads there, or what does differs.
  LookedFrame At(size_t offset) const {
    const Place& place = states_[offset];
    return place.state && !place.is_bad ? cfi::FrameOf(*place.state) : LookedFrame{};
  }
  // Bytes of the instruction that begins there; 0: nothing leads to one.
  size_t InstructionBytes(size_t offset) const { return states_[offset].length; }

 private:
  struct Place {
    std::optional<X86FrameState> state;
    bool is_bad = false;
    uint8_t length = 0;
  };

  void Step(size_t at) {
    const X86Instruction instruction = cfi::DecodeX86(code_.subspan(at), address_ + at);
    if (instruction.length == 0) {
      states_[at] = {.state = X86FrameState{}, .is_bad = true, .length = 1};
      return;
    }
    states_[at].length = instruction.length;
    X86FrameState state = *states_[at].state;
    const bool is_bad = states_[at].is_bad;
    cfi::Follow(instruction, &state);
    const bool leads_here = instruction.target - address_ < code_.size();
    const FlowEffect flow = instruction.flow;
    if (leads_here && flow == FlowEffect::kCall) Reach(instruction.target - address_, {});
    if (leads_here && (flow == FlowEffect::kBranch || flow == FlowEffect::kJump))
      Reach(instruction.target - address_, state, is_bad);
    const bool goes_on =
        flow == FlowEffect::kNext || flow == FlowEffect::kCall || flow == FlowEffect::kBranch;
    if (goes_on && at + instruction.length < code_.size())
      Reach(at + instruction.length, state, is_bad);
  }

  void Reach(size_t at, const X86FrameState& state, bool is_bad = false) {
    Place& place = states_[at];
    const bool changes = !place.state || (is_bad && !place.is_bad) || Meet(state, &place);
    if (!place.state) place.state = state;
    place.is_bad |= is_bad;
    if (changes) waiting_.insert(at);
  }

  // What both states say stays. True: that is less than what was known.
  static bool Meet(const X86FrameState& other, Place* place) {
    X86FrameState& state = *place->state;
    bool changes = false;
    const auto drop = [&](bool differs, auto forget) {
      if (!differs) return;
      forget();
      changes = true;
    };
    drop(state.rsp_known && (!other.rsp_known || other.rsp != state.rsp),
         [&] { state.rsp_known = false; });
    drop(state.rbp_known && (!other.rbp_known || other.rbp != state.rbp),
         [&] { state.rbp_known = false; });
    drop(state.copy != X86Instruction::kNoReg &&
             (other.copy != state.copy || other.copy_rsp != state.copy_rsp),
         [&] { state.copy = X86Instruction::kNoReg; });
    drop(state.stored && (!other.stored || other.slot - other.below != state.slot - state.below ||
                          other.copy_rsp != state.copy_rsp),
         [&] { state.stored = false; });
    drop(state.aligned && !other.aligned, [&] { state.aligned = state.stored = false; });
    drop(!state.rbp_lost && other.rbp_lost, [&] { state.rbp_lost = true; });
    drop(!place->is_bad && state.rbp_saved != other.rbp_saved, [&] { place->is_bad = true; });
    return changes;
  }

  const std::span<const uint8_t> code_;
  const uint64_t address_;
  std::vector<Place> states_;
  std::set<size_t> waiting_;
};

u16 CodeOf(const LookedFrame& frame, cfi::RuleEncoder* encoder) {
  switch (frame.kind) {
    case LookedFrame::Kind::kRsp:
    case LookedFrame::Kind::kRbp: {
      const auto words = static_cast<uint32_t>(frame.cfa_offset) / 8;
      const auto saved = static_cast<uint32_t>(frame.rbp_below_cfa) / 8;
      if (frame.cfa_offset <= 0 || frame.cfa_offset % 8 != 0 || frame.rbp_below_cfa < 0 ||
          frame.rbp_below_cfa % 8 != 0)
        return kNone;
      if (words > CODE_CFA_MASK || saved > CODE_RBP_MASK) break;
      const u32 base = frame.kind == LookedFrame::Kind::kRsp ? CODE_BASE_RSP : CODE_BASE_RBP;
      return static_cast<u16>(base << CODE_BASE_SHIFT | saved << CODE_RBP_SHIFT | words);
    }
    case LookedFrame::Kind::kReg:
    case LookedFrame::Kind::kSlot: break;
    default: return kNone;
  }
  const u16 code = encoder->CodeOfRule(cfi::RuleOf(frame, false));
  return code == CODE_SPECIAL(SPECIAL_UNSUPPORTED) ? kNone : code;
}

cfi::CodeRows RowsOf(const Stub& stub, const Flow& flow) {
  cfi::CodeRows found{.begin = stub.begin, .end = stub.end, .rows = {}, .rules = {}};
  cfi::RuleEncoder encoder(cfi::kX86_64);
  const auto append = [&](uint64_t at, u16 code) {
    if (found.rows.empty() || found.rows.back().code != code)
      found.rows.push_back({static_cast<uint32_t>(at - stub.begin), code});
  };
  for (uint64_t at = stub.begin; at < stub.end;) {
    const size_t bytes = flow.InstructionBytes(at - stub.begin);
    append(at, bytes == 0 ? kNone : CodeOf(flow.At(at - stub.begin), &encoder));
    at += std::max<size_t>(bytes, 1);
  }
  found.rules = encoder.rules();
  return found;
}

}  // namespace

std::vector<Stub> ReadStubs(ProcessMemory& memory, uint64_t list_at, const hotspot_process& heaps) {
  std::vector<Stub> stubs;
  uint64_t at = list_at == 0 ? 0 : ReadNumber<uint64_t>(memory, list_at);
  for (size_t i = 0; at != 0 && i < kMostStubs; ++i) {
    uint8_t bytes[kDescBytes] = {};
    if (!memory.Read(at, bytes)) break;
    if (std::optional<Stub> stub = StubOf(memory, bytes, heaps)) stubs.push_back(*std::move(stub));
    at = NumberAt<uint64_t>(bytes, 0);
  }
  std::ranges::sort(stubs, {}, [](const Stub& stub) { return std::pair(stub.begin, stub.end); });
  std::vector<Stub> disjoint;
  for (Stub& stub : stubs)
    if (disjoint.empty() || stub.begin >= disjoint.back().end) disjoint.push_back(std::move(stub));
  return disjoint;
}

std::vector<cfi::CodeRows> RowsOfStubs(std::span<const Stub> stubs, std::span<const uint8_t> code) {
  if (stubs.empty() || stubs.back().end - stubs.front().begin != code.size()) return {};
  std::vector<cfi::CodeRows> all;
  for (const Stub& stub : stubs) {
    if (!IsEnteredByCall(stub.name)) continue;
    Flow flow(code.subspan(stub.begin - stubs.front().begin, stub.end - stub.begin), stub.begin);
    flow.Call(stub.begin);
    flow.Run();
    cfi::CodeRows rows = RowsOf(stub, flow);
    if (rows.rows.size() > 1 || rows.rows.front().code != kNone) all.push_back(std::move(rows));
  }
  return all;
}

std::vector<cfi::CodeRows> ReadStubRows(ProcessMemory& memory, std::span<const Stub> stubs) {
  std::vector<cfi::CodeRows> all;
  while (!stubs.empty()) {
    size_t count = 1;
    while (count < stubs.size() && stubs[count].begin - stubs[count - 1].end <= kClose &&
           stubs[count].end - stubs.front().begin <= kMostStubCode)
      ++count;
    std::vector<uint8_t> code(stubs[count - 1].end - stubs.front().begin);
    if (memory.Read(stubs.front().begin, code))
      for (cfi::CodeRows& rows : RowsOfStubs(stubs.first(count), code))
        all.push_back(std::move(rows));
    stubs = stubs.subspan(count);
  }
  return all;
}

}  // namespace stackray::hotspot
