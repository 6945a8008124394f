// The wire of spans, read by protobuf's generated classes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reporter/proto/trace.pb.h"
#include "reporter/traces/span.h"

namespace stackray {
namespace {

namespace otlp = opentelemetry::proto::trace::v1;
using testing::SizeIs;

Span Example() {
  return {.context = {.trace = {1, 2, 3}, .span = {4, 5}, .sampled = true},
          .parent = {6},
          .name = "attempt",
          .kind = SpanKind::kClient,
          .start_unix_ns = 1'790'000'000'000'000'001,
          .end_unix_ns = 1'790'000'000'000'000'009,
          .attributes = {{"number", int64_t{-3}},
                         {"zero", int64_t{0}},
                         {"truth", false},
                         {"text", std::string("a\xff"
                                              "b")}},
          .link = {.trace = {8}, .span = {9}, .sampled = true},
          .problem = "rejected"};
}

otlp::TracesData Decoded(const std::vector<Span>& spans) {
  otlp::TracesData data;
  EXPECT_TRUE(data.ParseFromString(EncodeSpans("", "0.1", spans)));
  // What the classes write again is the same: nothing in it was unknown to them.
  EXPECT_EQ(data.SerializeAsString().size(), EncodeSpans("", "0.1", spans).size());
  return data;
}

TEST(SpanEncode, SaysAllOfASpan) {
  const otlp::TracesData data = Decoded({Example()});
  ASSERT_THAT(data.resource_spans(), SizeIs(1));
  ASSERT_THAT(data.resource_spans(0).scope_spans(), SizeIs(1));
  const otlp::ScopeSpans& scope = data.resource_spans(0).scope_spans(0);
  EXPECT_EQ(scope.scope().name(), "stackray");
  EXPECT_EQ(scope.scope().version(), "0.1");
  ASSERT_THAT(scope.spans(), SizeIs(1));
  const otlp::Span& span = scope.spans(0);
  EXPECT_EQ(span.trace_id(), std::string("\1\2\3") + std::string(13, '\0'));
  EXPECT_EQ(span.span_id(), std::string("\4\5") + std::string(6, '\0'));
  EXPECT_EQ(span.parent_span_id(), std::string("\6") + std::string(7, '\0'));
  EXPECT_EQ(span.name(), "attempt");
  EXPECT_EQ(span.kind(), 3u);
  EXPECT_EQ(span.start_time_unix_nano(), 1'790'000'000'000'000'001u);
  EXPECT_EQ(span.end_time_unix_nano(), 1'790'000'000'000'000'009u);
  EXPECT_EQ(span.flags(), 0x101u);
  EXPECT_EQ(span.status().code(), 2);
  EXPECT_EQ(span.status().message(), "rejected");
  ASSERT_THAT(span.links(), SizeIs(1));
  EXPECT_EQ(span.links(0).trace_id(), std::string("\10") + std::string(15, '\0'));
  EXPECT_EQ(span.links(0).span_id(), std::string("\11") + std::string(7, '\0'));
  EXPECT_EQ(span.links(0).flags(), 0x101u);
}

TEST(SpanEncode, KeepsEachKindOfValue) {
  const otlp::Span span = Decoded({Example()}).resource_spans(0).scope_spans(0).spans(0);
  ASSERT_THAT(span.attributes(), SizeIs(4));
  EXPECT_EQ(span.attributes(0).key(), "number");
  EXPECT_EQ(span.attributes(0).value().int_value(), -3);
  EXPECT_TRUE(span.attributes(1).value().has_int_value());  // Written though it is 0.
  EXPECT_TRUE(span.attributes(2).value().has_bool_value());
  EXPECT_EQ(span.attributes(3).value().string_value(),
            "a\xef\xbf\xbd"
            "b");  // Valid UTF-8.
}

TEST(SpanEncode, LeavesOutWhatIsNot) {
  const otlp::Span span =
      Decoded(
          {{.context = Example().context, .name = "batch", .start_unix_ns = 1, .end_unix_ns = 2}})
          .resource_spans(0)
          .scope_spans(0)
          .spans(0);
  EXPECT_EQ(span.parent_span_id(), "");
  EXPECT_FALSE(span.has_status());
  EXPECT_THAT(span.links(), SizeIs(0));
  EXPECT_EQ(span.kind(), 1u);
}

// The clock was set back.
TEST(SpanEncode, NoSpanEndsBeforeItStarts) {
  Span span = Example();
  span.end_unix_ns = span.start_unix_ns - 5;
  const otlp::Span back = Decoded({span}).resource_spans(0).scope_spans(0).spans(0);
  EXPECT_EQ(back.end_time_unix_nano(), back.start_time_unix_nano());
}

TEST(SpanEncode, HasOneResourceForAll) {
  otlp::TracesData data;
  const std::string resource = {0x0a, 0x05, 0x0a, 0x01, 'k', 0x12, 0x00};
  ASSERT_TRUE(data.ParseFromString(EncodeSpans(resource, "1", {Example(), Example(), Example()})));
  ASSERT_THAT(data.resource_spans(), SizeIs(1));
  EXPECT_EQ(data.resource_spans(0).resource().attributes(0).key(), "k");
  EXPECT_THAT(data.resource_spans(0).scope_spans(0).spans(), SizeIs(3));
}

}  // namespace
}  // namespace stackray
