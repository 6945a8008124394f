// The span of a capture (docs/tracing.md).
#ifndef STACKRAY_AGENT_CAPTURES_CAPTURE_SPANS_H_
#define STACKRAY_AGENT_CAPTURES_CAPTURE_SPANS_H_

#include <cstdint>
#include <string_view>

#include "agent/captures/capture_record.h"
#include "reporter/traces/tracer.h"

namespace stackray {

// Ends the span of a capture that this agent or an earlier one began; its record has the ids.
// `tracer`: nullptr, or a record without ids: nothing happens. A `reason` that is no kReason… is
// the text of an error, which no span holds.
void EndSpan(Tracer* tracer, const CaptureRecord& record, int64_t ended_unix_ns,
             std::string_view reason);

}  // namespace stackray

#endif  // STACKRAY_AGENT_CAPTURES_CAPTURE_SPANS_H_
