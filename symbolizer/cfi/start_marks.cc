#include "symbolizer/cfi/start_marks.h"

#include <array>
#include <utility>

#include "symbolizer/cfi/last_call.h"

namespace stackray::cfi {
namespace {

constexpr u16 kNone = CODE_SPECIAL(SPECIAL_NONE), kStart = CODE_SPECIAL(SPECIAL_START);
constexpr uint32_t kFunctionAlignment = 16;
constexpr size_t kStubBytes = 16;

// A row's code of x86-64 as a rule, where one says the same and has room for a call.
std::optional<unwind_rule> RuleWithRoom(u16 code, const RuleEncoder& encoder) {
  const unsigned base = code >> CODE_BASE_SHIFT;
  if (base == CODE_BASE_RULE) {
    const unwind_rule rule = encoder.rules()[code & CODE_INDEX_MASK];
    const bool has_room = rule.cfa_kind == CFA_REGISTER && rule.rbx_kind == VALUE_SAME &&
                          rule.last_call == LAST_CALL_NONE && rule.signal_frame == 0;
    return has_room ? std::optional(rule) : std::nullopt;
  }
  if (base != CODE_BASE_RSP && base != CODE_BASE_RBP) return std::nullopt;
  const int32_t saved = code >> CODE_RBP_SHIFT & CODE_RBP_MASK;
  unwind_rule rule = {};
  rule.cfa_kind = CFA_REGISTER;
  rule.cfa_register = base == CODE_BASE_RSP ? kRegisterRsp : kRegisterRbp;
  rule.cfa_offset = (code & CODE_CFA_MASK) * 8;
  rule.ra_kind = VALUE_AT_CFA;
  rule.ra_offset = -8;
  rule.rbp_kind = saved == 0 ? VALUE_SAME : VALUE_AT_CFA;
  rule.rbp_offset = -8 * saved;
  return rule;
}

class Marker {
 public:
  Marker(const ByteSource& source, const Machine& machine, StartContext* context,
         RuleEncoder* encoder)
      : source_(source), machine_(machine), context_(*context), encoder_(*encoder) {}

  // What the byte before `start` says, where `code` held. `before`: the bytes up to the start.
  u16 CodeOf(const FunctionStart& start, u16 code,
             std::span<const uint8_t, kLastCallBytes> before) {
    const LastCall call = LastCallBefore(before, start.address, machine_);
    if (call.kind == LastCall::Kind::kNone) return kStart;
    if (call.kind == LastCall::Kind::kUnknown) return code;
    const std::optional<unwind_rule> rule = RuleWithRoom(code, encoder_);
    if (!rule) return code;
    if (call.kind == LastCall::Kind::kPointer)
      return WithCall(code, *rule, LAST_CALL_POINTER, call.target - start.address, 0);
    const std::optional<uint64_t> offset = context_.OffsetOf(call.target);
    if (!offset) return kStart;  // That it looked like a call was chance.
    if (const std::optional<uint32_t> size = context_.FunctionBytes(call.target))
      return WithCall(code, *rule, LAST_CALL_DIRECT, call.target - start.address, *size);
    std::array<uint8_t, kStubBytes> stub{};
    if (!source_.ReadAt(*offset, stub).ok()) return code;
    if (const std::optional<uint64_t> pointer = PointerOfStub(stub, call.target))
      return WithCall(code, *rule, LAST_CALL_POINTER, *pointer - start.address, 0);
    return code;
  }

 private:
  u16 WithCall(u16 code, unwind_rule rule, u8 kind, uint64_t distance, uint32_t size) {
    const auto signed_distance = static_cast<int64_t>(distance);
    if (signed_distance != static_cast<int32_t>(signed_distance)) return code;
    rule.last_call = kind;
    rule.cfa_add = static_cast<s32>(signed_distance);
    rule.rbx_offset = static_cast<s32>(size);
    const u16 with_call = encoder_.CodeOfRule(rule);
    return with_call == CODE_SPECIAL(SPECIAL_UNSUPPORTED) ? code : with_call;
  }

  const ByteSource& source_;
  const Machine& machine_;
  StartContext& context_;
  RuleEncoder& encoder_;
};

// A start, and what holds at the byte before it.
struct Touching {
  FunctionStart start;
  u16 code = 0;
};

std::vector<Touching> FindTouching(std::span<const FunctionStart> starts,
                                   std::span<const PageRow> rows) {
  std::vector<Touching> found;
  size_t next = 0;
  u16 code = kNone;
  for (const FunctionStart& start : starts) {
    for (; next < rows.size() && rows[next].offset <= start.page_offset; ++next)
      code = rows[next].code;
    if (code >> CODE_BASE_SHIFT != CODE_BASE_SPECIAL) found.push_back({start, code});
  }
  return found;
}

// One byte of each has a code of its own.
void PutMarks(std::span<const PageRow> marks, PageRows* rows) {
  if (marks.empty()) return;
  const std::vector<PageRow> before(rows->rows().begin(), rows->rows().end());
  rows->Clear();
  size_t next = 0;
  u16 code = kNone;
  const auto copy_up_to = [&](uint32_t offset) {
    for (; next < before.size() && before[next].offset <= offset; ++next)
      rows->Append(before[next].offset, code = before[next].code);
  };
  for (const PageRow& mark : marks) {
    copy_up_to(mark.offset);
    rows->Append(mark.offset, mark.code);
    if (mark.offset + 1u < PAGE_TEXT_BYTES) rows->Append(mark.offset + 1u, code);
  }
  copy_up_to(PAGE_TEXT_BYTES);
}

}  // namespace

absl::Status MarkStarts(const ByteSource& source, std::span<const FunctionStart> starts,
                        const Machine& machine, StartContext* context, RuleEncoder* encoder,
                        PageRows* rows) {
  const std::vector<Touching> touching = FindTouching(starts, rows->rows());
  if (touching.empty()) return absl::OkStatus();
  // Often more than one of a page's functions touches the one before, so one read has them all.
  const std::optional<uint64_t> begin =
      context->OffsetOf(touching.front().start.address - kLastCallBytes);
  const uint64_t bytes = touching.back().start.page_offset - touching.front().start.page_offset;
  if (!begin) return absl::OkStatus();
  std::vector<uint8_t> text(bytes + kLastCallBytes);
  if (absl::Status status = source.ReadAt(*begin, text); !status.ok()) return status;
  Marker marker(source, machine, context, encoder);
  std::vector<PageRow> marks;
  for (const Touching& pair : touching) {
    const uint64_t at = pair.start.page_offset - touching.front().start.page_offset;
    const std::span<const uint8_t, kLastCallBytes> before(text.data() + at, kLastCallBytes);
    const u16 mark = marker.CodeOf(pair.start, pair.code, before);
    if (mark != pair.code) marks.push_back({static_cast<u16>(pair.start.page_offset), mark});
  }
  PutMarks(marks, rows);
  return absl::OkStatus();
}

void MarkAlignment(PageRows* rows) {
  const std::vector<PageRow> before(rows->rows().begin(), rows->rows().end());
  rows->Clear();
  for (size_t i = 0; i < before.size(); ++i) {
    const uint32_t end = i + 1 < before.size() ? before[i + 1].offset : PAGE_TEXT_BYTES;
    const bool is_alignment = before[i].code == kNone && end < PAGE_TEXT_BYTES &&
                              end % kFunctionAlignment == 0 &&
                              end - before[i].offset < kFunctionAlignment;
    rows->Append(before[i].offset, is_alignment ? kStart : before[i].code);
  }
}

}  // namespace stackray::cfi
