#include "symbolizer/cfi/instruction_look.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "symbolizer/cfi/return_ahead.h"
#include "symbolizer/cfi/switch_tables.h"
#include "symbolizer/cfi/x86_frame_state.h"
#include "symbolizer/cfi/x86_instruction.h"

namespace stackray::cfi {
namespace {

constexpr int kMaxPasses = 6;
constexpr uint64_t kFunctionAlignment = 16;
constexpr ptrdiff_t kMostLookedAt = 64;
// A function is padded with nops inside, and single traps are behind calls that do not return.
constexpr int kTrapsBetweenFunctions = 2;
constexpr uint8_t kHlt = 0xf4, kNop = 0x90;
// So many calls at least, and all but one of so many, have a nop behind them where a compiler puts
// one there.
constexpr size_t kLeastCalls = 16, kCallsForOneWithout = 8;
constexpr uint8_t kRax = 0;
// mov $15, %rax; syscall (rt_sigreturn), with and without REX.W.
constexpr uint8_t kSigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
constexpr uint8_t kShortSigreturn[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
constexpr uint8_t kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
constexpr int64_t kPltHeaderRsp = 16;  // A stub has pushed its number before it came here.

// A procedure linkage table as the x86-64 ABI's supplement has it (version 1.0, 5.2): entries of 16
// bytes, of which nobody calls one from the same section.
enum class PltEntry : uint8_t { kNone, kHeader, kStub };

PltEntry PltEntryAt(std::span<const uint8_t> code) {
  const auto has = [&code](size_t at, uint8_t first) {
    return at < code.size() && code[at] == first;
  };
  const auto has_pair = [&has](size_t at, uint8_t first, uint8_t second) {
    return has(at, first) && has(at + 1, second);
  };
  if (has_pair(0, 0xff, 0x35) && has_pair(6, 0xff, 0x25)) return PltEntry::kHeader;
  const size_t at =
      code.size() >= sizeof(kEndbr64) && std::ranges::equal(code.first(sizeof(kEndbr64)), kEndbr64)
          ? sizeof(kEndbr64)
          : 0;
  const bool pushes_first = at > 0 && has(at, 0x68) && has(at + 5, 0xe9);
  const bool jumps_first = has_pair(at, 0xff, 0x25) && (at > 0 || (has(6, 0x68) && has(11, 0xe9)));
  return pushes_first || jumps_first ? PltEntry::kStub : PltEntry::kNone;
}

// One instruction. Several passes go over thousands of them, so each is one line of the cache.
struct Step {
  X86Instruction instruction;
  X86FrameState state;
  uint32_t at = 0;  // In the code.
  bool is_start : 1 = false, is_likely_start : 1 = false, is_target : 1 = false,
                  reached : 1 = false;
  PltEntry plt = PltEntry::kNone;
};
static_assert(sizeof(Step) == 64);

// At which bytes steps begin, and which step it is: a bit a byte, and how many there are before
// each word of bits.
class StepStarts {
 public:
  explicit StepStarts(size_t code_bytes) : words_(code_bytes / kBits + 1) {}

  // In ascending order.
  void Add(size_t at) {
    Word& word = words_[at / kBits];
    if (word.bits == 0) word.before = count_;
    word.bits |= uint64_t{1} << at % kBits;
    ++count_;
  }

  std::optional<size_t> StepAt(uint64_t at) const {
    if (at / kBits >= words_.size()) return std::nullopt;
    const Word& word = words_[at / kBits];
    const uint64_t bit = uint64_t{1} << at % kBits;
    if ((word.bits & bit) == 0) return std::nullopt;
    return word.before + static_cast<size_t>(std::popcount(word.bits & (bit - 1)));
  }

 private:
  static constexpr size_t kBits = 64;
  struct Word {
    uint64_t bits = 0;
    size_t before = 0;
  };
  std::vector<Word> words_;
  size_t count_ = 0;
};

bool EndsFlow(FlowEffect flow) {
  return flow == FlowEffect::kJump || flow == FlowEffect::kIndirectJump ||
         flow == FlowEffect::kReturn || flow == FlowEffect::kStop;
}

// A compiler saves rbp before it clears it; the code that begins a thread has nobody to save it
// for.
bool BeginsThread(const Step& step) {
  return step.instruction.stack == StackEffect::kClearRbp && step.state.rbp_saved == 0 &&
         !step.state.rbp_known && step.state.rsp_known && step.state.rsp == 8;
}

class Look {
 public:
  Look(std::span<const uint8_t> code, uint64_t address, const LookHints& hints)
      : code_(code), address_(address), hints_(hints), starts_(code.size()) {}

  std::vector<LookedRow> Rows() {
    Decode();
    nops_behind_calls_ = HasNopsBehindCalls();
    if (nops_behind_calls_) tables_ = FindSwitchTables(code_);
    if (!tables_.empty()) DecodeAroundTables();
    MarkStarts();
    bool changed = true;
    for (int pass = 0; pass < kMaxPasses && changed; ++pass) changed = Pass(/*guess_starts=*/false);
    Pass(/*guess_starts=*/true);
    return CollectRows();
  }

 private:
  void Decode() {
    steps_.reserve(code_.size() / 4);
    bool behind_zero = false;
    for (size_t at = 0; at < code_.size();) {
      starts_.Add(at);
      Step& step = steps_.emplace_back();
      step.at = static_cast<uint32_t>(at);
      X86Instruction& instruction = step.instruction;
      const bool zeros =
          code_[at] == 0 && (behind_zero || (at + 1 < code_.size() && code_[at + 1] == 0));
      behind_zero = zeros;
      if (!zeros && (is_data_.empty() || !is_data_[at]))
        instruction = DecodeX86(code_.subspan(at), address_ + at);
      if (instruction.length == 0) {  // No code: behind a section's end, or data.
        instruction.length = 1;
        instruction.padding = true;
        instruction.flow = FlowEffect::kStop;
      }
      at += instruction.length;
    }
  }

  // A table is data, and each of its cases is where a branch leads.
  void DecodeAroundTables() {
    is_data_.resize(code_.size());
    for (const SwitchTable& table : tables_)
      std::fill_n(is_data_.begin() + static_cast<ptrdiff_t>(table.begin), table.end - table.begin,
                  true);
    steps_.clear();
    starts_ = StepStarts(code_.size());
    Decode();
    for (const SwitchTable& table : tables_)
      for (const uint32_t at : table.cases)
        if (Step* step = StepAt(address_ + at); step != nullptr) step->is_target = true;
  }

  // nullptr: outside, or in the middle of an instruction.
  Step* StepAt(uint64_t target) {
    const std::optional<size_t> index = starts_.StepAt(target - address_);
    return index ? &steps_[*index] : nullptr;
  }

  uint64_t AddressOf(const Step& step) const { return address_ + step.at; }
  bool IsAligned(const Step& step) const { return AddressOf(step) % kFunctionAlignment == 0; }
  std::span<const uint8_t> CodeFrom(const Step& step) const { return code_.subspan(step.at); }

  // GraalVM's native-image puts a nop behind every call. That is no padding then, which is of int3,
  // and what is entered otherwise than by branches (handlers of exceptions) has the frame of its
  // function.
  bool HasNopsBehindCalls() const {
    size_t calls = 0, without = 0;
    for (const Step& step : steps_) {
      if (step.instruction.flow != FlowEffect::kCall) continue;
      const size_t behind = step.at + step.instruction.length;
      ++calls;
      without += behind < code_.size() && code_[behind] != kNop ? 1 : 0;
    }
    return calls >= kLeastCalls && without <= calls / kCallsForOneWithout;
  }

  void MarkStarts() {
    if (!steps_.empty() && !nops_behind_calls_) steps_.front().is_start = true;
    if (Step* entry = hints_.entry == 0 ? nullptr : StepAt(hints_.entry); entry != nullptr)
      entry->is_start = true;
    for (Step& step : steps_) {
      if (!IsAligned(step)) continue;
      step.plt = PltEntryAt(CodeFrom(step));
      if (step.plt != PltEntry::kNone) step.is_start = true;
    }
    for (const Step& step : steps_) {
      const FlowEffect flow = step.instruction.flow;
      Step* target = step.instruction.target == 0 ? nullptr : StepAt(step.instruction.target);
      if (target == nullptr) continue;
      if (flow == FlowEffect::kCall && (!nops_behind_calls_ || IsAligned(*target)))
        target->is_start = true;
      const bool is_tail_call =
          flow == FlowEffect::kJump
              ? LooksLikeStart(*target)
              : target->instruction.stack == StackEffect::kPushRbp && IsAligned(*target);
      if ((flow == FlowEffect::kBranch || flow == FlowEffect::kJump) && !is_tail_call)
        target->is_target = true;
    }
    MarkLikelyStarts();
  }

  // An aligned place that no branch leads to, behind an end, or behind a call that perhaps never
  // returns. The heads of loops are aligned too, but something branches there. Where tables end it
  // need not be aligned.
  void MarkLikelyStarts() {
    bool behind_end = false, behind_call = false, behind_padding = false, behind_tables = false;
    auto table_end = hints_.table_ends.begin();
    for (Step& step : steps_) {
      while (table_end != hints_.table_ends.end() && *table_end < AddressOf(step)) ++table_end;
      behind_tables |= table_end != hints_.table_ends.end() && *table_end == AddressOf(step);
      if (step.instruction.padding) {
        behind_padding |= !nops_behind_calls_ || step.instruction.trap;
        if (step.is_target) behind_end = behind_call = false;  // Gone through, not jumped over.
        continue;
      }
      const bool behind_last_call =
          behind_call && (behind_padding || behind_tables || LooksLikeStart(step));
      if (nops_behind_calls_)
        step.is_likely_start = BeginsBehind(step, behind_end || behind_call, behind_padding);
      else if ((behind_end || behind_last_call) && !step.is_target &&
               (behind_tables || IsAligned(step)))
        step.is_likely_start = true;
      behind_end = EndsFlow(step.instruction.flow);
      behind_call = step.instruction.flow == FlowEffect::kCall;
      behind_padding = behind_tables = false;
    }
  }

  // Where nops are behind calls. Traps stand between functions, unless one fills its 16 bytes; what
  // seems to branch here may be a table of addresses.
  bool BeginsBehind(const Step& step, bool last, bool traps) const {
    if (!IsAligned(step)) return false;
    return traps ? LooksLikeStart(step) || !step.is_target
                 : last && LooksLikeStart(step) && !step.is_target;
  }

  // endbr64, or something saved: no case of a switch begins so.
  bool LooksLikeStart(const Step& step) const {
    const std::span<const uint8_t> rest = CodeFrom(step);
    const bool is_endbr = rest.size() >= sizeof(kEndbr64) &&
                          std::ranges::equal(rest.first(sizeof(kEndbr64)), kEndbr64);
    return is_endbr || step.instruction.stack == StackEffect::kPushRbp ||
           (step.instruction.stack == StackEffect::kMoveRsp && step.instruction.value < 0);
  }

  // What holds where nothing leads to: a function's first instruction, or the middle of a function
  // (a case of a switch whose table was not read, a loop's head). That it is where it goes on, with
  // rsp and rbp as they are, at a place that something else leads to, and where it reads below rbp,
  // which then has a frame record.
  X86FrameState Unreached(const Step& first) const {
    const Step* const end = steps_.data() + steps_.size();
    bool unmoved = !first.is_start;
    for (const Step* step = &first; step != end && step - &first < kMostLookedAt; ++step) {
      if (unmoved && step != &first && step->reached && !step->state.doubtful) return step->state;
      if (step->instruction.below_rbp) return kFrameRecord;
      const StackEffect effect = step->instruction.stack;
      unmoved &=
          (effect == StackEffect::kNone || effect == StackEffect::kLoadReg) && !step->is_start;
      if (EndsFlow(step->instruction.flow) || step->instruction.stack == StackEffect::kPushRbp ||
          step->instruction.stack == StackEffect::kSetRbp ||
          step->instruction.stack == StackEffect::kLoseRbp)
        break;
    }
    return {};
  }

  // `push %rbp; mov %rsp,%rbp` behind a call, in a frame that has saved rbp already: the call does
  // not return (Rust's panics), and another function begins, aligned or not.
  bool BeginsNextFunction(const Step& step, const X86FrameState& state) const {
    const Step* const next = &step + 1;
    return step.instruction.stack == StackEffect::kPushRbp && state.doubtful &&
           state.rbp_saved != 0 && !step.is_target && next != steps_.data() + steps_.size() &&
           next->instruction.stack == StackEffect::kSetRbp && next->instruction.value == 0;
  }

  // Remembers that `target` is reached with `state`. The first state counts, or the first without
  // doubt.
  bool Reach(Step* target, const X86FrameState& state) {
    if (target == nullptr || target->is_start || target->is_likely_start) return false;
    if (target->reached && (!target->state.doubtful || state.doubtful)) return false;
    target->reached = true;
    target->state = state;
    return true;
  }

  // False: no table of this jump was found.
  bool ReachCases(const Step& jump, const X86FrameState& state, bool* changed) {
    const auto table = std::ranges::lower_bound(tables_, jump.at, {}, &SwitchTable::jump);
    if (table == tables_.end() || table->jump != jump.at) return false;
    for (const uint32_t at : table->cases)
      if (Reach(StepAt(address_ + at), state) && at <= jump.at) *changed = true;
    return true;
  }

  // Goes through the code in order. True: a branch led to an instruction before it.
  bool Pass(bool guess_starts) {
    bool changed = false;
    std::optional<X86FrameState> current, indirect, body;
    int traps = 0;
    for (Step& step : steps_) {
      const X86Instruction& instruction = step.instruction;
      traps = instruction.trap ? traps + 1 : 0;
      if (traps >= kTrapsBetweenFunctions) indirect.reset();
      const bool is_case = indirect && !LooksLikeStart(step);
      if (step.is_start || (step.is_likely_start && !is_case) ||
          (current && BeginsNextFunction(step, *current))) {
        current = Unreached(step);
        if (step.plt == PltEntry::kHeader) current->rsp = kPltHeaderRsp;
        current->outermost = hints_.entry != 0 && AddressOf(step) == hints_.entry;
        indirect.reset();
        body.reset();
      } else if (step.reached && !(current && !current->doubtful && step.state.doubtful)) {
        current = step.state;
      } else if (!current && !instruction.padding) {
        if (indirect) current = indirect;  // A case of its switch.
        if (!current && guess_starts && nops_behind_calls_) current = body;
        if (!current && guess_starts) {
          current = Unreached(step);
          current->doubtful |= nops_behind_calls_;
        }
      }
      if (!current) continue;
      // Code that nobody was seen to enter, and that has a frame record.
      if (instruction.below_rbp && !current->rbp_known && !current->rbp_lost && !current->outermost)
        current = kFrameRecord;
      step.reached = true;
      step.state = *current;
      if (BeginsThread(step)) step.state.outermost = current->outermost = true;
      Follow(instruction, &*current);
      if (instruction.flow == FlowEffect::kBranch || instruction.flow == FlowEffect::kJump) {
        Step* target = StepAt(instruction.target);
        if (Reach(target, *current) && target <= &step) changed = true;
      }
      if (instruction.flow == FlowEffect::kCall) current->doubtful = true;
      if (instruction.flow == FlowEffect::kCall || LooksLikeStart(step)) body = current;
      if (instruction.flow == FlowEffect::kIndirectJump && !ReachCases(step, *current, &changed))
        indirect = current;
      if (EndsFlow(instruction.flow)) current.reset();
    }
    return changed;
  }

  // Bytes of the trampoline that begins at this step; 0: none does.
  size_t SigreturnBytes(const Step& step) const {
    if (step.instruction.written != kRax) return 0;
    const std::span<const uint8_t> rest = CodeFrom(step);
    for (const std::span<const uint8_t> pattern :
         {std::span<const uint8_t>(kSigreturn), std::span<const uint8_t>(kShortSigreturn)})
      if (rest.size() >= pattern.size() && std::ranges::equal(rest.first(pattern.size()), pattern))
        return pattern.size();
    return 0;
  }

  // Bytes of a way out that begins at step `index`; 0: none does. Such code stands behind an end
  // and is led to by nothing but a return address that somebody stored, calls what ends the
  // program, and has `hlt` behind that, which no user's code may run: boost's fibers return there
  // (make_fcontext()), and what lies above it on their stack is nobody's.
  size_t WayOutBytes(size_t index) const {
    const Step& first = steps_[index];
    if (index == 0 || first.is_target || first.is_start ||
        !EndsFlow(steps_[index - 1].instruction.flow))
      return 0;
    bool has_called = false;
    const size_t most = std::min(steps_.size(), index + kMostLookedAt);
    for (size_t i = index; i < most; ++i) {
      const Step& step = steps_[i];
      const FlowEffect flow = step.instruction.flow;
      if (has_called)
        return code_[step.at] == kHlt ? step.at + step.instruction.length - first.at : 0;
      if ((flow != FlowEffect::kNext && flow != FlowEffect::kCall) ||
          step.instruction.stack != StackEffect::kNone)
        return 0;
      has_called = flow == FlowEffect::kCall;
    }
    return 0;
  }

  // What is on the stack from here on has nothing to do with what was.
  static bool ChangesStacks(const Step& step) {
    const StackEffect effect = step.instruction.stack;
    const bool writes_rsp = effect == StackEffect::kLoseRsp || effect == StackEffect::kLoadRsp ||
                            effect == StackEffect::kRspFromReg;
    if (!writes_rsp || !step.reached) return false;
    X86FrameState behind = step.state;
    Follow(step.instruction, &behind);
    return !behind.rsp_known;
  }

  std::vector<LookedRow> CollectRows() const {
    std::vector<LookedRow> rows;
    const auto append = [&rows](uint64_t address, const LookedFrame& frame) {
      while (!rows.empty() && rows.back().address >= address) rows.pop_back();
      if (rows.empty() || !(rows.back().frame == frame)) rows.push_back({address, frame});
    };
    uint64_t special_end = 0;
    // Returned to at its first byte, and looked up a byte before that.
    const auto append_special = [&](uint64_t address, size_t bytes, LookedFrame::Kind kind) {
      append(address - (address > address_ ? 1 : 0), {kind});
      special_end = address + bytes;
    };
    std::vector<LookedRow> ahead;  // Of the last change of stacks.
    auto next_ahead = ahead.cbegin();
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      const uint64_t address = AddressOf(step);
      if (const size_t bytes = SigreturnBytes(step); bytes > 0)
        append_special(address, bytes, LookedFrame::Kind::kSignal);
      else if (const size_t way_out = WayOutBytes(i); way_out > 0)
        append_special(address, way_out, LookedFrame::Kind::kOutermost);
      LookedFrame frame = step.reached ? FrameOf(step.state) : LookedFrame{};
      if (!hints_.follows_r12) frame.r12_words_below_cfa = 0;
      if (next_ahead != ahead.cend() && next_ahead->address == address) {
        frame = (next_ahead++)->frame;
        if (hints_.follows_r12) frame.r12_words_below_cfa = LookedFrame::kUnknownR12;
      }
      if (address >= special_end) append(address, frame);
      if (!ChangesStacks(step)) continue;
      const size_t behind = step.at + step.instruction.length;
      ahead = RowsUpToReturn(code_.subspan(behind), address_ + behind);
      next_ahead = ahead.cbegin();
    }
    return rows;
  }

  const std::span<const uint8_t> code_;
  const uint64_t address_;
  const LookHints& hints_;
  std::vector<Step> steps_;
  StepStarts starts_;
  bool nops_behind_calls_ = false;
  std::vector<SwitchTable> tables_;  // Only looked for where calls have nops.
  std::vector<bool> is_data_;        // A bit a byte; empty: nothing is.
};

}  // namespace

std::vector<LookedRow> LookAtInstructions(std::span<const uint8_t> code, uint64_t address,
                                          const LookHints& hints) {
  return Look(code, address, hints).Rows();
}

bool IsPadding(std::span<const uint8_t> code) {
  for (size_t at = 0; at < code.size();) {
    if (code[at] == 0 || code[at] == 0x90 || code[at] == 0xcc) {  // nop, int3
      ++at;
      continue;
    }
    const X86Instruction instruction = DecodeX86(code.subspan(at), 0);
    if (!instruction.padding) return false;
    at += instruction.length;
  }
  return true;
}

}  // namespace stackray::cfi
