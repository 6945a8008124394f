#include "symbolizer/cfi/go_switch.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "symbolizer/cfi/go_override_finder.h"
#include "symbolizer/cfi/instruction_look.h"
#include "symbolizer/cfi/machine.h"
#include "symbolizer/cfi/x86_64_gaps.h"
#include "symbolizer/cfi/x86_instruction.h"

namespace stackray::cfi {
namespace {

// Numbers of registers in instructions.
constexpr uint8_t kRcx = 1, kRdx = 2, kRsp = 4, kRbp = 5, kRdi = 7;
// DWARF's.
constexpr uint8_t kDwarfRdx = 1, kDwarfRbx = 3;
constexpr int32_t kSchedPc = 64;  // In struct g: gobuf.pc.
constexpr int32_t kGobufPc = 8;   // In struct gobuf.
constexpr uint64_t kSchedBegin = 56, kSchedEnd = 128;
constexpr int32_t kMaxMachineBytes = 4096;  // Of struct m, as far as curg.
constexpr uint8_t kLoad = 0x8b, kStore = 0x89;

// mov between a register and memory or another register, 64 bits.
struct Move {
  uint8_t opcode = 0, reg = 0, base = 0;
  bool is_memory = false, is_thread = false;  // The latter: in the segment fs.
  bool has_base = false;
  int32_t offset = 0;
};

struct Step {
  uint64_t at = 0, end = 0;  // Bytes into the function.
  X86Instruction instruction;
  std::optional<Move> move;
  std::span<const uint8_t> bytes;
};

int32_t ReadInt32(std::span<const uint8_t> bytes) {
  int32_t value = 0;
  if (bytes.size() >= sizeof(value)) std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

// Intel's manual, volume 2, 2.1.5: ModRM, SIB and displacement.
std::optional<Move> ReadMove(std::span<const uint8_t> bytes) {
  Move move;
  if (!bytes.empty() && bytes[0] == 0x64) {
    move.is_thread = true;
    bytes = bytes.subspan(1);
  }
  if (bytes.size() < 3 || (bytes[0] & 0xf8) != 0x48) return std::nullopt;
  const uint8_t rex = bytes[0], modrm = bytes[2];
  move.opcode = bytes[1];
  if (move.opcode != kLoad && move.opcode != kStore) return std::nullopt;
  move.reg = static_cast<uint8_t>((modrm >> 3 & 7) | (rex & 4) << 1);
  move.base = static_cast<uint8_t>((modrm & 7) | (rex & 1) << 3);
  const uint8_t mod = modrm >> 6;
  move.is_memory = mod != 3;
  move.has_base = true;
  if (!move.is_memory) return move;
  std::span<const uint8_t> rest = bytes.subspan(3);
  if ((modrm & 7) == kRsp) {
    if (rest.empty() || (rest[0] >> 3 & 7) != kRsp) return std::nullopt;  // An index.
    move.base = static_cast<uint8_t>((rest[0] & 7) | (rex & 1) << 3);
    if (mod == 0 && (rest[0] & 7) == kRbp) {
      move.has_base = false;
      move.offset = ReadInt32(rest.subspan(1));
      return move;
    }
    rest = rest.subspan(1);
  } else if (mod == 0 && (modrm & 7) == kRbp) {
    return std::nullopt;  // From rip.
  }
  if (mod == 1 && !rest.empty()) move.offset = rest[0] < 0x80 ? rest[0] : rest[0] - 0x100;
  if (mod == 2) move.offset = ReadInt32(rest);
  return move;
}

std::vector<Step> Decode(std::span<const uint8_t> text, uint64_t address) {
  std::vector<Step> steps;
  for (uint64_t at = 0; at < text.size();) {
    Step step{.at = at, .instruction = DecodeX86(text.subspan(at), address + at)};
    if (step.instruction.length == 0) break;
    step.bytes = text.subspan(at, step.instruction.length);
    step.move = ReadMove(step.bytes);
    step.end = at += step.instruction.length;
    steps.push_back(step);
  }
  return steps;
}

// Another stack's pointer comes into rsp.
bool WritesSp(const Step& step) {
  if (!step.move) return false;
  if (step.move->opcode == kLoad) return step.move->reg == kRsp;
  return !step.move->is_memory && step.move->base == kRsp && step.move->reg != kRsp;
}

bool Stores(const Step& step, uint8_t reg, uint8_t base) {
  return step.move && step.move->opcode == kStore && step.move->is_memory &&
         !step.move->is_thread && step.move->has_base && step.move->reg == reg &&
         step.move->base == base;
}

std::vector<const Step*> SpWrites(const std::vector<Step>& steps) {
  std::vector<const Step*> writes;
  for (const Step& step : steps)
    if (WritesSp(step)) writes.push_back(&step);
  return writes;
}

// How a thread finds its g: mov %fs:N, or of a register that has N, or has it from a slot of the
// file.
bool ReadThreadPlace(const std::vector<Step>& steps, uint64_t address, GoRuntime* runtime) {
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!steps[i].move || !steps[i].move->is_thread || !steps[i].move->is_memory) continue;
    if (!steps[i].move->has_base) {
      runtime->thread_kind = GO_THREAD_FIXED;
      runtime->thread_place = static_cast<uint64_t>(int64_t{steps[i].move->offset});
      return true;
    }
    if (i == 0 || steps[i].move->base != kRcx || steps[i].move->offset != 0) return false;
    const std::span<const uint8_t> before = steps[i - 1].bytes;
    if (before.size() != 7 || before[0] != 0x48) return false;
    const int64_t value = ReadInt32(before.subspan(3));
    if (before[1] == 0xc7 && before[2] == 0xc1) {
      runtime->thread_kind = GO_THREAD_FIXED;
      runtime->thread_place = static_cast<uint64_t>(value);
      return true;
    }
    if (before[1] != kLoad || before[2] != 0x0d) return false;
    runtime->thread_kind = GO_THREAD_SLOT;
    runtime->thread_place = address + steps[i - 1].end + static_cast<uint64_t>(value);
    return true;
  }
  return false;
}

unwind_rule ReturnBelow(uint8_t cfa_kind, uint8_t cfa_register, int32_t cfa_offset,
                        bool saves_rbp) {
  unwind_rule rule = {};
  rule.cfa_kind = cfa_kind;
  rule.cfa_register = cfa_register;
  rule.cfa_offset = cfa_offset;
  rule.ra_kind = VALUE_AT_CFA;
  rule.ra_offset = -8;
  rule.rbp_kind = saves_rbp ? VALUE_AT_CFA : VALUE_SAME;
  rule.rbp_offset = saves_rbp ? -16 : 0;
  return rule;
}

bool IsDetectorsCall(std::string_view name) {
  return name == "racecall" || name == "msancall" || name == "asancall";
}

// The overrides of one function.
class Finder : private GoOverrideFinder {
 public:
  Finder(const GoFunctionText& function, const GoRuntime* runtime, uint64_t slot_base)
      : GoOverrideFinder(function),
        runtime_(runtime),
        slot_base_(slot_base),
        steps_(Decode(function.bytes, function.address)),
        writes_(SpWrites(steps_)) {}

  std::vector<GoOverride> Find() {
    const std::string_view name = function_.name;
    if (name == "runtime.goexit" || function_.begins_program)
      Special(0, size(), SPECIAL_END);
    else if (name == "runtime.mcall" || name == "runtime.clone")
      EndsBehindSwitch();
    else if (name == "runtime.sigreturn" || name == "runtime.sigreturn__sigaction")
      Special(0, size(), SPECIAL_SIGNAL);
    else if (name == "runtime.asyncPreempt" || name == "runtime.sigpanic")
      Interrupted();
    else if (name == "runtime.rt0_go")
      FirstFunction();
    else if (name == "runtime.systemstack")
      SystemStack();
    else if (name == "runtime.morestack")
      MoreStack();
    else if (name == "runtime.cgocallback")
      Callback();
    else if (name == "runtime.asmcgocall")
      CallsC();
    else if (name == "gogo" || name == "runtime.gogo")
      Resumes();
    else if (name == "runtime.racecallbackthunk")
      CalledByDetector();
    else if (function_.writes_sp && function_.saves_rbp)
      ByFramePointer();
    else if (function_.writes_sp && IsDetectorsCall(name))
      CallsDetector();
    return std::move(found_);
  }

 private:
  int32_t Offset(uint64_t pc) const { return DepthAt(pc) + 8; }
  bool Saves(uint64_t pc) const { return function_.saves_rbp && Offset(pc) > 8; }
  // What runs on the thread's stack from here on is the scheduler's and nobody's callee.
  void EndsBehindSwitch() {
    if (!writes_.empty()) Special(writes_[0]->end, size(), SPECIAL_END);
  }

  // Its return address is where a signal came in.
  void Interrupted() {
    ForDepths(0, [&](uint64_t begin, uint64_t end, int32_t depth) {
      unwind_rule rule =
          ReturnBelow(CFA_REGISTER, kRegisterRsp, depth + 8, function_.saves_rbp && depth >= 8);
      rule.signal_frame = 1;
      Rule(begin, end, rule);
    });
  }

  // Nobody calls it, or C's main() jumps to it; it aligns a stack that is aligned then.
  void FirstFunction() {
    if (function_.program_begins_in_go) return Special(0, size(), SPECIAL_END);
    const auto room = std::ranges::find_if(steps_, [](const Step& step) {
      return step.instruction.stack == StackEffect::kMoveRsp && step.instruction.value < 0;
    });
    if (room == steps_.end()) return;
    const auto bytes = static_cast<int32_t>(-room->instruction.value);
    ForDepths(room->end, [&](uint64_t begin, uint64_t end, int32_t depth) {
      Rule(begin, end, ReturnBelow(CFA_REGISTER, kRegisterRsp, bytes + 8 + depth, false));
    });
  }

  bool SetThread(unwind_rule* rule) const {
    if (runtime_ == nullptr) return false;
    const auto place = static_cast<int64_t>(
        runtime_->thread_place - (runtime_->thread_kind == GO_THREAD_SLOT ? slot_base_ : 0));
    if (place != static_cast<int32_t>(place)) return false;
    rule->cfa_register = runtime_->thread_kind;
    rule->rbx_offset = static_cast<int32_t>(place);
    return true;
  }

  void SystemStack() {
    if (writes_.size() < 2) return;
    const uint64_t begin = writes_[0]->end;
    unwind_rule rule = ReturnBelow(CFA_GO_GOROUTINE, 0, Offset(begin), Saves(begin));
    if (!SetThread(&rule)) return;
    rule.cfa_add = runtime_->curg_offset;
    Rule(begin, writes_[1]->end, rule);
  }

  // The caller is kept in g.sched, and its frame pointer too.
  void MoreStack() {
    if (writes_.empty()) return;
    unwind_rule rule = {};
    rule.cfa_kind = CFA_GO_GOROUTINE;
    rule.ra_kind = VALUE_AT_GO;
    rule.ra_offset = kSchedPc;
    if (!SetThread(&rule)) return;
    rule.cfa_add = runtime_->curg_offset;
    for (const Step& step : steps_) {
      if (!step.move || step.move->base == kRsp || !Stores(step, kRbp, step.move->base)) continue;
      const auto offset = static_cast<uint64_t>(int64_t{step.move->offset});
      if (offset < kSchedBegin || offset >= kSchedEnd) continue;
      rule.rbp_kind = VALUE_AT_GO;
      rule.rbp_offset = step.move->offset;
    }
    Rule(writes_[0]->end, size(), rule);
  }

  void Callback() {
    if (writes_.size() < 2) return;
    const uint64_t begin = writes_[0]->end;
    unwind_rule rule = ReturnBelow(CFA_GO_CALLBACK, 0, Offset(begin), Saves(begin));
    if (SetThread(&rule)) Rule(begin, writes_[1]->end, rule);
  }

  // Keeps the goroutine and its stack's depth (or the stack pointer) above rsp; till then the stack
  // pointer is in rdx.
  void CallsC() {
    if (writes_.size() < 3) return;
    std::array<int32_t, 2> kept = {};
    size_t kept_count = 0;
    uint64_t kept_at = 0, room_at = 0, stored_at = 0;
    for (const Step& step : steps_) {
      if (step.at >= writes_[0]->end && step.at < writes_[1]->at && kept_count < 2 &&
          Stores(step, kRdi, kRsp)) {
        kept[kept_count++] = step.move->offset;
        kept_at = step.end;
      }
      if (step.at < writes_[1]->end || step.at >= writes_[2]->at) continue;
      if (room_at == 0 && step.instruction.stack == StackEffect::kMoveRsp &&
          step.instruction.value < 0)
        room_at = step.end;
      if (stored_at == 0 && Stores(step, kRdx, kRsp)) stored_at = step.end;
    }
    if (kept_count < 2 || room_at == 0 || stored_at == 0) return;
    for (const auto& [begin, middle, end] : {std::array{writes_[0]->end, kept_at, writes_[1]->end},
                                             std::array{room_at, stored_at, writes_[2]->end}}) {
      Rule(begin, middle, ReturnBelow(CFA_OTHER_STACK, kDwarfRdx, Offset(begin), Saves(begin)));
      unwind_rule rule = ReturnBelow(CFA_GO_CALL, 0, Offset(begin), Saves(begin));
      rule.rbx_offset = kept[0];
      rule.cfa_add = kept[1];
      Rule(middle, end, rule);
    }
  }

  // On its way into another goroutine, whose pc is in the gobuf at rbx and then in rbx.
  void Resumes() {
    if (writes_.empty()) return;
    uint64_t loaded_at = size();
    for (const Step& step : steps_)
      if (step.at >= writes_[0]->end && step.move && step.move->opcode == kLoad &&
          step.move->is_memory && step.move->reg == 3 && step.move->base == 3 &&
          step.move->offset == kGobufPc)
        loaded_at = step.end;
    unwind_rule rule = {};
    rule.cfa_kind = CFA_OTHER_STACK;
    rule.cfa_register = kRegisterRsp;
    rule.signal_frame = 1;
    rule.ra_kind = VALUE_AT_REGISTER;
    rule.ra_register = kDwarfRbx;
    rule.ra_offset = kGobufPc;
    Rule(writes_[0]->end, loaded_at, rule);
    rule.ra_kind = VALUE_REGISTER;
    rule.ra_offset = 0;
    Rule(loaded_at, size(), rule);
  }

  // Calls C without cgo's care: rsp is in r12 meanwhile, and its own frame, if there is one, is not
  // on the new stack. From Go 1.21 on those without NOFRAME have a frame record, and are left by
  // that.
  void CallsDetector() {
    if (writes_.size() < 2) return;
    const auto copy = std::ranges::find_if(steps_, [](const Step& step) {
      return step.move && step.move->opcode == kStore && !step.move->is_memory &&
             step.move->reg == kRsp && step.move->base == kRegisterR12;
    });
    const Step& back = *writes_.back();
    if (copy == steps_.end() || copy->at >= writes_[0]->at || back.move->is_memory ||
        back.move->reg != kRegisterR12)
      return Special(writes_[0]->end, size(), SPECIAL_UNSUPPORTED);
    unwind_rule rule = ReturnBelow(CFA_GO_KEPT, 0, Offset(copy->at), false);
    if (!SetThread(&rule)) return Special(writes_[0]->end, back.end, SPECIAL_UNSUPPORTED);
    rule.cfa_add = runtime_->curg_offset;
    Rule(writes_[0]->end, back.end, rule);
  }

  // Follows C's conventions: it saves rbp and r12, which the detector's call needs.
  void CalledByDetector() {
    const std::vector<LookedRow> rows =
        LookAtInstructions(function_.bytes, function_.address, {.follows_r12 = true});
    for (size_t i = 0; i < rows.size(); ++i) {
      const uint64_t begin = rows[i].address - function_.address;
      const uint64_t end = i + 1 < rows.size() ? rows[i + 1].address - function_.address : size();
      const LookedFrame::Kind kind = rows[i].frame.kind;
      if (kind == LookedFrame::Kind::kRsp || kind == LookedFrame::Kind::kRbp)
        Rule(begin, end, RuleOf(rows[i].frame, /*keeps_r12=*/true));
    }
  }

  // A change of rsp that the depths do not have.
  bool IsUnknownChange(const Step& step) const {
    if (WritesSp(step) || step.instruction.stack == StackEffect::kLoseRsp) return true;
    return step.instruction.stack == StackEffect::kMoveRsp &&
           std::ranges::none_of(function_.depths,
                                [&](const GoDepth& row) { return row.pc == step.end; });
  }

  // Any other function that goes over to another stack (the vDSO's callers) or aligns its own.
  void ByFramePointer() {
    const auto first =
        std::ranges::find_if(steps_, [this](const Step& step) { return IsUnknownChange(step); });
    if (first == steps_.end()) return;
    const int32_t depth_of_frame = DepthAt(first->at);
    if (depth_of_frame < 8) return;
    const unwind_rule rule = ReturnBelow(CFA_OTHER_STACK, kRegisterRbp, 16, true);
    ForDepths(first->end, [&](uint64_t begin, uint64_t end, int32_t depth) {
      if (depth < depth_of_frame) return;
      // Up to Go 1.20 an epilogue loads rbp before it gives the frame back.
      for (const Step& step : steps_)
        if (step.at >= begin && step.at < end && step.move && step.move->opcode == kLoad &&
            step.move->is_memory && step.move->reg == kRbp && step.move->base == kRsp)
          end = step.end;
      Rule(begin, end, rule);
    });
  }

  const GoRuntime* const runtime_;
  const uint64_t slot_base_;
  const std::vector<Step> steps_;
  const std::vector<const Step*> writes_;
};

}  // namespace

std::optional<GoRuntime> ReadGoRuntime(std::span<const uint8_t> systemstack, uint64_t address) {
  const std::vector<Step> steps = Decode(systemstack, address);
  const std::vector<const Step*> writes = SpWrites(steps);
  GoRuntime runtime;
  if (writes.size() < 2 || !writes[1]->move->is_memory ||
      !ReadThreadPlace(steps, address, &runtime))
    return std::nullopt;
  for (const Step& step : steps) {
    if (step.at < writes[0]->end || step.at >= writes[1]->at || !step.move) continue;
    const Move& move = *step.move;
    if (move.opcode == kLoad && move.is_memory && !move.is_thread &&
        move.reg == writes[1]->move->base)
      runtime.curg_offset = move.offset;
  }
  if (runtime.curg_offset <= 0 || runtime.curg_offset > kMaxMachineBytes ||
      runtime.curg_offset % 8 != 0)
    return std::nullopt;
  return runtime;
}

bool NeedsGoRuntime(const GoFunctionText& function) {
  const std::string_view name = function.name;
  return name == "runtime.systemstack" || name == "runtime.morestack" ||
         name == "runtime.cgocallback" || (function.writes_sp && IsDetectorsCall(name));
}

std::vector<GoOverride> FindGoOverrides(const GoFunctionText& function, const GoRuntime* runtime,
                                        uint64_t slot_base) {
  return Finder(function, runtime, slot_base).Find();
}

}  // namespace stackray::cfi
