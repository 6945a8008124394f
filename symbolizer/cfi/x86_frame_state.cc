#include "symbolizer/cfi/x86_frame_state.h"

#include <algorithm>

namespace stackray::cfi {
namespace {

constexpr int64_t kMaxFrameBytes = 1 << 24;

void LoadRbp(int64_t below_cfa, X86FrameState* state) {
  if (below_cfa == state->rbp_saved) state->rbp_saved = 0;
  state->rbp_known = false;
}

// Far beyond kMaxFrameBytes nothing is believed, so there it need not be exact.
int32_t Sum(int64_t a, int64_t b) {
  return static_cast<int32_t>(std::clamp<int64_t>(a + b, -2 * kMaxFrameBytes, 2 * kMaxFrameBytes));
}

bool HasCopy(const X86FrameState& state) { return state.copy != X86Instruction::kNoReg; }

// rsp is what it was when it was copied.
void RestoreRsp(X86FrameState* state) {
  state->rsp_known = true;
  state->aligned = state->stored = false;
  state->rsp = state->copy_rsp;
}

void LoseRsp(X86FrameState* state) { state->rsp_known = state->aligned = state->stored = false; }

void MoveRsp(int64_t amount, X86FrameState* state) {
  state->below = Sum(state->below, -amount);
  state->rsp = Sum(state->rsp, -amount);
  if (state->rsp < 8 || state->rsp > kMaxFrameBytes) state->rsp_known = false;
}

void Apply(const X86Instruction& instruction, X86FrameState* state) {
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

constexpr uint8_t kR12 = 12;

// Where r12 is saved now, if the instruction saves it, else 0. `state` is what the instruction has
// left.
int64_t SavesR12At(const X86Instruction& instruction, const X86FrameState& state) {
  if (instruction.reg != kR12 || !state.rsp_known) return 0;
  if (instruction.stack == StackEffect::kMoveRsp && instruction.value < 0) return state.rsp;
  if (instruction.stack == StackEffect::kStoreReg) return state.rsp - instruction.value;
  return 0;
}

// A function saves r12 before it writes it, and loads it from there before it returns.
void FollowR12(const X86Instruction& instruction, int32_t rsp_before, X86FrameState* state) {
  if (const int64_t at = SavesR12At(instruction, *state); at > 0 && state->r12_saved == 0)
    state->r12_saved = at % 8 == 0 && at / 8 < kLostR12 ? static_cast<uint16_t>(at / 8) : kLostR12;
  if (instruction.written != kR12) return;
  const bool is_pop = instruction.stack == StackEffect::kMoveRsp;
  const int64_t from = rsp_before - (is_pop ? 0 : instruction.value);
  const bool is_load = is_pop || instruction.stack == StackEffect::kLoadReg;
  if (is_load && state->r12_saved != 0 && from == int64_t{state->r12_saved} * 8)
    state->r12_saved = 0;
  else if (state->r12_saved == 0)
    state->r12_saved = kLostR12;
}

}  // namespace

void Follow(const X86Instruction& instruction, X86FrameState* state) {
  const int32_t rsp_before = state->rsp;
  Apply(instruction, state);
  if (instruction.reg == kR12 || instruction.written == kR12)
    FollowR12(instruction, rsp_before, state);
  const bool is_copy = instruction.stack == StackEffect::kCopyRsp;
  if (instruction.written == state->copy && !is_copy) state->copy = X86Instruction::kNoReg;
}

LookedFrame FrameOf(const X86FrameState& state) {
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
    frame.r12_words_below_cfa = state.r12_saved;
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
  frame.r12_words_below_cfa = state.r12_saved;
  return frame;
}

}  // namespace stackray::cfi
