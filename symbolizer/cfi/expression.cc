#include "symbolizer/cfi/expression.h"

#include <dwarf.h>

#include <algorithm>
#include <limits>

#include "symbolizer/cfi/byte_cursor.h"
#include "symbolizer/cfi/machine.h"

namespace stackray::cfi {
namespace {

constexpr uint8_t kPltExpression[] = {DW_OP_breg0 + kRegisterRsp,
                                      8,
                                      DW_OP_breg0 + kRegisterRa,
                                      0,
                                      DW_OP_lit15,
                                      DW_OP_and,
                                      DW_OP_lit11,
                                      DW_OP_ge,
                                      DW_OP_lit3,
                                      DW_OP_shl,
                                      DW_OP_plus};

bool FitsInt32(int64_t value) {
  return value >= std::numeric_limits<int32_t>::min() &&
         value <= std::numeric_limits<int32_t>::max();
}

bool IsRegister(uint8_t opcode) {
  return opcode >= DW_OP_breg0 && opcode < DW_OP_breg0 + Machine::kMaxRegisters;
}

// `base + offset` at the expression's start.
bool ParseBase(ByteCursor& cursor, LinearExpression* linear) {
  const uint8_t opcode = cursor.Read<uint8_t>();
  if (IsRegister(opcode)) {
    linear->base_register = static_cast<uint8_t>(opcode - DW_OP_breg0);
  } else if (opcode == DW_OP_bregx) {
    const uint64_t number = cursor.ReadUleb();
    if (number >= Machine::kMaxRegisters) return false;
    linear->base_register = static_cast<uint8_t>(number);
  } else {
    return false;
  }
  linear->offset = cursor.ReadSleb();
  return cursor.ok() && FitsInt32(linear->offset);
}

// What follows the opcode of a second register: + 8 * that register.
bool ParseIndex(ByteCursor& cursor, uint8_t opcode, LinearExpression* linear) {
  if (linear->index_register || linear->dereferenced || cursor.ReadSleb() != 0) return false;
  linear->index_register = static_cast<uint8_t>(opcode - DW_OP_breg0);
  const uint8_t number = cursor.Read<uint8_t>(), operation = cursor.Read<uint8_t>();
  const bool is_eightfold = (number == DW_OP_lit8 && operation == DW_OP_mul) ||
                            (number == DW_OP_lit3 && operation == DW_OP_shl);
  return is_eightfold && cursor.Read<uint8_t>() == DW_OP_plus && cursor.ok();
}

}  // namespace

std::optional<LinearExpression> ParseLinearExpression(std::span<const uint8_t> expression) {
  ByteCursor cursor(expression);
  LinearExpression linear;
  if (!ParseBase(cursor, &linear)) return std::nullopt;
  while (!cursor.AtEnd()) {
    const uint8_t opcode = cursor.Read<uint8_t>();
    if (opcode == DW_OP_plus_uconst) {
      const uint64_t amount = cursor.ReadUleb();
      int64_t& sum = linear.dereferenced ? linear.add : linear.offset;
      if (amount > std::numeric_limits<int32_t>::max()) return std::nullopt;
      sum += static_cast<int64_t>(amount);
      if (!FitsInt32(sum)) return std::nullopt;
    } else if (opcode == DW_OP_deref && !linear.dereferenced) {
      linear.dereferenced = true;
    } else if (IsRegister(opcode)) {
      if (!ParseIndex(cursor, opcode, &linear)) return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  if (!cursor.ok()) return std::nullopt;
  return linear;
}

bool IsPltExpression(std::span<const uint8_t> expression) {
  return std::ranges::equal(expression, kPltExpression);
}

}  // namespace stackray::cfi
