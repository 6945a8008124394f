#include <algorithm>
#include <array>
#include <cstring>

#include "symbolizer/cfi/go_override_finder.h"
#include "symbolizer/cfi/go_switch.h"
#include "symbolizer/cfi/machine.h"

namespace stackray::cfi {
namespace {

constexpr uint8_t kSp = kRegisterArm64Sp, kFp = kRegisterX29, kLr = kRegisterX30;
constexpr uint8_t kG = 28;                  // The running goroutine, in all of Go's code.
constexpr uint8_t kGobuf = 5, kNextPc = 6;  // In gogo: the gobuf, then where it goes on.
constexpr uint8_t kKeptLink = 3;  // x3: where a prologue puts x30 before it asks for more stack.
constexpr uint32_t kSystemCall = 0xd4000001, kReturn = 0xd65f03c0;
constexpr int32_t kSchedPc = 64;      // In struct g: gobuf.pc.
constexpr int32_t kGobufPc = 8;       // In struct gobuf.
constexpr int32_t kPushedBytes = 16;  // What a signal's handler pushes: the interrupted code's x30.
constexpr uint32_t kMaxMachineBytes = 4096;  // Of struct m, as far as curg.

class Code {
 public:
  explicit Code(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  uint64_t size() const { return bytes_.size(); }
  uint32_t At(uint64_t pc) const {
    uint32_t word = 0;
    if (pc % 4 == 0 && pc + 4 <= bytes_.size()) std::memcpy(&word, bytes_.data() + pc, 4);
    return word;
  }

 private:
  std::span<const uint8_t> bytes_;
};

uint8_t Rd(uint32_t word) { return word & 31; }
uint8_t Rn(uint32_t word) { return word >> 5 & 31; }

// Another stack's pointer comes into sp: mov sp, xN; and sp, xN, #mask.
bool WritesSp(uint32_t word) {
  if ((word & 0xfffffc1f) == 0x9100001f) return Rn(word) != kSp;
  return (word & 0xff80001f) == 0x9200001f;
}

// ldr and str of 64 bits with an offset.
struct Access {
  uint8_t reg, base;
  int32_t offset;
};
std::optional<Access> ReadAccess(uint32_t word, bool is_load) {
  if ((word & 0xffc00000) != (is_load ? 0xf9400000 : 0xf9000000)) return std::nullopt;
  return Access{Rd(word), Rn(word), static_cast<int32_t>(word >> 10 & 0xfff) * 8};
}

// The caller's x29 comes back: ldp x29, x30, [sp, #-8] or ldur x29, [sp, #-8].
bool RestoresFp(uint32_t word) { return word == 0xa97ffbfd || word == 0xf85f83fd; }

class Finder : private GoOverrideFinder {
 public:
  Finder(const GoFunctionText& function, const GoRuntime* runtime)
      : GoOverrideFinder(function), runtime_(runtime), code_(function.bytes) {
    for (uint64_t pc = 0; pc < code_.size(); pc += 4)
      if (WritesSp(code_.At(pc))) writes_.push_back(pc + 4);
  }

  std::vector<GoOverride> Find() {
    const std::string_view name = function_.name;
    if (name == "runtime.goexit" || name == "runtime.rt0_go" || function_.begins_program)
      Special(0, size(), SPECIAL_END);
    else if (name == "runtime.mcall")
      EndsBehindSwitch();
    else if (name == "runtime.clone")
      EndsInTheChild();
    else if (name == "runtime.asyncPreempt" || name == "runtime.sigpanic")
      Interrupted();
    else if (name == "runtime.morestack" || name == "runtime.morestack_noctxt")
      MoreStack();
    else if (name == "gogo" || name == "runtime.gogo")
      Resumes();
    else if (function_.writes_sp && function_.saves_rbp)
      ByFramePointer();
    return std::move(found_);
  }

 private:
  // What runs on the thread's stack from here on is the scheduler's and nobody's callee.
  void EndsBehindSwitch() {
    if (!writes_.empty()) Special(writes_[0], size(), SPECIAL_END);
  }

  // What the kernel returns to in a new thread lies behind the parent's way out.
  void EndsInTheChild() {
    bool is_behind_call = false;
    for (uint64_t pc = 0; pc < code_.size(); pc += 4) {
      if (code_.At(pc) == kSystemCall) is_behind_call = true;
      if (is_behind_call && code_.At(pc) == kReturn) return Special(pc + 4, size(), SPECIAL_END);
    }
  }

  // Its return address is where a signal came in; the x30 of that code was pushed before.
  void Interrupted() {
    ForDepths(0, [&](uint64_t begin, uint64_t end, int32_t depth) {
      const bool saves_fp = function_.saves_rbp && depth > 0;
      unwind_rule rule =
          Arm64GoFrame(CFA_REGISTER, kSp, depth + kPushedBytes, depth + kPushedBytes, saves_fp);
      if (depth == 0) {
        rule.ra_kind = VALUE_REGISTER;
        rule.ra_register = kLr;
        rule.ra_offset = 0;
      }
      rule.rbx_kind = VALUE_AT_CFA;
      rule.rbx_offset = -kPushedBytes;
      rule.signal_frame = 1;
      Rule(begin, end, rule);
    });
  }

  // Called by a function that has no frame yet and has put its own return address into x3. Then
  // that is kept in g.sched, with the function's pc and frame pointer.
  void MoreStack() {
    unwind_rule rule = {};
    rule.cfa_kind = CFA_OTHER_STACK;
    rule.cfa_register = kSp;
    rule.ra_kind = VALUE_REGISTER;
    rule.ra_register = kLr;
    rule.rbx_kind = VALUE_REGISTER;
    rule.rbx_offset = kKeptLink;
    Rule(0, writes_.empty() ? code_.size() : writes_[0], rule);
    if (writes_.empty() || runtime_ == nullptr) return;
    rule = {};
    rule.cfa_kind = CFA_GO_GOROUTINE;
    rule.cfa_register = GO_THREAD_REGISTER;
    rule.cfa_add = runtime_->curg_offset;
    rule.ra_kind = VALUE_AT_GO;
    rule.ra_offset = kSchedPc;
    for (uint64_t pc = 0; pc < writes_[0]; pc += 4) {
      const std::optional<Access> store = ReadAccess(code_.At(pc), false);
      if (!store || store->base != kG) continue;
      if (store->reg == kFp) {
        rule.rbp_kind = VALUE_AT_GO;
        rule.rbp_offset = store->offset;
      } else if (store->reg == kKeptLink) {
        rule.rbx_kind = VALUE_AT_GO;
        rule.rbx_offset = store->offset;
      }
    }
    Rule(writes_[0], code_.size(), rule);
  }

  // On its way into another goroutine, whose pc is in the gobuf at x5 and then in x6.
  void Resumes() {
    if (writes_.empty()) return;
    uint64_t loaded_at = code_.size(), link_at = code_.size();
    for (uint64_t pc = writes_[0]; pc < code_.size(); pc += 4) {
      const std::optional<Access> load = ReadAccess(code_.At(pc), true);
      if (!load || load->base != kGobuf) continue;
      if (load->reg == kNextPc && load->offset == kGobufPc) loaded_at = pc + 4;
      if (load->reg == kLr) link_at = pc + 4;
    }
    link_at = std::min(link_at, loaded_at);
    unwind_rule rule = {};
    rule.cfa_kind = CFA_OTHER_STACK;
    rule.cfa_register = kSp;
    rule.signal_frame = 1;
    rule.ra_kind = VALUE_AT_REGISTER;
    rule.ra_register = kGobuf;
    rule.ra_offset = kGobufPc;
    Rule(writes_[0], link_at, rule);
    rule.rbx_kind = VALUE_REGISTER;
    rule.rbx_offset = kLr;
    Rule(link_at, loaded_at, rule);
    rule.ra_kind = VALUE_REGISTER;
    rule.ra_register = kNextPc;
    rule.ra_offset = 0;
    Rule(loaded_at, code_.size(), rule);
  }

  // Any other function that goes over to another stack (systemstack, the vDSO's callers, calls of
  // C): x29 stays.
  void ByFramePointer() {
    if (writes_.empty()) return;
    const int32_t depth_of_frame = DepthAt(writes_[0] - 4);
    if (depth_of_frame < kPushedBytes) return;
    const unwind_rule rule =
        Arm64GoFrame(CFA_OTHER_STACK, kFp, depth_of_frame + 8, depth_of_frame, true);
    ForDepths(writes_[0], [&](uint64_t begin, uint64_t end, int32_t depth) {
      if (depth < depth_of_frame) return;
      for (uint64_t pc = begin; pc < end; pc += 4)
        if (RestoresFp(code_.At(pc))) end = pc + 4;
      Rule(begin, end, rule);
    });
  }

  const GoRuntime* const runtime_;
  const Code code_;
  std::vector<uint64_t> writes_;  // Where the instruction behind each is.
};

}  // namespace

// systemstack compares g with m.gsignal, m.g0 and m.curg, in this order.
std::optional<GoRuntime> ReadArm64GoRuntime(std::span<const uint8_t> systemstack) {
  const Code code(systemstack);
  std::array<std::optional<Access>, 32> loaded;
  int compared = 0;
  for (uint64_t pc = 0; pc < code.size(); pc += 4) {
    const uint32_t word = code.At(pc);
    if (const std::optional<Access> load = ReadAccess(word, true)) loaded.at(load->reg) = load;
    if ((word & 0xfffffc1f) != (0xeb00001f | uint32_t{kG} << 16)) continue;  // cmp xN, x28
    const std::optional<Access>& from = loaded.at(Rn(word));
    if (!from) return std::nullopt;
    if (++compared < 3) continue;
    if (from->offset <= 0 || static_cast<uint32_t>(from->offset) > kMaxMachineBytes)
      return std::nullopt;
    return GoRuntime{.curg_offset = from->offset, .thread_kind = GO_THREAD_REGISTER};
  }
  return std::nullopt;
}

unwind_rule Arm64GoFrame(uint8_t cfa_kind, uint8_t cfa_register, int32_t cfa_offset, int32_t depth,
                         bool saves_fp) {
  unwind_rule rule = {};
  rule.cfa_kind = cfa_kind;
  rule.cfa_register = cfa_register;
  rule.cfa_offset = cfa_offset;
  rule.ra_kind = VALUE_AT_CFA;
  rule.ra_offset = -depth;
  rule.rbp_kind = saves_fp ? VALUE_AT_CFA : VALUE_SAME;
  rule.rbp_offset = saves_fp ? -depth - 8 : 0;
  return rule;
}

std::vector<GoOverride> FindArm64GoOverrides(const GoFunctionText& function,
                                             const GoRuntime* runtime) {
  return Finder(function, runtime).Find();
}

bool BeginsArm64GoFrame(std::span<const uint8_t> text, uint64_t at) {
  const Code code(text);
  const uint32_t word = at >= 4 ? code.At(at - 4) : 0, before = at >= 8 ? code.At(at - 8) : 0;
  const auto saves_link = [](uint32_t store) {  // str x30, [sp, #-N]
    return (store & 0xffe00fff) == 0xf80003fe;
  };
  if ((word & 0xffe00fff) == 0xf8000ffe) return true;  // str x30, [sp, #-N]!
  // Of a large frame, both registers first: stp x29, x30, [x20, #-8]; mov sp, x20.
  if (word == 0x9100029f) return before == 0xa93ffa9d;
  return (word & 0xff8003ff) == 0xd10003ff && saves_link(before);  // sub sp, sp, #N
}

bool StoresArm64GoFp(std::span<const uint8_t> text, uint64_t at) {
  return Code(text).At(at) == 0xf81f83fd ||  // stur x29, [sp, #-8]
         (at >= 8 && Code(text).At(at - 8) == 0xa93ffa9d);
}

}  // namespace stackray::cfi
