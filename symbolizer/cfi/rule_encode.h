// From a row's rules to the code that bpf/shared/unwind_table.h defines for the machine.
// Memory:  the rules of one page, at most PAGE_MAX_RULES of 32 bytes, and a hash set over them.
// Threads: one at a time.
#ifndef STACKRAY_SYMBOLIZER_CFI_RULE_ENCODE_H_
#define STACKRAY_SYMBOLIZER_CFI_RULE_ENCODE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "bpf/shared/unwind_table.h"
#include "symbolizer/cfi/cfa_state.h"

namespace stackray::cfi {

// The code of an x86-64 row whose CFA is more than 4 KiB above rsp.
std::optional<u16> EncodeLargeFrame(uint64_t cfa_offset, const RegisterRule& rbp);

// The code of an x86-64 row that fits 16 bits: CFA from rsp or rbp, return address at CFA - 8, rbp
// unchanged or near the CFA. Nearly all rows do. Not for signal frames.
inline std::optional<u16> EncodeCompact(const CfaState& state) {
  const RegisterRule& ra = state.registers[kSlotRa];
  if (ra.kind != RuleKind::kAtCfa || ra.offset != -8 || state.cfa.is_expression ||
      state.registers[kSlotRsp].kind != RuleKind::kUnspecified)
    return std::nullopt;
  u16 code;
  if (state.cfa.base_register == kRegisterRsp)
    code = CODE_BASE_RSP << CODE_BASE_SHIFT;
  else if (state.cfa.base_register == kRegisterRbp)
    code = CODE_BASE_RBP << CODE_BASE_SHIFT;
  else
    return std::nullopt;
  const uint64_t cfa_offset = static_cast<uint64_t>(state.cfa.offset);
  const RegisterRule& rbp = state.registers[kSlotRbp];
  if ((cfa_offset & 7) != 0) return std::nullopt;
  if (cfa_offset / 8 > CODE_CFA_MASK)
    return code == CODE_BASE_RSP << CODE_BASE_SHIFT ? EncodeLargeFrame(cfa_offset, rbp)
                                                    : std::nullopt;
  code |= static_cast<u16>(cfa_offset / 8);
  if (rbp.kind == RuleKind::kUnspecified || rbp.kind == RuleKind::kSame) return code;
  const uint64_t below_cfa = uint64_t{0} - static_cast<uint64_t>(rbp.offset);
  if (rbp.kind != RuleKind::kAtCfa || (below_cfa & 7) != 0 || below_cfa == 0 ||
      below_cfa / 8 > CODE_RBP_MASK)
    return std::nullopt;
  return static_cast<u16>(code | (below_cfa / 8) << CODE_RBP_SHIFT);
}

// Compact codes of arm64: CFA from sp or x29, a frame record near the CFA or at its base, or x30
// alone, or neither.
std::optional<u16> EncodeCompactArm64(const CfaState& state);

class RuleEncoder {
 public:
  explicit RuleEncoder(const Machine& machine) : machine_(machine) {}

  // The code of one row. Rules that the layout cannot hold give SPECIAL_UNSUPPORTED, as do new
  // rules once the page has PAGE_MAX_RULES.
  u16 Encode(const CfaState& state, bool signal_frame) {
    if (!signal_frame && !keep_rbx_) {
      const std::optional<u16> code =
          machine_.is_arm64() ? EncodeCompactArm64(state) : EncodeCompact(state);
      if (code) return *code;
    }
    return EncodeGeneral(state, signal_frame);
  }
  // Every row becomes a rule that says where rbx is, so that a caller whose CFA is in rbx can be
  // left. 32 bytes for each distinct one: for files that are known to need it. x86-64 only.
  void KeepRbx() { keep_rbx_ = true; }
  // As KeepRbx(), with r12 in rbx's place. The machine that the rows are read for is
  // kX86_64KeepsR12 then.
  void KeepR12() { keep_rbx_ = keeps_r12_ = true; }
  bool keeps_r12() const { return keeps_r12_; }

  // The code of a rule that is there already, or is added: SPECIAL_UNSUPPORTED once the page has
  // PAGE_MAX_RULES.
  u16 CodeOfRule(const unwind_rule& rule);

  const std::vector<unwind_rule>& rules() const { return rules_; }
  void Clear();
  size_t memory_bytes() const {
    return rules_.capacity() * sizeof(unwind_rule) +
           index_of_rule_.capacity() * (sizeof(unwind_rule) + sizeof(u16) + 2);
  }

 private:
  u16 EncodeGeneral(const CfaState& state, bool signal_frame);

  struct RuleHash {
    size_t operator()(const unwind_rule& rule) const;
  };
  struct RuleEqual {
    bool operator()(const unwind_rule& a, const unwind_rule& b) const;
  };
  const Machine& machine_;
  bool keep_rbx_ = false, keeps_r12_ = false;
  std::vector<unwind_rule> rules_;
  absl::flat_hash_map<unwind_rule, u16, RuleHash, RuleEqual> index_of_rule_;
};

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_RULE_ENCODE_H_
