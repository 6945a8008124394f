// Frames of code that has no call frame information, from its instructions: pushes, pops, moves of
// rsp, followed along branches from where functions begin. Functions begin where calls lead, at
// 16-byte boundaries behind a jump or return and padding, where tables end, where a frame that is
// made already would be made anew behind a call, and, when nothing else leads there, behind a jump
// or return. What it finds is a guess and marked so: hand-written code
// can do anything.
// Input:   code of a foreign file; any bytes at all are answered.
// Cost:    at most five passes over the instructions; 17 bytes of memory for each byte of code
//          during the call, which is below 4 GiB.
#ifndef STACKRAY_SYMBOLIZER_CFI_INSTRUCTION_LOOK_H_
#define STACKRAY_SYMBOLIZER_CFI_INSTRUCTION_LOOK_H_

#include <cstdint>
#include <span>
#include <vector>

namespace stackray::cfi {

struct LookedFrame {
  enum class Kind : uint8_t {
    kUnknown,
    kRsp,  // CFA = rsp + cfa_offset, return address at CFA - 8.
    kRbp,  // CFA = rbp + cfa_offset, return address at CFA - 8.
    // A program or thread begins here: its entry point, or it cleared rbp that it never saved.
    kOutermost,
    kReg,     // CFA = reg + cfa_offset, the same: rsp was copied there before it was aligned.
    kSlot,    // CFA = the word at rsp + slot_offset, + cfa_offset, the same.
    kSignal,  // The kernel's signal frame: mov $15, %eax; syscall.
  };
  Kind kind = Kind::kUnknown;
  int32_t cfa_offset = 0;
  int32_t rbp_below_cfa = 0;  // The caller's rbp is at CFA - this; 0: in rbp.
  int32_t slot_offset = 0;
  uint16_t r12_words_below_cfa =
      0;            // As rbp_below_cfa; kUnknownR12. Only where LookHints::follows_r12 asks for it.
  uint8_t reg = 0;  // As instructions number them (rax 0, rcx 1, rdx 2, …).
  bool exact =
      false;  // The caller goes on at a first instruction perhaps, which no call stands before.
  static constexpr uint16_t kUnknownR12 = 0xffff;
  bool operator==(const LookedFrame&) const = default;
};

// From `address` on, until the next row.
struct LookedRow {
  uint64_t address = 0;
  LookedFrame frame;
};

// What is known of the file besides its code.
struct LookHints {
  uint64_t entry = 0;  // Where the program begins, which nobody called; 0: not in this file.
  // Where tables end, ascending: behind a return or a call the code there is another function,
  // aligned or not.
  std::span<const uint64_t> table_ends;
  bool follows_r12 = false;
};

// Rows of all of `code`, which begins at `address`; ascending, neighbours differ.
std::vector<LookedRow> LookAtInstructions(std::span<const uint8_t> code, uint64_t address,
                                          const LookHints& hints = {});

// Nothing but padding: nops, int3, zeros.
bool IsPadding(std::span<const uint8_t> code);

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_INSTRUCTION_LOOK_H_
