#include "symbolizer/cfi/rule_encode.h"

#include <cstring>
#include <limits>
#include <string_view>

#include "absl/hash/hash.h"
#include "symbolizer/cfi/expression.h"

namespace stackray::cfi {
namespace {

// Offsets from rsp inside __restore_rt, where rsp points at struct ucontext of the kernel's
// rt_sigframe (Linux, arch/x86/include/uapi/asm/sigcontext.h and ucontext.h).
constexpr int64_t kUcontextRbp = 120;
constexpr int64_t kUcontextRsp = 160;
constexpr int64_t kUcontextRip = 168;

bool FitsS32(int64_t value) {
  return value >= std::numeric_limits<s32>::min() && value <= std::numeric_limits<s32>::max();
}

struct EncodedValue {
  u8 kind = VALUE_SAME;
  u8 other_register = 0;
  s32 offset = 0;
};

std::optional<EncodedValue> EncodeExpressionValue(const RegisterRule& rule) {
  const std::optional<LinearExpression> linear = ParseLinearExpression(rule.Expression());
  if (!linear || linear->index_register) return std::nullopt;
  const bool is_address = rule.kind == RuleKind::kExpression;
  if (is_address != linear->dereferenced && linear->add == 0)
    return EncodedValue{VALUE_AT_REGISTER, linear->base_register, static_cast<s32>(linear->offset)};
  if (!is_address && !linear->dereferenced && linear->offset == 0)
    return EncodedValue{VALUE_REGISTER, linear->base_register, 0};
  return std::nullopt;
}

std::optional<EncodedValue> EncodeValue(const RegisterRule& rule) {
  switch (rule.kind) {
    case RuleKind::kUnspecified:
    case RuleKind::kSame: return EncodedValue{};
    case RuleKind::kAtCfa:
      if (!FitsS32(rule.offset)) return std::nullopt;
      return EncodedValue{VALUE_AT_CFA, 0, static_cast<s32>(rule.offset)};
    case RuleKind::kRegister:
      if (rule.other_register >= Machine::kMaxRegisters) return std::nullopt;
      return EncodedValue{VALUE_REGISTER, rule.other_register, 0};
    case RuleKind::kExpression:
    case RuleKind::kValueExpression: return EncodeExpressionValue(rule);
    case RuleKind::kUndefined:
    case RuleKind::kCfaValue: break;
  }
  return std::nullopt;
}

bool SetCfa(bool dereferenced, uint8_t base_register, int64_t offset, int64_t add,
            unwind_rule* rule) {
  if (base_register >= Machine::kMaxRegisters || !FitsS32(offset) || !FitsS32(add)) return false;
  rule->cfa_kind = dereferenced ? CFA_DEREF : CFA_REGISTER;
  rule->cfa_register = base_register;
  rule->cfa_offset = static_cast<s32>(offset);
  rule->cfa_add = static_cast<s32>(add);
  return true;
}

bool SetCfaToExpression(std::span<const uint8_t> expression, unwind_rule* rule) {
  const std::optional<LinearExpression> linear = ParseLinearExpression(expression);
  if (!linear || (linear->index_register && !linear->dereferenced)) return false;
  if (linear->index_register) rule->cfa_index = static_cast<u8>(*linear->index_register + 1);
  return SetCfa(linear->dereferenced, linear->base_register, linear->offset, linear->add, rule);
}

bool EncodeCfa(const CfaRule& cfa, unwind_rule* rule) {
  if (cfa.is_expression) return SetCfaToExpression(cfa.Expression(), rule);
  return SetCfa(false, cfa.base_register, cfa.offset, 0, rule);
}

// The layout has no rule for rsp (on arm64 sp): the caller's is the CFA. Where a function says
// otherwise (longjmp, setcontext, signal frames), the caller's rsp becomes the CFA of our rule.
// False: cannot be said.
bool EncodeStackPointer(const CfaState& state, unwind_rule* rule) {
  const RegisterRule& rsp = state.registers[kSlotRsp];
  const CfaRule& cfa = state.cfa;
  switch (rsp.kind) {
    case RuleKind::kUnspecified:
    case RuleKind::kSame: return EncodeCfa(cfa, rule);
    case RuleKind::kCfaValue:
      if (rsp.offset == 0) return EncodeCfa(cfa, rule);
      return !cfa.is_expression && FitsS32(cfa.offset) && FitsS32(rsp.offset) &&
             SetCfa(false, cfa.base_register, cfa.offset + rsp.offset, 0, rule);
    case RuleKind::kAtCfa:
      return !cfa.is_expression && FitsS32(cfa.offset) && FitsS32(rsp.offset) &&
             SetCfa(true, cfa.base_register, cfa.offset + rsp.offset, 0, rule);
    case RuleKind::kRegister: return SetCfa(false, rsp.other_register, 0, 0, rule);
    case RuleKind::kExpression: {
      const std::optional<LinearExpression> saved = ParseLinearExpression(rsp.Expression());
      return saved && !saved->dereferenced && !saved->index_register &&
             SetCfa(true, saved->base_register, saved->offset, 0, rule);
    }
    case RuleKind::kValueExpression: return SetCfaToExpression(rsp.Expression(), rule);
    case RuleKind::kUndefined: break;
  }
  return false;
}

// Whether `rule` has the CFA that the instructions mean, so that "at CFA + n" needs no translation.
bool HasOwnCfa(const unwind_rule& rule, const CfaRule& cfa) {
  unwind_rule own{};
  return EncodeCfa(cfa, &own) && own.cfa_kind == rule.cfa_kind &&
         own.cfa_register == rule.cfa_register && own.cfa_offset == rule.cfa_offset &&
         own.cfa_add == rule.cfa_add && own.cfa_index == rule.cfa_index;
}

// "At CFA + n" of the instructions' CFA, as "at register + m".
bool Translate(const CfaRule& cfa, EncodedValue* value) {
  if (value->kind != VALUE_AT_CFA) return true;
  if (cfa.is_expression || cfa.base_register >= Machine::kMaxRegisters || !FitsS32(cfa.offset) ||
      !FitsS32(cfa.offset + value->offset))
    return false;
  *value = {VALUE_AT_REGISTER, cfa.base_register, static_cast<s32>(cfa.offset + value->offset)};
  return true;
}

bool IsKernelSignalFrame(const unwind_rule& rule) {
  return rule.cfa_kind == CFA_DEREF && rule.cfa_register == kRegisterRsp &&
         rule.cfa_offset == kUcontextRsp && rule.cfa_add == 0 && rule.cfa_index == 0 &&
         rule.ra_kind == VALUE_AT_REGISTER && rule.ra_register == kRegisterRsp &&
         rule.ra_offset == kUcontextRip && rule.rbp_kind == VALUE_AT_REGISTER &&
         rule.rbp_register == kRegisterRsp && rule.rbp_offset == kUcontextRbp;
}

bool IsPlt(const CfaState& state) {
  const RegisterRule& ra = state.registers[kSlotRa];
  const RuleKind rbp = state.registers[kSlotRbp].kind;
  const RuleKind rsp = state.registers[kSlotRsp].kind;
  return rsp == RuleKind::kUnspecified && state.cfa.is_expression &&
         IsPltExpression(state.cfa.Expression()) && ra.kind == RuleKind::kAtCfa &&
         ra.offset == -8 && (rbp == RuleKind::kUnspecified || rbp == RuleKind::kSame);
}

// Where the caller's rbx is. Rows of other files do not say that it is unchanged, so there it is
// unknown.
void SetRbx(const RegisterRule& rbx, bool keep_rbx, unwind_rule* rule) {
  const std::optional<EncodedValue> value = EncodeValue(rbx);
  if (value && value->kind == VALUE_AT_CFA) {
    rule->rbx_kind = VALUE_AT_CFA;
    rule->rbx_offset = value->offset;
  } else if (keep_rbx && value && value->kind == VALUE_SAME) {
    rule->rbx_kind = VALUE_REGISTER;
  }
}

bool HasOnlyRegistersOf(const Machine& machine, const unwind_rule& rule) {
  return rule.cfa_register < machine.general_registers &&
         rule.rbp_register < machine.general_registers &&
         rule.ra_register < machine.general_registers;
}

bool MakeRule(const CfaState& state, const Machine& machine, bool signal_frame, bool keep_rbx,
              unwind_rule* rule) {
  std::optional<EncodedValue> rbp = EncodeValue(state.registers[kSlotRbp]);
  std::optional<EncodedValue> ra = EncodeValue(state.registers[kSlotRa]);
  if (ra && ra->kind == VALUE_SAME && machine.is_arm64())
    ra = EncodedValue{VALUE_REGISTER, kRegisterX30, 0};
  if (!rbp || !ra || ra->kind == VALUE_SAME || !EncodeStackPointer(state, rule)) return false;
  const bool own_cfa = HasOwnCfa(*rule, state.cfa);
  if (!own_cfa && (!Translate(state.cfa, &*rbp) || !Translate(state.cfa, &*ra))) return false;
  rule->rbp_kind = rbp->kind;
  rule->rbp_register = rbp->other_register;
  rule->rbp_offset = rbp->offset;
  rule->ra_kind = ra->kind;
  rule->ra_register = ra->other_register;
  rule->ra_offset = ra->offset;
  rule->signal_frame = signal_frame ? 1 : 0;
  if (own_cfa) SetRbx(state.registers[kSlotRbx], keep_rbx, rule);
  return HasOnlyRegistersOf(machine, *rule);
}

std::string_view BytesOf(const unwind_rule& rule) {
  return {reinterpret_cast<const char*>(&rule), sizeof(rule)};
}

bool IsUnchanged(const RegisterRule& rule) {
  return rule.kind == RuleKind::kUnspecified || rule.kind == RuleKind::kSame;
}

// Where x29 and x30 are saved, as bits 9-12 of a code; nullopt: nowhere that they can say.
std::optional<u16> SavedRecord(int64_t record_offset, int64_t cfa_offset) {
  if (record_offset == -cfa_offset) return ARM64_SAVED_AT_BASE;
  const int64_t units = -record_offset / ARM64_CFA_UNIT;
  if (record_offset % ARM64_CFA_UNIT != 0 || units < 1 || units + 1 > ARM64_SAVED_MASK)
    return std::nullopt;
  return static_cast<u16>(units + 1);
}

// The code of a saved x30 without a frame record.
std::optional<u16> SavedLinkRegister(int64_t offset) {
  const int64_t words = -offset / 8;
  if (offset % 8 != 0 || words < 1 || words - 1 > ARM64_SAVED_MASK) return std::nullopt;
  return static_cast<u16>(words - 1);
}

std::optional<u16> Arm64Code(u16 base, int64_t cfa_offset, std::optional<u16> saved) {
  if (!saved) return std::nullopt;
  return static_cast<u16>(base << CODE_BASE_SHIFT | *saved << ARM64_SAVED_SHIFT |
                          cfa_offset / ARM64_CFA_UNIT);
}

}  // namespace

std::optional<u16> EncodeLargeFrame(uint64_t cfa_offset, const RegisterRule& rbp) {
  if (cfa_offset / 8 > CODE_LARGE_CFA_MASK) return std::nullopt;
  const auto code = static_cast<u16>(cfa_offset / 8);
  if (rbp.kind == RuleKind::kUnspecified || rbp.kind == RuleKind::kSame)
    return static_cast<u16>(CODE_BASE_LARGE_SAME_RBP << CODE_BASE_SHIFT | code);
  if (rbp.kind != RuleKind::kAtCfa || rbp.offset != -16) return std::nullopt;
  return static_cast<u16>(CODE_BASE_LARGE << CODE_BASE_SHIFT | code);
}

std::optional<u16> EncodeCompactArm64(const CfaState& state) {
  const RegisterRule& fp = state.registers[kSlotRbp];
  const RegisterRule& ra = state.registers[kSlotRa];
  const CfaRule& cfa = state.cfa;
  const bool from_sp = cfa.base_register == kRegisterArm64Sp;
  if (cfa.is_expression || (!from_sp && cfa.base_register != kRegisterX29) ||
      !IsUnchanged(state.registers[kSlotRsp]) || cfa.offset < 0 ||
      cfa.offset % ARM64_CFA_UNIT != 0 || cfa.offset / ARM64_CFA_UNIT > CODE_CFA_MASK)
    return std::nullopt;
  const u16 base = from_sp ? ARM64_BASE_SP : ARM64_BASE_FP;
  if (IsUnchanged(fp) && IsUnchanged(ra)) return Arm64Code(base, cfa.offset, ARM64_SAVED_NOWHERE);
  if (ra.kind != RuleKind::kAtCfa) return std::nullopt;
  if (IsUnchanged(fp) && from_sp)
    return Arm64Code(ARM64_BASE_LR_ALONE, cfa.offset, SavedLinkRegister(ra.offset));
  if (fp.kind != RuleKind::kAtCfa || fp.offset >= 0 || ra.offset >= 0 || ra.offset != fp.offset + 8)
    return std::nullopt;
  return Arm64Code(base, cfa.offset, SavedRecord(fp.offset, cfa.offset));
}

u16 RuleEncoder::EncodeGeneral(const CfaState& state, bool signal_frame) {
  if (state.registers[kSlotRa].kind == RuleKind::kUndefined) return CODE_SPECIAL(SPECIAL_END);
  if (!signal_frame && !machine_.is_arm64() && IsPlt(state)) return CODE_SPECIAL(SPECIAL_PLT);
  unwind_rule rule{};
  if (!MakeRule(state, machine_, signal_frame, keep_rbx_, &rule))
    return CODE_SPECIAL(SPECIAL_UNSUPPORTED);
  if (keeps_r12_ && rule.rbx_kind != VALUE_SAME) rule.keeps_r12 = 1;
  if (signal_frame && !machine_.is_arm64() && IsKernelSignalFrame(rule))
    return CODE_SPECIAL(SPECIAL_SIGNAL);
  return CodeOfRule(rule);
}

u16 RuleEncoder::CodeOfRule(const unwind_rule& rule) {
  constexpr u16 kBase = CODE_BASE_RULE << CODE_BASE_SHIFT;
  if (const auto known = index_of_rule_.find(rule); known != index_of_rule_.end())
    return static_cast<u16>(kBase | known->second);
  if (rules_.size() == PAGE_MAX_RULES) return CODE_SPECIAL(SPECIAL_UNSUPPORTED);
  const u16 index = static_cast<u16>(rules_.size());
  rules_.push_back(rule);
  index_of_rule_.emplace(rule, index);
  return static_cast<u16>(kBase | index);
}

void RuleEncoder::Clear() {
  rules_.clear();
  index_of_rule_.clear();
  if (rules_.capacity() > 256) {  // An unusual page; do not hold its memory.
    std::vector<unwind_rule>().swap(rules_);
    index_of_rule_ = {};
  }
}

size_t RuleEncoder::RuleHash::operator()(const unwind_rule& rule) const {
  return absl::Hash<std::string_view>()(BytesOf(rule));
}

bool RuleEncoder::RuleEqual::operator()(const unwind_rule& a, const unwind_rule& b) const {
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

}  // namespace stackray::cfi
