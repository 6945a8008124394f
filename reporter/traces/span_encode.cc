// ExportTraceServiceRequest {1 resource_spans}, ResourceSpans {1 resource, 2 scope_spans},
// ScopeSpans {1 scope, 2 spans}, InstrumentationScope {1 name, 2 version}.
#include <algorithm>
#include <utility>

#include "reporter/traces/span.h"
#include "reporter/valid_text.h"
#include "reporter/wire/writer.h"

namespace stackray {
namespace {

// Of Span.flags and Link.flags: W3C's own, and that it is known whether the parent is elsewhere.
constexpr uint32_t kSampledFlag = 1, kRemoteIsKnown = 0x100;

template <size_t kSize>
std::string_view View(const std::array<uint8_t, kSize>& id) {
  return {reinterpret_cast<const char*>(id.data()), id.size()};
}

// Field 16 has a tag of two bytes, which AppendTag() does not write.
void AppendFlags(int field, std::string* out) {
  wire::AppendVarint(
      static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(wire::Type::kFixed32), out);
  const uint32_t flags = kSampledFlag | kRemoteIsKnown;
  for (int shift = 0; shift < 32; shift += 8) *out += static_cast<char>(flags >> shift);
}

void AppendTime(int field, int64_t unix_ns, std::string* out) {
  wire::AppendTag(field, wire::Type::kFixed64, out);
  wire::AppendFixed64(static_cast<uint64_t>(unix_ns), out);
}

// KeyValue {1 key, 2 value}, AnyValue {1 string, 2 bool, 3 int}; a member of a oneof is written
// even where it is 0.
std::string EncodeAttribute(const SpanAttribute& attribute) {
  std::string value, result;
  if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    std::string scratch;
    wire::AppendBytes(1, ValidText(*text, &scratch), &value);
  } else if (const auto* truth = std::get_if<bool>(&attribute.value)) {
    wire::AppendTag(2, wire::Type::kVarint, &value);
    wire::AppendVarint(*truth ? 1 : 0, &value);
  } else {
    wire::AppendTag(3, wire::Type::kVarint, &value);
    wire::AppendVarint(static_cast<uint64_t>(std::get<int64_t>(attribute.value)), &value);
  }
  wire::AppendBytes(1, attribute.key.text(), &result);
  wire::AppendBytes(2, value, &result);
  return result;
}

// Link {1 trace_id, 2 span_id, 6 flags}.
std::string EncodeLink(const SpanIds& to) {
  std::string link;
  wire::AppendBytes(1, View(to.trace), &link);
  wire::AppendBytes(2, View(to.span), &link);
  AppendFlags(6, &link);
  return link;
}

// Span {1 trace_id, 2 span_id, 4 parent_span_id, 5 name, 6 kind, 7 start, 8 end, 9 attributes,
// 13 links, 15 status {2 message, 3 code: 2 is an error}, 16 flags}.
std::string EncodeSpan(const Span& span) {
  std::string out;
  wire::AppendBytes(1, View(span.context.trace), &out);
  wire::AppendBytes(2, View(span.context.span), &out);
  if (span.parent != SpanId{}) wire::AppendBytes(4, View(span.parent), &out);
  wire::AppendBytes(5, span.name.text(), &out);
  wire::AppendNumber(6, static_cast<uint64_t>(span.kind), &out);
  AppendTime(7, span.start_unix_ns, &out);
  AppendTime(8, std::max(span.start_unix_ns, span.end_unix_ns), &out);
  for (const SpanAttribute& attribute : span.attributes)
    wire::AppendBytes(9, EncodeAttribute(attribute), &out);
  if (span.link.valid()) wire::AppendBytes(13, EncodeLink(span.link), &out);
  if (!span.problem.empty()) {
    std::string status;
    wire::AppendBytes(2, span.problem.text(), &status);
    wire::AppendNumber(3, 2, &status);
    wire::AppendBytes(15, status, &out);
  }
  AppendFlags(16, &out);
  return out;
}

}  // namespace

std::string EncodeSpans(std::string_view resource, std::string_view agent_version,
                        const std::vector<Span>& spans) {
  std::string scope, scope_spans, resource_spans, request;
  wire::AppendBytes(1, "stackray", &scope);
  wire::AppendBytes(2, agent_version, &scope);
  wire::AppendBytes(1, scope, &scope_spans);
  for (const Span& span : spans) wire::AppendBytes(2, EncodeSpan(span), &scope_spans);
  wire::AppendBytes(1, resource, &resource_spans);
  wire::AppendBytes(2, scope_spans, &resource_spans);
  wire::AppendBytes(1, resource_spans, &request);
  return request;
}

}  // namespace stackray
