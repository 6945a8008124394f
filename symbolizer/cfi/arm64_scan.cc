#include "symbolizer/cfi/arm64_scan.h"

#include <cstring>
#include <optional>
#include <vector>

#include "symbolizer/cfi/arm64_gaps.h"
#include "symbolizer/cfi/rule_encode.h"

namespace stackray::cfi {
namespace {

constexpr uint32_t kInstructionBytes = 4;
constexpr int32_t kMostFrameBytes = 1 << 16;

// What holds in front of an instruction. Offsets are from the CFA downwards; 0: not saved.
struct FrameState {
  int32_t size = 0;  // sp is at CFA - size.
  int32_t fp_below = 0, lr_below = 0;
};

int32_t Signed(uint32_t instruction, unsigned first_bit, unsigned bits) {
  return static_cast<int32_t>(instruction << (32 - first_bit - bits)) >> (32 - bits);
}

unsigned First(uint32_t instruction) { return instruction & 31; }         // Rt.
unsigned Base(uint32_t instruction) { return instruction >> 5 & 31; }     // Rn.
unsigned Second(uint32_t instruction) { return instruction >> 10 & 31; }  // Rt2.

void Save(unsigned number, int32_t below, FrameState* state) {
  if (number == kRegisterX29) state->fp_below = below;
  if (number == kRegisterX30) state->lr_below = below;
}

// stp and ldp of 64-bit registers, with sp as base: offset, pre- and post-indexed.
bool ApplyPair(uint32_t instruction, FrameState* state) {
  const uint32_t kind = instruction >> 22;
  constexpr uint32_t kStpPost = 0x2a2, kLdpPost = 0x2a3, kStp = 0x2a4, kStpPre = 0x2a6,
                     kLdpPre = 0x2a7;  // ldp is 0x2a5.
  if (kind < kStpPost || kind > kLdpPre || Base(instruction) != kRegisterArm64Sp) return false;
  const int32_t offset = Signed(instruction, 15, 7) * 8;
  const bool is_store = kind == kStpPost || kind == kStp || kind == kStpPre;
  const bool is_pre = kind == kStpPre || kind == kLdpPre,
             is_post = kind == kStpPost || kind == kLdpPost;
  if (is_pre) state->size -= offset;
  const int32_t at = state->size - (is_pre || is_post ? 0 : offset);
  Save(First(instruction), is_store ? at : 0, state);
  Save(Second(instruction), is_store ? at - 8 : 0, state);
  if (is_post) state->size -= offset;
  return true;
}

// str and ldr of one 64-bit register, with sp as base.
bool ApplySingle(uint32_t instruction, FrameState* state) {
  if (Base(instruction) != kRegisterArm64Sp) return false;
  const uint32_t indexed = instruction & 0xffe00c00;
  const bool is_pre = indexed == 0xf8000c00 || indexed == 0xf8400c00;
  const bool is_post = indexed == 0xf8000400 || indexed == 0xf8400400;
  const bool is_plain = (instruction & 0xff800000) == 0xf9000000;
  if (!is_pre && !is_post && !is_plain) return false;
  const bool is_store = (instruction & 0x00400000) == 0;
  const int32_t step = Signed(instruction, 12, 9);
  if (is_pre) state->size -= step;
  const int32_t offset = is_plain ? static_cast<int32_t>(instruction >> 10 & 0xfff) * 8 : 0;
  Save(First(instruction), is_store ? state->size - offset : 0, state);
  if (is_post) state->size -= step;
  return true;
}

// add sp, sp, #n and sub sp, sp, #n.
bool ApplyAddition(uint32_t instruction, FrameState* state) {
  const uint32_t kind = instruction & 0xff8003ff;
  if (kind != 0xd10003ff && kind != 0x910003ff) return false;
  const int32_t amount = static_cast<int32_t>(instruction >> 10 & 0xfff)
                         << (instruction & 0x400000 ? 12 : 0);
  state->size += kind == 0xd10003ff ? amount : -amount;
  return true;
}

struct Flow {
  bool falls_through = true;
  std::optional<int32_t> target;  // Instructions from here.
};

Flow FlowOf(uint32_t instruction) {
  if ((instruction & 0xfc000000) == 0x14000000) return {false, Signed(instruction, 0, 26)};  // b.
  if ((instruction & 0xff000010) == 0x54000000)
    return {true, Signed(instruction, 5, 19)};  // b.cond.
  if ((instruction & 0x7e000000) == 0x34000000) return {true, Signed(instruction, 5, 19)};  // cbz.
  if ((instruction & 0x7e000000) == 0x36000000) return {true, Signed(instruction, 5, 14)};  // tbz.
  const bool is_call = (instruction & 0xfffffc1f) == 0xd63f0000;                            // blr.
  if ((instruction & 0xfe000000) == 0xd6000000 && !is_call) return {false, std::nullopt};   // ret.
  if ((instruction & 0xffe0001f) == 0xd4200000 || instruction >> 16 == 0)  // brk, udf.
    return {false, std::nullopt};
  return {};
}

std::optional<u16> CodeOf(const FrameState& frame) {
  CfaState state;
  state.cfa.base_register = kRegisterArm64Sp;
  state.cfa.offset = frame.size;
  if (frame.fp_below != 0)
    state.registers[kSlotRbp] = {.kind = RuleKind::kAtCfa, .offset = -frame.fp_below};
  if (frame.lr_below != 0)
    state.registers[kSlotRa] = {.kind = RuleKind::kAtCfa, .offset = -frame.lr_below};
  return EncodeCompactArm64(state);
}

class FunctionScan {
 public:
  explicit FunctionScan(std::span<const uint8_t> text)
      : text_(text), states_(text.size() / kInstructionBytes), begins_(states_.size()) {}

  // All of them come before the first Follow().
  void AddBegin(size_t at) {
    if (at < begins_.size()) begins_[at] = true;
  }

  // A path ends where another function begins: behind a call that does not return.
  void Follow(size_t first) {
    std::vector<std::pair<size_t, FrameState>> waiting = {{first, FrameState{}}};
    while (!waiting.empty()) {
      auto [at, state] = waiting.back();
      waiting.pop_back();
      while (at < states_.size() && !states_[at] && (at == first || !begins_[at])) {
        states_[at] = state;
        const uint32_t instruction = InstructionAt(at);
        const Flow flow = FlowOf(instruction);
        if (flow.target) waiting.push_back({at + static_cast<size_t>(*flow.target), state});
        if (!flow.falls_through) break;
        if (!ApplyPair(instruction, &state) && !ApplySingle(instruction, &state))
          ApplyAddition(instruction, &state);
        if (state.size < 0 || state.size > kMostFrameBytes) break;
        ++at;
      }
    }
  }

  // nullopt: no path came there, or its frame has no code.
  std::optional<u16> CodeAt(size_t at) const {
    return states_[at] ? CodeOf(*states_[at]) : std::nullopt;
  }
  size_t size() const { return states_.size(); }

 private:
  uint32_t InstructionAt(size_t at) const {
    uint32_t instruction;
    std::memcpy(&instruction, text_.data() + at * kInstructionBytes, sizeof(instruction));
    return instruction;
  }
  std::span<const uint8_t> text_;
  std::vector<std::optional<FrameState>> states_;
  std::vector<bool> begins_;
};

}  // namespace

void ScanArm64Functions(const TextPiece& piece, std::span<const uint8_t> text,
                        std::span<const uint64_t> functions, PageRows* rows) {
  FunctionScan scan(text);
  std::vector<size_t> begins;
  for (const uint64_t function : functions)
    if (function >= piece.address && function - piece.address < text.size() && function % 4 == 0)
      begins.push_back((function - piece.address) / kInstructionBytes);
  for (const size_t begin : begins) scan.AddBegin(begin);
  for (const size_t begin : begins) scan.Follow(begin);
  std::vector<PageRow> before(rows->rows().begin(), rows->rows().end());
  rows->Clear();
  size_t next = 0;
  u16 in_force = CODE_SPECIAL(SPECIAL_NONE);
  for (uint32_t offset = 0; offset < PAGE_TEXT_BYTES; ++offset) {
    while (next < before.size() && before[next].offset <= offset) in_force = before[next++].code;
    const uint32_t at = offset - piece.begin;
    std::optional<u16> code;
    if (in_force == CODE_SPECIAL(SPECIAL_NONE) && offset >= piece.begin && offset < piece.end &&
        at / kInstructionBytes < scan.size())
      code = scan.CodeAt(at / kInstructionBytes);
    rows->Append(offset, code.value_or(in_force));
  }
}

}  // namespace stackray::cfi
