#include "symbolizer/cfi/instruction_look.h"

#include <algorithm>
#include <optional>

#include "symbolizer/cfi/return_ahead.h"
#include "symbolizer/cfi/x86_instruction.h"

namespace stackray::cfi {
namespace {

constexpr int kMaxPasses = 6;
constexpr int64_t kMaxFrameBytes = 1 << 24;
constexpr uint64_t kFunctionAlignment = 16;
constexpr ptrdiff_t kMostLookedAt = 64;
// A function is padded with nops inside, and single traps are behind calls that do not return.
constexpr int kTrapsBetweenFunctions = 2;
// mov $15, %rax; syscall (rt_sigreturn), with and without REX.W.
constexpr uint8_t kHlt = 0xf4;
constexpr uint8_t kSigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
constexpr uint8_t kShortSigreturn[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
constexpr uint8_t kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
constexpr int64_t kPltHeaderRsp = 16;  // A stub has pushed its number before it came here.

// What is known before an instruction.
struct State {
  bool outermost = false;
  // A call lies on the way here, and it may be one that never returns: then this is another function.
  bool doubtful = false;
  bool rsp_known = true, rbp_known = false;
  bool rbp_lost = false;     // It holds something else now.
  int32_t rsp = 8, rbp = 0;  // CFA - rsp, CFA - rbp.
  int32_t rbp_saved = 0;     // At CFA - this; 0: not saved.
  // rsp was copied to `copy` when CFA - rsp was copy_rsp. Then it was aligned, and has moved down by `below` bytes
  // since; the copy was stored `slot` bytes below the aligned place.
  uint8_t copy = X86Instruction::kNoReg;
  bool aligned = false, stored = false;
  int32_t copy_rsp = 0, below = 0, slot = 0;
};

// rbp points at the caller's rbp, and nothing else is known.
constexpr State kFrameRecord = {.rsp_known = false, .rbp_known = true, .rbp = 16, .rbp_saved = 16};

// A procedure linkage table as the x86-64 ABI's supplement has it (version 1.0, 5.2): entries of 16 bytes, of which nobody calls one
// from the same section.
enum class PltEntry : uint8_t { kNone, kHeader, kStub };

PltEntry PltEntryAt(std::span<const uint8_t> code) {
  const auto has = [&code](size_t at, uint8_t first) {
    return at < code.size() && code[at] == first;
  };
  const auto has_pair = [&has](size_t at, uint8_t first, uint8_t second) {
    return has(at, first) && has(at + 1, second);
  };
  if (has_pair(0, 0xff, 0x35) && has_pair(6, 0xff, 0x25)) return PltEntry::kHeader;
  const size_t at =
      code.size() >= sizeof(kEndbr64) && std::ranges::equal(code.first(sizeof(kEndbr64)), kEndbr64)
          ? sizeof(kEndbr64)
          : 0;
  const bool pushes_first = at > 0 && has(at, 0x68) && has(at + 5, 0xe9);
  const bool jumps_first = has_pair(at, 0xff, 0x25) && (at > 0 || (has(6, 0x68) && has(11, 0xe9)));
  return pushes_first || jumps_first ? PltEntry::kStub : PltEntry::kNone;
}

struct Step {
  uint64_t address = 0;
  X86Instruction instruction;
  bool is_start = false, is_likely_start = false, is_target = false, reached = false;
  PltEntry plt = PltEntry::kNone;
  State state;
};

void LoadRbp(int64_t below_cfa, State* state) {
  if (below_cfa == state->rbp_saved) state->rbp_saved = 0;
  state->rbp_known = false;
}

// Far beyond kMaxFrameBytes nothing is believed, so there it need not be exact.
int32_t Sum(int64_t a, int64_t b) {
  return static_cast<int32_t>(std::clamp<int64_t>(a + b, -2 * kMaxFrameBytes, 2 * kMaxFrameBytes));
}

bool HasCopy(const State& state) { return state.copy != X86Instruction::kNoReg; }

// rsp is what it was when it was copied.
void RestoreRsp(State* state) {
  state->rsp_known = true;
  state->aligned = state->stored = false;
  state->rsp = state->copy_rsp;
}

void LoseRsp(State* state) { state->rsp_known = state->aligned = state->stored = false; }

void MoveRsp(int64_t amount, State* state) {
  state->below = Sum(state->below, -amount);
  state->rsp = Sum(state->rsp, -amount);
  if (state->rsp < 8 || state->rsp > kMaxFrameBytes) state->rsp_known = false;
}

void Apply(const X86Instruction& instruction, State* state) {
  const int64_t value = instruction.value;
  switch (instruction.stack) {
    case StackEffect::kNone:
    case StackEffect::kLoadReg: return;
    case StackEffect::kMoveRsp: return MoveRsp(value, state);
    case StackEffect::kPushRbp:
      MoveRsp(-8, state);
      if (state->rsp_known && state->rbp_saved == 0 && !state->rbp_known)
        state->rbp_saved = state->rsp;
      return;
    case StackEffect::kPopRbp: LoadRbp(state->rsp, state); return MoveRsp(8, state);
    case StackEffect::kStoreRbp:
      if (state->rsp_known && state->rbp_saved == 0 && !state->rbp_known)
        state->rbp_saved = Sum(state->rsp, -value);
      return;
    case StackEffect::kLoadRbp: return LoadRbp(state->rsp - value, state);
    case StackEffect::kFollowRbp:
      state->rbp_lost = !state->rbp_known || state->rbp - value != state->rbp_saved;
      return LoadRbp(state->rbp - value, state);
    case StackEffect::kSetRbp:
      state->rbp_lost = false;
      state->rbp_known = state->rsp_known;
      state->rbp = Sum(state->rsp, -value);
      return;
    case StackEffect::kSetRsp:
      state->rsp_known = state->rbp_known;
      state->rsp = Sum(state->rbp, -value);
      return MoveRsp(0, state);
    case StackEffect::kLeave:
      state->rsp_known = state->rbp_known;
      state->rsp = state->rbp;
      LoadRbp(state->rsp, state);
      return MoveRsp(8, state);
    case StackEffect::kClearRbp:
    case StackEffect::kLoseRbp:
      state->rbp_known = false;
      state->rbp_lost = true;
      return;
    case StackEffect::kCopyRsp:
      if (!state->rsp_known) return;
      state->copy = instruction.reg;
      state->copy_rsp = state->rsp;
      return;
    case StackEffect::kAlignRsp:
      LoseRsp(state);
      state->aligned = HasCopy(*state);
      state->below = 0;
      return;
    case StackEffect::kStoreReg:
      if (!state->aligned || instruction.reg != state->copy) return;
      state->stored = true;
      state->slot = Sum(state->below, -value);
      return;
    case StackEffect::kRspFromReg:
      if (HasCopy(*state) && instruction.reg == state->copy) return RestoreRsp(state);
      return LoseRsp(state);
    case StackEffect::kLoadRsp:
      if (state->stored && state->slot == state->below - value) return RestoreRsp(state);
      return LoseRsp(state);
    case StackEffect::kLoseRsp: return LoseRsp(state);
  }
}

void Follow(const X86Instruction& instruction, State* state) {
  Apply(instruction, state);
  const bool is_copy = instruction.stack == StackEffect::kCopyRsp;
  if (instruction.written == state->copy && !is_copy) state->copy = X86Instruction::kNoReg;
}

bool EndsFlow(FlowEffect flow) {
  return flow == FlowEffect::kJump || flow == FlowEffect::kIndirectJump ||
         flow == FlowEffect::kReturn || flow == FlowEffect::kStop;
}

// A compiler saves rbp before it clears it; the code that begins a thread has nobody to save it for.
bool BeginsThread(const Step& step) {
  return step.instruction.stack == StackEffect::kClearRbp && step.state.rbp_saved == 0 &&
         !step.state.rbp_known && step.state.rsp_known && step.state.rsp == 8;
}

LookedFrame FrameOf(const State& state) {
  LookedFrame frame;
  if (state.outermost) {
    frame.kind = LookedFrame::Kind::kOutermost;
    return frame;
  }
  const bool by_copy = !state.rsp_known && state.aligned && (state.stored || HasCopy(state));
  if (by_copy) {
    frame.kind = state.stored ? LookedFrame::Kind::kSlot : LookedFrame::Kind::kReg;
    frame.cfa_offset = static_cast<int32_t>(state.copy_rsp);
    frame.rbp_below_cfa = static_cast<int32_t>(state.rbp_saved);
    if (state.stored)
      frame.slot_offset = static_cast<int32_t>(state.below - state.slot);
    else
      frame.reg = state.copy;
    return frame;
  }
  if (!state.rsp_known && !state.rbp_known) return frame;
  // A frame record (rbp points at the caller's rbp) is surer than a count of pushes.
  const bool is_record = state.rbp_known && state.rbp == state.rbp_saved;
  const bool by_rbp = is_record || !state.rsp_known;
  frame.kind = by_rbp ? LookedFrame::Kind::kRbp : LookedFrame::Kind::kRsp;
  frame.cfa_offset = static_cast<int32_t>(by_rbp ? state.rbp : state.rsp);
  frame.rbp_below_cfa = static_cast<int32_t>(state.rbp_saved);
  return frame;
}

class Look {
 public:
  Look(std::span<const uint8_t> code, uint64_t address, const LookHints& hints)
      : code_(code), address_(address), hints_(hints) {}

  std::vector<LookedRow> Rows() {
    Decode();
    MarkStarts();
    bool changed = true;
    for (int pass = 0; pass < kMaxPasses && changed; ++pass) changed = Pass(/*guess_starts=*/false);
    Pass(/*guess_starts=*/true);
    return CollectRows();
  }

 private:
  void Decode() {
    steps_.reserve(code_.size() / 4);
    step_at_.assign(code_.size(), 0);
    bool behind_zero = false;
    for (size_t at = 0; at < code_.size();) {
      Step step{.address = address_ + at,
                .instruction = DecodeX86(code_.subspan(at), address_ + at)};
      X86Instruction& instruction = step.instruction;
      const bool zeros =
          code_[at] == 0 && (behind_zero || (at + 1 < code_.size() && code_[at + 1] == 0));
      behind_zero = zeros;
      if (instruction.length == 0 || zeros) {  // No code: behind a section's end, or data.
        instruction = {};
        instruction.length = 1;
        instruction.padding = true;
        instruction.flow = FlowEffect::kStop;
      }
      steps_.push_back(step);
      step_at_[at] = static_cast<uint32_t>(steps_.size());
      at += instruction.length;
    }
  }

  // nullptr: outside, or in the middle of an instruction.
  Step* StepAt(uint64_t target) {
    const uint64_t at = target - address_;
    if (at >= step_at_.size() || step_at_[at] == 0) return nullptr;
    return &steps_[step_at_[at] - 1];
  }

  void MarkStarts() {
    if (!steps_.empty()) steps_.front().is_start = true;
    if (Step* entry = hints_.entry == 0 ? nullptr : StepAt(hints_.entry); entry != nullptr)
      entry->is_start = true;
    for (Step& step : steps_) {
      if (step.address % kFunctionAlignment != 0) continue;
      step.plt = PltEntryAt(code_.subspan(step.address - address_));
      step.is_start |= step.plt != PltEntry::kNone;
    }
    for (const Step& step : steps_) {
      const FlowEffect flow = step.instruction.flow;
      Step* target = step.instruction.target == 0 ? nullptr : StepAt(step.instruction.target);
      if (target == nullptr) continue;
      if (flow == FlowEffect::kCall) target->is_start = true;
      const bool is_tail_call = flow == FlowEffect::kJump
                                    ? LooksLikeStart(*target)
                                    : target->instruction.stack == StackEffect::kPushRbp &&
                                          target->address % kFunctionAlignment == 0;
      if ((flow == FlowEffect::kBranch || flow == FlowEffect::kJump) && !is_tail_call)
        target->is_target = true;
    }
    MarkLikelyStarts();
  }

  // An aligned place that no branch leads to, behind an end, or behind a call that perhaps never returns. The heads of loops are aligned too, but something branches there.
  // Where tables end it need not be aligned.
  void MarkLikelyStarts() {
    bool behind_end = false, behind_call = false, behind_padding = false, behind_tables = false;
    for (Step& step : steps_) {
      behind_tables |= std::ranges::binary_search(hints_.table_ends, step.address);
      if (step.instruction.padding) {
        behind_padding = true;
        continue;
      }
      const bool behind_last_call =
          behind_call && (behind_padding || behind_tables || LooksLikeStart(step));
      if ((behind_end || behind_last_call) && !step.is_target &&
          (behind_tables || step.address % kFunctionAlignment == 0))
        step.is_likely_start = true;
      behind_end = EndsFlow(step.instruction.flow);
      behind_call = step.instruction.flow == FlowEffect::kCall;
      behind_padding = behind_tables = false;
    }
  }

  // endbr64, or something saved: no case of a switch begins so.
  bool LooksLikeStart(const Step& step) const {
    const std::span<const uint8_t> rest = code_.subspan(step.address - address_);
    const bool is_endbr = rest.size() >= sizeof(kEndbr64) &&
                          std::ranges::equal(rest.first(sizeof(kEndbr64)), kEndbr64);
    return is_endbr || step.instruction.stack == StackEffect::kPushRbp ||
           (step.instruction.stack == StackEffect::kMoveRsp && step.instruction.value < 0);
  }

  // What holds where nothing leads to: a function's first instruction, or the middle of a function (a case of a switch
  // whose table was not read, a loop's head). That it is where it goes on, with rsp and rbp as they are, at a place that something
  // else leads to, and where it reads below rbp, which then has a frame record.
  State Unreached(const Step& first) const {
    const Step* const end = steps_.data() + steps_.size();
    bool unmoved = !first.is_start;
    for (const Step* step = &first; step != end && step - &first < kMostLookedAt; ++step) {
      if (unmoved && step != &first && step->reached && !step->state.doubtful) return step->state;
      if (step->instruction.below_rbp) return kFrameRecord;
      const StackEffect effect = step->instruction.stack;
      unmoved &=
          (effect == StackEffect::kNone || effect == StackEffect::kLoadReg) && !step->is_start;
      if (EndsFlow(step->instruction.flow) || step->instruction.stack == StackEffect::kPushRbp ||
          step->instruction.stack == StackEffect::kSetRbp ||
          step->instruction.stack == StackEffect::kLoseRbp)
        break;
    }
    return {};
  }

  // Remembers that `target` is reached with `state`. The first state counts, or the first without doubt.
  bool Reach(Step* target, const State& state) {
    if (target == nullptr || target->is_start || target->is_likely_start) return false;
    if (target->reached && (!target->state.doubtful || state.doubtful)) return false;
    target->reached = true;
    target->state = state;
    return true;
  }

  // Goes through the code in order. True: a branch led to an instruction before it.
  bool Pass(bool guess_starts) {
    bool changed = false;
    std::optional<State> current, indirect;
    int traps = 0;
    for (Step& step : steps_) {
      const X86Instruction& instruction = step.instruction;
      traps = instruction.trap ? traps + 1 : 0;
      if (traps >= kTrapsBetweenFunctions) indirect.reset();
      const bool is_case = indirect && !LooksLikeStart(step);
      if (step.is_start || (step.is_likely_start && !is_case)) {
        current = Unreached(step);
        if (step.plt == PltEntry::kHeader) current->rsp = kPltHeaderRsp;
        current->outermost = hints_.entry != 0 && step.address == hints_.entry;
        indirect.reset();
      } else if (step.reached && !(current && !current->doubtful && step.state.doubtful)) {
        current = step.state;
      } else if (!current && !instruction.padding) {
        if (indirect) current = indirect;  // A case of its switch.
        if (!current && guess_starts) current = Unreached(step);
      }
      if (!current) continue;
      // Code that nobody was seen to enter, and that has a frame record.
      if (instruction.below_rbp && !current->rbp_known && !current->rbp_lost && !current->outermost)
        current = kFrameRecord;
      step.reached = true;
      step.state = *current;
      if (BeginsThread(step)) step.state.outermost = current->outermost = true;
      Follow(instruction, &*current);
      if (instruction.flow == FlowEffect::kBranch || instruction.flow == FlowEffect::kJump) {
        Step* target = StepAt(instruction.target);
        if (Reach(target, *current) && target <= &step) changed = true;
      }
      if (instruction.flow == FlowEffect::kCall) current->doubtful = true;
      if (instruction.flow == FlowEffect::kIndirectJump) indirect = current;
      if (EndsFlow(instruction.flow)) current.reset();
    }
    return changed;
  }

  // Bytes of the trampoline that begins at this step; 0: none does.
  size_t SigreturnBytes(const Step& step) const {
    const std::span<const uint8_t> rest = code_.subspan(step.address - address_);
    for (const std::span<const uint8_t> pattern :
         {std::span<const uint8_t>(kSigreturn), std::span<const uint8_t>(kShortSigreturn)})
      if (rest.size() >= pattern.size() && std::ranges::equal(rest.first(pattern.size()), pattern))
        return pattern.size();
    return 0;
  }

  // Bytes of a way out that begins at step `index`; 0: none does. Such code stands behind an end and is led to by nothing but a
  // return address that somebody stored, calls what ends the program, and has `hlt` behind that, which no user's code may run:
  // boost's fibers return there (make_fcontext()), and what lies above it on their stack is nobody's.
  size_t WayOutBytes(size_t index) const {
    const Step& first = steps_[index];
    if (index == 0 || first.is_target || first.is_start ||
        !EndsFlow(steps_[index - 1].instruction.flow))
      return 0;
    bool has_called = false;
    const size_t most = std::min(steps_.size(), index + kMostLookedAt);
    for (size_t i = index; i < most; ++i) {
      const Step& step = steps_[i];
      const FlowEffect flow = step.instruction.flow;
      const size_t at = step.address - address_;
      if (has_called)
        return code_[at] == kHlt ? step.address + step.instruction.length - first.address : 0;
      if ((flow != FlowEffect::kNext && flow != FlowEffect::kCall) ||
          step.instruction.stack != StackEffect::kNone)
        return 0;
      has_called = flow == FlowEffect::kCall;
    }
    return 0;
  }

  // What is on the stack from here on has nothing to do with what was.
  static bool ChangesStacks(const Step& step) {
    const StackEffect effect = step.instruction.stack;
    const bool writes_rsp = effect == StackEffect::kLoseRsp || effect == StackEffect::kLoadRsp ||
                            effect == StackEffect::kRspFromReg;
    if (!writes_rsp || !step.reached) return false;
    State behind = step.state;
    Follow(step.instruction, &behind);
    return !behind.rsp_known;
  }

  std::vector<LookedRow> CollectRows() const {
    std::vector<LookedRow> rows;
    const auto append = [&rows](uint64_t address, const LookedFrame& frame) {
      while (!rows.empty() && rows.back().address >= address) rows.pop_back();
      if (rows.empty() || !(rows.back().frame == frame)) rows.push_back({address, frame});
    };
    uint64_t special_end = 0;
    // Returned to at its first byte, and looked up a byte before that.
    const auto append_special = [&](uint64_t address, size_t bytes, LookedFrame::Kind kind) {
      append(address - (address > address_ ? 1 : 0), {kind});
      special_end = address + bytes;
    };
    std::vector<LookedRow> ahead;  // Of the last change of stacks.
    auto next_ahead = ahead.cbegin();
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      if (const size_t bytes = SigreturnBytes(step); bytes > 0)
        append_special(step.address, bytes, LookedFrame::Kind::kSignal);
      else if (const size_t way_out = WayOutBytes(i); way_out > 0)
        append_special(step.address, way_out, LookedFrame::Kind::kOutermost);
      LookedFrame frame = step.reached ? FrameOf(step.state) : LookedFrame{};
      if (next_ahead != ahead.cend() && next_ahead->address == step.address)
        frame = (next_ahead++)->frame;
      if (step.address >= special_end) append(step.address, frame);
      if (!ChangesStacks(step)) continue;
      const uint64_t behind = step.address - address_ + step.instruction.length;
      ahead = RowsUpToReturn(code_.subspan(behind), address_ + behind);
      next_ahead = ahead.cbegin();
    }
    return rows;
  }

  const std::span<const uint8_t> code_;
  const uint64_t address_;
  const LookHints& hints_;
  std::vector<Step> steps_;
  std::vector<uint32_t> step_at_;  // By byte: number of the step that begins there, from 1.
};

}  // namespace

std::vector<LookedRow> LookAtInstructions(std::span<const uint8_t> code, uint64_t address,
                                          const LookHints& hints) {
  return Look(code, address, hints).Rows();
}

bool IsPadding(std::span<const uint8_t> code) {
  for (size_t at = 0; at < code.size();) {
    if (code[at] == 0 || code[at] == 0x90 || code[at] == 0xcc) {  // nop, int3
      ++at;
      continue;
    }
    const X86Instruction instruction = DecodeX86(code.subspan(at), 0);
    if (!instruction.padding) return false;
    at += instruction.length;
  }
  return true;
}

}  // namespace stackray::cfi
