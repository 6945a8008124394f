#include "agent/sampling/markers.h"

#include <fmt/format.h>

#include <string_view>

#include "bpf/shared/end_reason.h"
#include "profile/stack_end.h"
#include "reporter/export/delivery_counts.h"

namespace stackray {
namespace {

std::string_view LossText(uint64_t detail) {
  if (detail >= kFirstDeliveryLoss && detail < kFirstDeliveryLoss + kLossReasons)
    return LossReasonName(static_cast<LossReason>(detail - kFirstDeliveryLoss));
  switch (static_cast<SamplingLoss>(detail)) {
    case SamplingLoss::kRingFull: return "ring full";
    case SamplingLoss::kScratchBusy: return "scratch busy";
    case SamplingLoss::kDamagedRecord: return "damaged record";
    case SamplingLoss::kNotStored: return "not stored";
    case SamplingLoss::kTooManyWaits: return "too many open waits";
    case SamplingLoss::kCaptureBudget: return "capture budget";
  }
  return "unknown reason";
}

std::string_view ReasonOf(MarkerKind kind, uint64_t detail) {
  switch (kind) {
    case MarkerKind::kLost: return LossText(detail);
    case MarkerKind::kTruncated: return TruncationReason(detail);
    case MarkerKind::kKernelCut: return "too deep";
    default: return {};
  }
}

std::string TextOf(const Marker& marker) {
  switch (marker.kind) {
    case MarkerKind::kLost: return fmt::format("[lost: {}]", marker.reason);
    case MarkerKind::kTruncated: return fmt::format("[truncated: {}]", marker.reason);
    case MarkerKind::kKernelCut: return "[truncated: kernel stack too deep]";
    case MarkerKind::kNoStack: return "[no stack]";
    case MarkerKind::kOutside: return "[outside this pid namespace]";
    case MarkerKind::kUnknownCode: return "[unknown jit]";
    case MarkerKind::kUnmapped: return "[unmapped code]";
    case MarkerKind::kBetween: return "[native stack of these functions]";
    case MarkerKind::kUnsupported: return "[unsupported runtime]";
    case MarkerKind::kLeftAlone: return std::string(kLeftAloneText);
    default: return "[unknown marker]";
  }
}

}  // namespace

std::string_view TruncationReason(uint64_t end) {
  switch (end) {
    case END_NULL_FP: return "frame pointer is 0";
    case END_DOUBTED: return "a caller that was guessed";
    case END_GUESSED_NULL_RA: return "guessed return address is 0";
    case END_COMPAT_TASK: return "32-bit code";
    case END_READ_FAULT: return "stack not readable";
    case END_NO_MAPPING: return "return address outside all mappings";
    case END_NOT_EXECUTABLE: return "return address in data";
    case END_UNKNOWN_FILE: return "file not loaded";
    case END_MISSING_PAGE: return "table not loaded";
    case END_NO_PROGRESS: return "frame does not end above its callee";
    case END_BAD_FP: return "no frame record";
    case END_UNSUPPORTED_RULE: return "unsupported unwind rule";
    case END_TOO_DEEP: return "too deep";
    case END_TOO_MANY_RANGES: return "too many mappings";
    case END_BUSY: return "mappings changed meanwhile";
    case END_BAD_TABLE: return "damaged table";
    case END_TOO_SLOW: return "walk took too long";
  }
  return "unknown reason";
}

std::string_view EndName(uint32_t end) {
  switch (end) {
    case END_UNDEFINED_RA: return "undefined_return_address";
    case END_NULL_RA: return "null_return_address";
    case END_NULL_FP: return "null_frame_pointer";
    case END_NULL_RECORD: return "null_frame_record";
    case END_KERNEL_THREAD: return "kernel_thread";
    case END_NO_ADDRESS_SPACE: return "no_address_space";
    case END_COMPAT_TASK: return "compat_task";
    case END_OUTSIDE_NAMESPACE: return "outside_pid_namespace";
    case END_READ_FAULT: return "read_fault";
    case END_NO_MAPPING: return "no_mapping";
    case END_NOT_EXECUTABLE: return "not_executable";
    case END_UNKNOWN_FILE: return "unknown_file";
    case END_MISSING_PAGE: return "missing_page";
    case END_NO_PROGRESS: return "no_progress";
    case END_BAD_FP: return "bad_frame_pointer";
    case END_UNSUPPORTED_RULE: return "unsupported_rule";
    case END_TOO_DEEP: return "too_deep";
    case END_TOO_MANY_RANGES: return "too_many_ranges";
    case END_BUSY: return "busy";
    case END_BAD_TABLE: return "bad_table";
    case END_TOO_SLOW: return "too_slow";
    case END_DOUBTED: return "doubted_caller";
    case END_GUESSED_NULL_RA: return "guessed_null_return_address";
  }
  return "unknown";
}

bool IsCompleteEnd(uint32_t end) { return ClassOfEnd(end) == StackEnd::kComplete; }

bool HasUserStack(uint32_t end) {
  return ClassOfEnd(end) != StackEnd::kNoStack && ClassOfEnd(end) != StackEnd::kOutside;
}

std::optional<FrameKey> MarkerForEnd(uint32_t end) {
  if (end == END_OUTSIDE_NAMESPACE) return MarkerKey(MarkerKind::kOutside);
  if (IsCompleteEnd(end) || !HasUserStack(end)) return std::nullopt;
  return MarkerKey(MarkerKind::kTruncated, end);
}

FrameSymbols MarkerSymbols(const FrameKey& marker) {
  FrameSymbols symbols{.type = FrameType::kMarker};
  symbols.marker.kind = static_cast<MarkerKind>(marker.owner());
  symbols.marker.reason = ReasonOf(symbols.marker.kind, marker.word0);
  symbols.lines.push_back({.function = TextOf(symbols.marker)});
  return symbols;
}

}  // namespace stackray
