// Runs call frame instructions (DWARF 5, section 6.4.2, and the GNU extensions) row by row.
// Input:   instructions of a foreign file: each read is checked and every instruction costs budget.
// Memory:  the remembered states, at most 64.
// Threads: one at a time; reused from entry to entry.
#ifndef STACKRAY_SYMBOLIZER_CFI_CFA_PROGRAM_H_
#define STACKRAY_SYMBOLIZER_CFI_CFA_PROGRAM_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "symbolizer/cfi/byte_cursor.h"
#include "symbolizer/cfi/cfa_state.h"

namespace stackray::cfi {

// What a common information entry contributes to running the entries that refer to it.
struct CfaContext {
  const Machine* machine = &kX86_64;
  uint64_t code_alignment = 1;
  int64_t data_alignment = 1;
  uint8_t pointer_encoding = 0;  // Of DW_CFA_set_loc's operand.
  std::optional<uint64_t> text_address;
  CfaState initial;  // After the common entry's own instructions.
};

class CfaProgram {
 public:
  // `budget` counts down one for each instruction and is owned by the caller, as are `instructions`
  // and `context`; all three must live until the last NextRow(). `instructions_address` is the ELF
  // address of the first instruction (0 where pc-relative operands cannot occur).
  void Start(const CfaContext& context, uint64_t begin, uint64_t end,
             std::span<const uint8_t> instructions, uint64_t instructions_address, int64_t* budget);

  // Moves on to the next row; false after the last. Rows are not empty, ascend and together cover
  // [begin, end). A damaged or too long program ends in one row with damaged() set.
  bool NextRow();
  uint64_t row_begin() const { return row_begin_; }
  uint64_t row_end() const { return row_end_; }
  const CfaState& state() const { return state_; }
  bool damaged() const { return damaged_; }

  // Runs a common entry's instructions, which have no rows, over context->initial. False: damaged.
  bool RunInitial(CfaContext* context, std::span<const uint8_t> instructions, int64_t* budget);

  size_t memory_bytes() const { return remembered_.capacity() * sizeof(CfaState); }

 private:
  void RunSimply();
  bool Execute();
  void ExecuteExtended(uint8_t opcode);
  void ExecuteDefineCfa(uint8_t opcode);
  void ExecuteRegister(uint8_t opcode);
  void Advance(uint64_t units);
  void SetLocation();
  void SetCfaRegister(uint64_t dwarf_register);
  void SetOffset(uint64_t dwarf_register, RuleKind kind, uint64_t factored);
  void SetExpression(RuleKind kind);
  void SetPlain(uint64_t dwarf_register, RuleKind kind);
  void Restore(uint64_t dwarf_register);
  bool IsReturnAddressSigning(uint8_t opcode) const;
  uint8_t FollowedRegister(uint64_t dwarf_register) const;
  TrackedSlot SlotOf(uint64_t dwarf_register) const {
    return context_->machine->SlotOf(dwarf_register);
  }

  const CfaContext* context_ = nullptr;
  ByteCursor cursor_;
  const uint8_t* instructions_begin_ = nullptr;
  uint64_t instructions_address_ = 0;
  int64_t* budget_ = nullptr;
  uint64_t location_ = 0, end_ = 0;
  uint64_t row_begin_ = 0, row_end_ = 0;
  bool damaged_ = false;
  bool may_run_simply_ = false;
  CfaState state_;
  std::vector<CfaState> remembered_;
};

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_CFA_PROGRAM_H_
