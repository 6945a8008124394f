// What is known of a function's frame before one of its instructions, and what the instruction
// makes of it: rsp and rbp as distances from the CFA (DWARF 5, 6.4), and where the caller's rbp was
// saved. For code without call frame information (instruction_look.h).
#ifndef STACKRAY_SYMBOLIZER_CFI_X86_FRAME_STATE_H_
#define STACKRAY_SYMBOLIZER_CFI_X86_FRAME_STATE_H_

#include <cstdint>

#include "symbolizer/cfi/instruction_look.h"
#include "symbolizer/cfi/x86_instruction.h"

namespace stackray::cfi {

struct X86FrameState {
  bool outermost : 1 = false;  // A program or thread begins here.
  // A call lies on the way here, and it may be one that never returns: then this is another
  // function.
  bool doubtful : 1 = false;
  bool rsp_known : 1 = true, rbp_known : 1 = false;
  bool rbp_lost : 1 = false;  // It holds something else now.
  // rsp was copied to `copy` when CFA - rsp was copy_rsp. Then it was aligned, and has moved down
  // by `below` bytes since; the copy was stored `slot` bytes below the aligned place.
  bool aligned : 1 = false, stored : 1 = false;
  uint8_t copy = X86Instruction::kNoReg;
  uint16_t r12_saved = 0;  // In words, as rbp_saved; kLostR12: nobody knows where.
  int32_t copy_rsp = 0, below = 0, slot = 0;
  int32_t rsp = 8, rbp = 0;  // CFA - rsp, CFA - rbp.
  int32_t rbp_saved = 0;     // At CFA - this; 0: not saved.
};

inline constexpr uint16_t kLostR12 = 0xffff;

// rbp points at the caller's rbp, and nothing else is known.
inline constexpr X86FrameState kFrameRecord = {
    .rsp_known = false, .rbp_known = true, .r12_saved = kLostR12, .rbp = 16, .rbp_saved = 16};

// `instruction` runs. Any values are answered; what they lead far from a frame of 16 MiB is unknown
// afterwards.
void Follow(const X86Instruction& instruction, X86FrameState* state);

LookedFrame FrameOf(const X86FrameState& state);

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_X86_FRAME_STATE_H_
