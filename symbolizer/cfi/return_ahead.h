// Frames of x86-64 code that has just put another stack under itself, as fibers and coroutines are
// switched: what was on the stack before says nothing, but the instructions up to the return say
// where on the new stack they will find rbp and the address they go to.
// Input: code of a foreign file; any bytes at all are answered.
// Cost:  at most 64 instructions.
#ifndef STACKRAY_SYMBOLIZER_CFI_RETURN_AHEAD_H_
#define STACKRAY_SYMBOLIZER_CFI_RETURN_AHEAD_H_

#include <cstdint>
#include <span>
#include <vector>

#include "symbolizer/cfi/instruction_look.h"

namespace stackray::cfi {

// One row for each instruction from the begin of `code`, which is at `address`, up to a return, or
// a jump to an address that was loaded from the stack, or one to another function after registers
// were taken from the stack. Empty: it is not such code, as it branches, calls, pushes, or moves
// rsp by what is no constant. The frames are exact: a stack that runs for the first time begins at
// a function's first instruction.
std::vector<LookedRow> RowsUpToReturn(std::span<const uint8_t> code, uint64_t address);

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_RETURN_AHEAD_H_
