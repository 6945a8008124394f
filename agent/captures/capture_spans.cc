#include "agent/captures/capture_spans.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace stackray {

void EndSpan(Tracer* tracer, const CaptureRecord& record, int64_t ended_unix_ns,
             std::string_view reason) {
  if (tracer == nullptr || !record.span.valid()) return;
  constexpr std::string_view kKnown[] = {kReasonFinished, kReasonStopped, kReasonFull,
                                         kReasonAgentEnded};
  const bool is_known = std::ranges::find(kKnown, reason) != std::end(kKnown);
  uint64_t lost = 0;
  for (const auto& [why, samples] : record.lost) lost += samples;
  Span span{.context = record.span,
            .name = "capture",
            .start_unix_ns = record.started_unix_ns,
            .end_unix_ns = ended_unix_ns,
            .attributes = {{"stackray.capture.name", record.spec.name},
                           {"stackray.capture.end", std::string(is_known ? reason : "other")},
                           {"stackray.capture.samples", static_cast<int64_t>(record.samples)},
                           {"stackray.capture.lost", static_cast<int64_t>(lost)}}};
  if (reason == kReasonAgentEnded) span.problem = "no agent ran when it was to end";
  tracer->End(std::move(span));
}

}  // namespace stackray
