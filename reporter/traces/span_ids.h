// Who a span is: the ids of OpenTelemetry's traces, as W3C Trace Context (level 1) has them.
#ifndef STACKRAY_REPORTER_TRACES_SPAN_IDS_H_
#define STACKRAY_REPORTER_TRACES_SPAN_IDS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stackray {

using TraceId = std::array<uint8_t, 16>;
using SpanId = std::array<uint8_t, 8>;

// All zero: no span.
struct SpanIds {
  TraceId trace{};
  SpanId span{};
  bool sampled = false;  // False: the span is not recorded, and neither are its children.

  bool valid() const { return trace != TraceId{} && span != SpanId{}; }
  friend bool operator==(const SpanIds&, const SpanIds&) = default;
};

// The header `traceparent`: "00-TRACE-SPAN-FLAGS" in lower-case hex.
std::string TraceparentOf(const SpanIds& context);

// Input: any bytes. Nothing unless they are a valid header of version 00, written as above.
std::optional<SpanIds> ParseTraceparent(std::string_view text);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_TRACES_SPAN_IDS_H_
