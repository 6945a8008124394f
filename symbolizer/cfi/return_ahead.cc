#include "symbolizer/cfi/return_ahead.h"

#include <array>
#include <optional>

#include "symbolizer/cfi/x86_instruction.h"

namespace stackray::cfi {
namespace {

constexpr size_t kMaxInstructions = 64;
constexpr int64_t kMaxBytes = 1 << 16;
constexpr int64_t kNowhere = -1;
constexpr uint8_t kRegisters = 16;

// All places are distances from what rsp is at the first instruction.
class Ahead {
 public:
  std::vector<LookedRow> Rows(std::span<const uint8_t> code, uint64_t address) {
    loaded_from_.fill(kNowhere);
    while (!code.empty() && steps_.size() < kMaxInstructions) {
      const X86Instruction instruction = DecodeX86(code, address);
      if (instruction.length == 0) return {};
      steps_.push_back({address, rsp_, kNowhere});
      if (instruction.flow != FlowEffect::kNext) return Finish(instruction);
      if (!Follow(instruction)) return {};
      code = code.subspan(instruction.length);
      address += instruction.length;
    }
    return {};
  }

 private:
  struct Step {
    uint64_t address = 0;
    int64_t rsp = 0;
    int64_t rbp_from = kNowhere;  // It loads rbp from there.
  };

  // False: what rsp or rbp is then is unknown.
  bool Follow(const X86Instruction& instruction) {
    int64_t loaded = kNowhere;
    switch (instruction.stack) {
      case StackEffect::kNone:
      case StackEffect::kCopyRsp:
      case StackEffect::kStoreReg: break;
      case StackEffect::kLoadReg: loaded = rsp_ + instruction.value; break;
      case StackEffect::kLoadRbp: steps_.back().rbp_from = rsp_ + instruction.value; break;
      case StackEffect::kPopRbp:
        steps_.back().rbp_from = rsp_;
        rsp_ += 8;
        break;
      case StackEffect::kMoveRsp:
        if (instruction.value < 0) return false;
        loaded = rsp_;  // A pop; an addition names no register.
        rsp_ += instruction.value;
        break;
      default: return false;
    }
    if (instruction.written < kRegisters) {
      loaded_from_[instruction.written] = loaded;
      written_[instruction.written] = true;
    }
    return rsp_ <= kMaxBytes;
  }

  // What rsp is behind the way out; the address that it leads to lies below.
  std::optional<int64_t> Cfa(const X86Instruction& last) const {
    if (last.flow == FlowEffect::kReturn) return rsp_ + 8;
    if (last.flow != FlowEffect::kIndirectJump || last.reg >= kRegisters) return std::nullopt;
    if (loaded_from_[last.reg] != kNowhere && loaded_from_[last.reg] + 8 == rsp_) return rsp_;
    // longjmp() takes both from memory, and jumps with rsp as it was loaded.
    if (written_[last.reg] || rsp_ == 0) return std::nullopt;
    return rsp_ + 8;
  }

  std::vector<LookedRow> Finish(const X86Instruction& last) const {
    const std::optional<int64_t> cfa = Cfa(last);
    if (!cfa) return {};
    std::vector<LookedRow> rows(steps_.size());
    int64_t rbp_from = kNowhere;
    for (size_t i = steps_.size(); i-- > 0;) {
      const Step& step = steps_[i];
      if (rbp_from == kNowhere) rbp_from = step.rbp_from;
      if (rbp_from != kNowhere && (rbp_from < 0 || rbp_from >= *cfa)) return {};
      LookedFrame& frame = rows[i].frame;
      rows[i].address = step.address;
      frame.kind = LookedFrame::Kind::kRsp;
      frame.cfa_offset = static_cast<int32_t>(*cfa - step.rsp);
      if (rbp_from != kNowhere) frame.rbp_below_cfa = static_cast<int32_t>(*cfa - rbp_from);
      frame.exact = true;
    }
    return rows;
  }

  std::vector<Step> steps_;
  std::array<int64_t, kRegisters> loaded_from_{};  // By register.
  std::array<bool, kRegisters> written_{};
  int64_t rsp_ = 0;
};

}  // namespace

std::vector<LookedRow> RowsUpToReturn(std::span<const uint8_t> code, uint64_t address) {
  return Ahead().Rows(code, address);
}

}  // namespace stackray::cfi
