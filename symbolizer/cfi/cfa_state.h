// One row of the table that call frame instructions describe: how to find the caller's frame at one
// pc. Lifetime: expressions point into the entry's bytes, so a state is worth no more than those
// are.
#ifndef STACKRAY_SYMBOLIZER_CFI_CFA_STATE_H_
#define STACKRAY_SYMBOLIZER_CFI_CFA_STATE_H_

#include <array>
#include <cstdint>
#include <span>

#include "symbolizer/cfi/machine.h"

namespace stackray::cfi {

enum class RuleKind : uint8_t {
  kUnspecified,      // No instruction named the register.
  kUndefined,        // Cannot be recovered; for the return address: no caller.
  kSame,             // Unchanged.
  kAtCfa,            // Saved at CFA + offset.
  kCfaValue,         // Is CFA + offset.
  kRegister,         // Is in another register.
  kExpression,       // Saved at the address that an expression computes.
  kValueExpression,  // Is what an expression computes.
};

struct RegisterRule {
  RuleKind kind = RuleKind::kUnspecified;
  uint8_t other_register = 0;     // 255: one that is not followed.
  uint32_t expression_bytes = 0;  // With kExpression and kValueExpression.
  int64_t offset = 0;
  const uint8_t* expression = nullptr;

  std::span<const uint8_t> Expression() const { return {expression, expression_bytes}; }
};

struct CfaRule {
  bool is_expression = false;
  uint8_t base_register = 255;  // 255: not set, or not one of the general registers.
  uint32_t expression_bytes = 0;
  int64_t offset = 0;
  const uint8_t* expression = nullptr;

  std::span<const uint8_t> Expression() const { return {expression, expression_bytes}; }
};

struct CfaState {
  CfaRule cfa;
  std::array<RegisterRule, kTrackedSlots> registers;
};

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_CFA_STATE_H_
