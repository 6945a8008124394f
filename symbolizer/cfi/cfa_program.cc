#include "symbolizer/cfi/cfa_program.h"

#include <dwarf.h>

#include <algorithm>

#include "symbolizer/cfi/pointer_encoding.h"

namespace stackray::cfi {
namespace {

constexpr size_t kMaxRemembered = 64;
constexpr uint8_t kNotFollowed = 255;
constexpr uint8_t kPrimaryMask = 0xc0;
constexpr uint64_t kMaxSimpleEnd = uint64_t{1} << 62;  // Below it short advances cannot overflow.
constexpr uint64_t kMaxSimpleAlignment = 4;
// "DWARF for the Arm 64-bit Architecture", section 4.4.1. 0x2d is DW_CFA_GNU_window_save elsewhere.
constexpr uint8_t kAarch64NegateRaStateWithPc = 0x2c, kAarch64NegateRaState = 0x2d;

// Products of file contents wrap instead of overflowing; what makes no sense is refused when
// encoded.
int64_t Factor(uint64_t factored, int64_t alignment) {
  return static_cast<int64_t>(factored * static_cast<uint64_t>(alignment));
}

}  // namespace

uint8_t CfaProgram::FollowedRegister(uint64_t dwarf_register) const {
  return dwarf_register < context_->machine->general_registers
             ? static_cast<uint8_t>(dwarf_register)
             : kNotFollowed;
}

void CfaProgram::Start(const CfaContext& context, uint64_t begin, uint64_t end,
                       std::span<const uint8_t> instructions, uint64_t instructions_address,
                       int64_t* budget) {
  context_ = &context;
  cursor_ = ByteCursor(instructions);
  instructions_begin_ = instructions.data();
  instructions_address_ = instructions_address;
  budget_ = budget;
  location_ = row_begin_ = row_end_ = begin;
  end_ = end;
  damaged_ = false;
  may_run_simply_ = context.code_alignment <= kMaxSimpleAlignment && end < kMaxSimpleEnd;
  state_ = context.initial;
  remembered_.clear();
}

bool CfaProgram::NextRow() {
  row_begin_ = location_;
  if (row_begin_ >= end_ || damaged_) return false;
  while (!cursor_.AtEnd()) {
    if (may_run_simply_) RunSimply();
    if (location_ == row_begin_ && !cursor_.AtEnd() && !Execute()) {
      damaged_ = true;
      break;
    }
    if (location_ != row_begin_) {
      row_end_ = location_ = std::min(location_, end_);
      return true;
    }
  }
  row_end_ = location_ = end_;
  return true;
}

bool CfaProgram::RunInitial(CfaContext* context, std::span<const uint8_t> instructions,
                            int64_t* budget) {
  Start(*context, 0, 1, instructions, 0, budget);
  while (!cursor_.AtEnd())
    if (!Execute() || location_ != 0) return false;
  context->initial = state_;
  return true;
}

// Runs the instructions that make up nearly all programs, as Execute() would but without its checks
// of what cannot happen here, until the location changes or another instruction comes.
void CfaProgram::RunSimply() {
  const uint8_t* position = cursor_.position();
  const uint8_t* const last = position + cursor_.remaining_bytes() - 1;
  const uint64_t alignment = context_->code_alignment;
  int64_t budget = *budget_;
  while (position < last && budget > 0) {
    const uint8_t opcode = *position;
    const uint8_t operand = opcode & ~kPrimaryMask;
    if ((opcode & kPrimaryMask) == DW_CFA_advance_loc) {
      ++position;
      location_ += operand * alignment;
    } else if (opcode == DW_CFA_nop) {
      ++position;
    } else if (position[1] >= 0x80) {
      break;
    } else if (opcode == DW_CFA_def_cfa_offset) {
      state_.cfa.offset = position[1];
      position += 2;
    } else if ((opcode & kPrimaryMask) == DW_CFA_offset) {
      SetOffset(operand, RuleKind::kAtCfa, position[1]);
      position += 2;
    } else {
      break;
    }
    --budget;
    if (location_ != row_begin_) break;
  }
  *budget_ = budget;
  cursor_.Take(static_cast<uint64_t>(position - cursor_.position()));
}

bool CfaProgram::Execute() {
  if (--*budget_ < 0) return false;
  const uint8_t opcode = cursor_.Read<uint8_t>();
  const uint8_t operand = opcode & ~kPrimaryMask;
  switch (opcode & kPrimaryMask) {
    case DW_CFA_advance_loc: Advance(operand); break;
    case DW_CFA_offset: SetOffset(operand, RuleKind::kAtCfa, cursor_.ReadUleb()); break;
    case DW_CFA_restore: Restore(operand); break;
    default: ExecuteExtended(opcode);
  }
  return cursor_.ok();
}

void CfaProgram::ExecuteExtended(uint8_t opcode) {
  switch (opcode) {
    case DW_CFA_nop: return;
    case DW_CFA_set_loc: return SetLocation();
    case DW_CFA_advance_loc1: return Advance(cursor_.Read<uint8_t>());
    case DW_CFA_advance_loc2: return Advance(cursor_.Read<uint16_t>());
    case DW_CFA_advance_loc4: return Advance(cursor_.Read<uint32_t>());
    case DW_CFA_remember_state:
      if (remembered_.size() == kMaxRemembered) return cursor_.Fail();
      remembered_.push_back(state_);
      return;
    case DW_CFA_restore_state:
      if (remembered_.empty()) return cursor_.Fail();
      state_ = remembered_.back();
      remembered_.pop_back();
      return;
    case DW_CFA_GNU_args_size:
      cursor_.ReadUleb();  // Pushed arguments; they matter to landing pads only.
      return;
    case DW_CFA_def_cfa:
    case DW_CFA_def_cfa_sf:
    case DW_CFA_def_cfa_register:
    case DW_CFA_def_cfa_offset:
    case DW_CFA_def_cfa_offset_sf:
    case DW_CFA_def_cfa_expression: return ExecuteDefineCfa(opcode);
    default:
      if (!IsReturnAddressSigning(opcode)) ExecuteRegister(opcode);
  }
}

// From here on the return address is signed, or is not any more. Who reads one drops the
// signature's bits always.
bool CfaProgram::IsReturnAddressSigning(uint8_t opcode) const {
  return context_->machine->is_arm64() &&
         (opcode == kAarch64NegateRaState || opcode == kAarch64NegateRaStateWithPc);
}

void CfaProgram::ExecuteDefineCfa(uint8_t opcode) {
  CfaRule& cfa = state_.cfa;
  switch (opcode) {
    case DW_CFA_def_cfa:
      SetCfaRegister(cursor_.ReadUleb());
      cfa.offset = static_cast<int64_t>(cursor_.ReadUleb());
      return;
    case DW_CFA_def_cfa_sf:
      SetCfaRegister(cursor_.ReadUleb());
      cfa.offset = Factor(static_cast<uint64_t>(cursor_.ReadSleb()), context_->data_alignment);
      return;
    case DW_CFA_def_cfa_register: SetCfaRegister(cursor_.ReadUleb()); return;
    case DW_CFA_def_cfa_offset: cfa.offset = static_cast<int64_t>(cursor_.ReadUleb()); return;
    case DW_CFA_def_cfa_offset_sf:
      cfa.offset = Factor(static_cast<uint64_t>(cursor_.ReadSleb()), context_->data_alignment);
      return;
    default: {  // DW_CFA_def_cfa_expression
      const std::span<const uint8_t> expression = cursor_.Take(cursor_.ReadUleb());
      cfa.is_expression = true;
      cfa.base_register = kNotFollowed;
      cfa.expression = expression.data();
      cfa.expression_bytes = static_cast<uint32_t>(expression.size());
      return;
    }
  }
}

void CfaProgram::ExecuteRegister(uint8_t opcode) {
  switch (opcode) {
    case DW_CFA_expression: return SetExpression(RuleKind::kExpression);
    case DW_CFA_val_expression: return SetExpression(RuleKind::kValueExpression);
    default: break;
  }
  const uint64_t dwarf_register = cursor_.ReadUleb();
  switch (opcode) {
    case DW_CFA_offset_extended:
      return SetOffset(dwarf_register, RuleKind::kAtCfa, cursor_.ReadUleb());
    case DW_CFA_offset_extended_sf:
      return SetOffset(dwarf_register, RuleKind::kAtCfa, static_cast<uint64_t>(cursor_.ReadSleb()));
    case DW_CFA_GNU_negative_offset_extended:
      return SetOffset(dwarf_register, RuleKind::kAtCfa, uint64_t{0} - cursor_.ReadUleb());
    case DW_CFA_val_offset:
      return SetOffset(dwarf_register, RuleKind::kCfaValue, cursor_.ReadUleb());
    case DW_CFA_val_offset_sf:
      return SetOffset(dwarf_register, RuleKind::kCfaValue,
                       static_cast<uint64_t>(cursor_.ReadSleb()));
    case DW_CFA_restore_extended: return Restore(dwarf_register);
    case DW_CFA_undefined: return SetPlain(dwarf_register, RuleKind::kUndefined);
    case DW_CFA_same_value: return SetPlain(dwarf_register, RuleKind::kSame);
    case DW_CFA_register: {
      const uint8_t other = FollowedRegister(cursor_.ReadUleb());
      SetPlain(dwarf_register, RuleKind::kRegister);
      if (const TrackedSlot slot = SlotOf(dwarf_register); slot != kUntracked)
        state_.registers[slot].other_register = other;
      return;
    }
    default: return cursor_.Fail();  // An instruction that nobody defined, or damage.
  }
}

void CfaProgram::Advance(uint64_t units) {
  uint64_t step, next;
  if (__builtin_mul_overflow(units, context_->code_alignment, &step) ||
      __builtin_add_overflow(location_, step, &next))
    return cursor_.Fail();
  location_ = next;
}

void CfaProgram::SetLocation() {
  const uint64_t field =
      instructions_address_ + static_cast<uint64_t>(cursor_.position() - instructions_begin_);
  const std::optional<uint64_t> next =
      ReadEncodedPointer(cursor_, context_->pointer_encoding,
                         {.field_address = field, .text_address = context_->text_address});
  if (!next || *next < location_) return cursor_.Fail();
  location_ = *next;
}

void CfaProgram::SetCfaRegister(uint64_t dwarf_register) {
  state_.cfa.is_expression = false;
  state_.cfa.base_register = FollowedRegister(dwarf_register);
}

void CfaProgram::SetOffset(uint64_t dwarf_register, RuleKind kind, uint64_t factored) {
  const TrackedSlot slot = SlotOf(dwarf_register);
  if (slot == kUntracked) return;
  state_.registers[slot].kind = kind;
  state_.registers[slot].offset = Factor(factored, context_->data_alignment);
}

void CfaProgram::SetExpression(RuleKind kind) {
  const TrackedSlot slot = SlotOf(cursor_.ReadUleb());
  const std::span<const uint8_t> expression = cursor_.Take(cursor_.ReadUleb());
  if (slot == kUntracked) return;
  RegisterRule& rule = state_.registers[slot];
  rule.kind = kind;
  rule.expression = expression.data();
  rule.expression_bytes = static_cast<uint32_t>(expression.size());
}

void CfaProgram::SetPlain(uint64_t dwarf_register, RuleKind kind) {
  const TrackedSlot slot = SlotOf(dwarf_register);
  if (slot != kUntracked) state_.registers[slot].kind = kind;
}

void CfaProgram::Restore(uint64_t dwarf_register) {
  const TrackedSlot slot = SlotOf(dwarf_register);
  if (slot != kUntracked) state_.registers[slot] = context_->initial.registers[slot];
}

}  // namespace stackray::cfi
