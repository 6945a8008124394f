// One x86-64 instruction, as far as an unwinder asks: how long it is, where it leads, and what it
// does to rsp and rbp. Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume
// 2, appendix A (opcode maps).
// Input:  bytes of a foreign file; any bytes at all are answered within them.
#ifndef STACKRAY_SYMBOLIZER_CFI_X86_INSTRUCTION_H_
#define STACKRAY_SYMBOLIZER_CFI_X86_INSTRUCTION_H_

#include <cstdint>
#include <span>

namespace stackray::cfi {

enum class StackEffect : uint8_t {
  kNone,        // Neither rsp nor rbp changes.
  kMoveRsp,     // rsp += value; a push of a register stores `reg` there.
  kPushRbp,     // rsp -= 8, rbp is there.
  kPopRbp,      // rbp is from there, rsp += 8.
  kStoreRbp,    // rbp is at rsp + value.
  kLoadRbp,     // rbp is from rsp + value,
  kFollowRbp,   // or from rbp + value.
  kSetRbp,      // rbp = rsp + value.
  kSetRsp,      // rsp = rbp + value.
  kLeave,       // rsp = rbp, then kPopRbp.
  kClearRbp,    // rbp = 0.
  kCopyRsp,     // `reg` = rsp.
  kAlignRsp,    // rsp is rounded down.
  kStoreReg,    // `reg` is at rsp + value.
  kLoadReg,     // `written` is from rsp + value.
  kRspFromReg,  // rsp = `reg`.
  kLoadRsp,     // rsp is from rsp + value.
  kLoseRsp,     // Something else is written to rsp,
  kLoseRbp,     // or to rbp.
};

enum class FlowEffect : uint8_t {
  kNext,
  kCall,    // To `target`, or indirectly (target 0); comes back.
  kBranch,  // To `target` or to the next one.
  kJump,    // To `target`.
  kIndirectJump,
  kReturn,
  kStop,  // ud2, hlt, int3: does not go on.
};

struct X86Instruction {
  static constexpr uint8_t kNoReg = 255;

  int64_t value = 0;    // See StackEffect.
  uint64_t target = 0;  // See FlowEffect.
  uint8_t length = 0;   // 0: no instruction, or one that the bytes cut off.
  StackEffect stack = StackEffect::kNone;
  FlowEffect flow = FlowEffect::kNext;
  bool padding = false;    // A nop of any length, or int3.
  bool trap = false;       // int3.
  bool below_rbp = false;  // Its operand is memory at a negative distance from rbp.
  // See StackEffect, or what an indirect jump leads to; as instructions number them (rax 0, rcx 1,
  // rdx 2, …).
  uint8_t reg = kNoReg;
  // The register that it writes; not all instructions of the vector units and of strings say it.
  uint8_t written = kNoReg;
};

// The instruction at the begin of `bytes`, which is at `address`.
X86Instruction DecodeX86(std::span<const uint8_t> bytes, uint64_t address);

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_X86_INSTRUCTION_H_
