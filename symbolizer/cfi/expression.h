// The few shapes of DWARF expressions that occur in call frame information and that a row can hold.
#ifndef STACKRAY_SYMBOLIZER_CFI_EXPRESSION_H_
#define STACKRAY_SYMBOLIZER_CFI_EXPRESSION_H_

#include <cstdint>
#include <optional>
#include <span>

namespace stackray::cfi {

// r[base_register] + offset, or *(r[base_register] + offset) + add when `dereferenced`; in either
// form 8 * *index_register is added to the offset where there is one (OpenSSL's bn_mul_mont:
// crypto/bn/asm/x86_64-mont.pl of 3.0).
struct LinearExpression {
  uint8_t base_register = 0;
  std::optional<uint8_t> index_register;
  bool dereferenced = false;
  int64_t offset = 0;
  int64_t add = 0;
};

// nullopt: another shape, damaged bytes, a base that no machine has, or a number outside 32 bits.
std::optional<LinearExpression> ParseLinearExpression(std::span<const uint8_t> expression);

// The CFA inside a lazily bound .plt of x86-64 as GNU ld and lld describe it for 16-byte entries
// whose push ends at byte 11: rsp + 8 + ((rip & 15) >= 11) * 8. Other thresholds are other
// expressions.
bool IsPltExpression(std::span<const uint8_t> expression);

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_EXPRESSION_H_
