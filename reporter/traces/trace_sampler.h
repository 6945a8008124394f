// Which traces are recorded: OpenTelemetry's samplers, as far as they mean something for traces
// that begin here. A decision holds for the whole trace and goes along with its ids.
#ifndef STACKRAY_REPORTER_TRACES_TRACE_SAMPLER_H_
#define STACKRAY_REPORTER_TRACES_TRACE_SAMPLER_H_

#include <optional>
#include <string_view>

#include "reporter/traces/span_ids.h"

namespace stackray {

struct TraceSampler {
  double ratio = 1;  // 0 to 1: the share of traces that is recorded.

  // By the trace id alone: who is recorded at one ratio is recorded at every larger one, also by
  // OpenTelemetry's SDKs for Go and Ruby (TraceIdRatioBased on the last eight bytes).
  bool Records(const TraceId& trace) const;
  friend bool operator==(const TraceSampler&, const TraceSampler&) = default;
};

// `name` as OTEL_TRACES_SAMPLER has it: always_on, always_off, traceidratio, or one of these behind
// "parentbased_", which decides alike, because no trace here has a parent elsewhere. `ratio` counts
// for traceidratio alone. Nothing: it is none of these.
std::optional<TraceSampler> MakeTraceSampler(std::string_view name, double ratio);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_TRACES_TRACE_SAMPLER_H_
