// A span that has ended, and what it may say.
//
// Names, keys and problems are literals of this program: a text from outside does not compile
// there. The few values that are text are settings (a receiver's name and address, a capture's
// name) and words of this program; whoever adds one looks for secrets first (docs/tracing.md).
#ifndef STACKRAY_REPORTER_TRACES_SPAN_H_
#define STACKRAY_REPORTER_TRACES_SPAN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "reporter/traces/span_ids.h"

namespace stackray {

class Literal {
 public:
  consteval Literal() = default;
  template <size_t kSize>
  consteval Literal(const char (&text)[kSize]) : text_(text, kSize - 1) {}  // NOLINT
  std::string_view text() const { return text_; }
  bool empty() const { return text_.empty(); }

 private:
  std::string_view text_;
};

struct SpanAttribute {
  Literal key;
  std::variant<int64_t, bool, std::string> value;
};

enum class SpanKind : uint8_t { kInternal = 1, kClient = 3 };  // As OTLP numbers them.

struct Span {
  SpanIds context;
  SpanId parent{};  // Zero: the root of its trace.
  Literal name;
  SpanKind kind = SpanKind::kInternal;
  int64_t start_unix_ns = 0, end_unix_ns = 0;
  std::vector<SpanAttribute> attributes;  // Different keys.
  SpanIds link{};                         // Not valid: none.
  Literal problem;                        // Not empty: it failed, and this is its status.
};

// The body of an ExportTraceServiceRequest with one resource, whose encoded message is given.
// Layout: opentelemetry-proto 1.10, trace/v1/trace.proto. A span that ends before it starts,
// because the clock was set back, ends when it starts.
std::string EncodeSpans(std::string_view resource, std::string_view agent_version,
                        const std::vector<Span>& spans);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_TRACES_SPAN_H_
