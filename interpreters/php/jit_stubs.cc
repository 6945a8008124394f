#include "interpreters/php/jit_stubs.h"

#include <algorithm>
#include <map>
#include <optional>

#include "bpf/shared/unwind_table.h"
#include "symbolizer/cfi/x86_instruction.h"

namespace stackray {
namespace {

using cfi::FlowEffect;
using cfi::StackEffect;
using cfi::X86Instruction;

constexpr uint32_t kAlignment = 16, kMostBytes = 1024, kMostInstructions = 256, kWordBytes = 8;
constexpr int64_t kMostFrameBytes = 1024;

struct Step {
  uint8_t length = 0;
  int64_t height = 0;  // Of the CFA above rsp, before the instruction.
};

// One function, followed along its branches.
class Stub {
 public:
  // `is_called`: it returns, with `end_height` the CFA's height then; else it jumps on, at that
  // height.
  Stub(std::span<const uint8_t> page, uint32_t begin, bool is_called, int64_t end_height)
      : page_(page), begin_(begin), is_called_(is_called), end_height_(end_height) {}

  // False: it is no such function.
  bool Follow(int64_t height) {
    Visit(begin_, height);
    while (!waiting_.empty() && is_sound_) {
      const uint32_t at = waiting_.back();
      waiting_.pop_back();
      Take(at, steps_.at(at).height);
    }
    return is_sound_ && ends_ > 0;
  }
  const std::map<uint32_t, Step>& steps() const { return steps_; }
  uint32_t end() const { return steps_.rbegin()->first + steps_.rbegin()->second.length; }

 private:
  void Fail() { is_sound_ = false; }
  // The instruction at `to` comes next, or is jumped to.
  void Visit(uint64_t to, int64_t height) {
    if (to < begin_ || to - begin_ >= kMostBytes || to >= page_.size()) {
      if (is_called_ || height != end_height_) return Fail();
      ++ends_;
      return;
    }
    const auto [step, is_new] = steps_.try_emplace(static_cast<uint32_t>(to), Step{0, height});
    if (!is_new && step->second.height != height) return Fail();
    if (is_new) waiting_.push_back(step->first);
    if (steps_.size() > kMostInstructions) Fail();
  }
  void Take(uint32_t at, int64_t height) {
    const X86Instruction instruction = cfi::DecodeX86(page_.subspan(at), at);
    if (instruction.length == 0) return Fail();
    steps_.at(at).length = instruction.length;
    if (instruction.stack == StackEffect::kMoveRsp)
      height -= instruction.value;
    else if (instruction.stack != StackEffect::kNone &&
             instruction.stack != StackEffect::kStoreReg &&
             instruction.stack != StackEffect::kStoreRbp &&
             instruction.stack != StackEffect::kCopyRsp)
      return Fail();
    if (height < std::min<int64_t>(end_height_, kWordBytes) || height % kWordBytes != 0 ||
        height > kMostFrameBytes + end_height_)
      return Fail();
    switch (instruction.flow) {
      case FlowEffect::kNext:
      case FlowEffect::kCall: return Visit(uint64_t{at} + instruction.length, height);
      case FlowEffect::kBranch: Visit(uint64_t{at} + instruction.length, height); [[fallthrough]];
      case FlowEffect::kJump: return Visit(instruction.target, height);
      case FlowEffect::kReturn:
      case FlowEffect::kIndirectJump:
        if (is_called_ != (instruction.flow == FlowEffect::kReturn) || height != end_height_)
          return Fail();
        ++ends_;
        return;
      case FlowEffect::kStop: return;
    }
  }

  const std::span<const uint8_t> page_;
  const uint32_t begin_;
  const bool is_called_;
  const int64_t end_height_;
  std::map<uint32_t, Step> steps_;  // By place.
  std::vector<uint32_t> waiting_;
  int ends_ = 0;
  bool is_sound_ = true;
};

// How the function that may begin here begins: `sub $imm8, %rsp` is a called one's, `sub $imm32,
// %rsp` the way out of a trace.
std::optional<bool> IsCalled(std::span<const uint8_t> code) {
  if (code.size() < 4 || code[0] != 0x48 || code[2] != 0xec) return std::nullopt;
  if (code[1] == 0x83) return true;
  return code[1] == 0x81 ? std::optional(false) : std::nullopt;
}

uint16_t CodeOf(uint16_t rule, int64_t height) {
  return static_cast<uint16_t>((rule & ~CODE_CFA_MASK) | (height / kWordBytes & CODE_CFA_MASK));
}

}  // namespace

JitStubs FindJitStubs(std::span<const uint8_t> page, uint16_t rule) {
  page = page.first(std::min<size_t>(page.size(), PAGE_TEXT_BYTES));
  JitStubs stubs;
  cfi::PageRows rows;
  rows.Append(0, rule);
  const int64_t loop_height = int64_t{rule & CODE_CFA_MASK} * kWordBytes;
  const bool can_be_told = rule >> CODE_BASE_SHIFT == CODE_BASE_RSP;
  for (uint32_t begin = 0; can_be_told && begin < page.size(); begin += kAlignment) {
    const std::optional<bool> is_called = IsCalled(page.subspan(begin));
    if (!is_called) continue;
    Stub stub(page, begin, *is_called, *is_called ? kWordBytes : loop_height);
    if (!stub.Follow(*is_called ? kWordBytes : loop_height + kWordBytes)) continue;
    const uint16_t base = *is_called ? CODE_BASE_RSP << CODE_BASE_SHIFT : rule;
    for (const auto& [at, step] : stub.steps())
      rows.Overwrite(at, at + step.length, CodeOf(base, step.height));
    if (*is_called) stubs.called.emplace_back(begin, stub.end());
  }
  stubs.rows.assign(rows.rows().begin(), rows.rows().end());
  return stubs;
}

}  // namespace stackray
