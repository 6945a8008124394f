// The wire of log records, read by protobuf's generated classes.
#include "reporter/logs/log_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reporter/proto/logs.pb.h"

namespace stackray {
namespace {

namespace otlp = opentelemetry::proto::logs::v1;
using testing::SizeIs;

TEST(LogRecord, SaysAllOfARecord) {
  const LogRecord record{.time_unix_ns = 1'790'000'000'000'000'001,
                         .observed_unix_ns = 1'790'000'000'000'000'009,
                         .is_warning = true,
                         .event_name = "stackray.report",
                         .body = "{\"a\": \"\xff\"}",
                         .attributes = {{"name", "report-h"}, {"bytes", int64_t{-3}}}};
  const std::string bytes = EncodeLogRecord("", "0.1", record);
  otlp::LogsData data;
  ASSERT_TRUE(data.ParseFromString(bytes));
  // What the classes write again is the same: nothing in it was unknown to them.
  EXPECT_EQ(data.SerializeAsString().size(), bytes.size());
  ASSERT_THAT(data.resource_logs(), SizeIs(1));
  ASSERT_THAT(data.resource_logs(0).scope_logs(), SizeIs(1));
  const otlp::ScopeLogs& scope = data.resource_logs(0).scope_logs(0);
  EXPECT_EQ(scope.scope().name(), "stackray");
  EXPECT_EQ(scope.scope().version(), "0.1");
  ASSERT_THAT(scope.log_records(), SizeIs(1));
  const otlp::LogRecord& log = scope.log_records(0);
  EXPECT_EQ(log.time_unix_nano(), 1'790'000'000'000'000'001u);
  EXPECT_EQ(log.observed_time_unix_nano(), 1'790'000'000'000'000'009u);
  EXPECT_EQ(log.severity_number(), 13u);
  EXPECT_EQ(log.severity_text(), "WARN");
  EXPECT_EQ(log.event_name(), "stackray.report");
  EXPECT_EQ(log.body().string_value(), "{\"a\": \"\xEF\xBF\xBD\"}");
  ASSERT_THAT(log.attributes(), SizeIs(2));
  EXPECT_EQ(log.attributes(0).key(), "name");
  EXPECT_EQ(log.attributes(0).value().string_value(), "report-h");
  EXPECT_EQ(log.attributes(1).value().int_value(), -3);
}

TEST(LogRecord, ALongBodyStaysWhole) {
  const LogRecord record{.body = std::string(200'000, 'x') + "\xC3\xA9"};
  otlp::LogsData data;
  ASSERT_TRUE(data.ParseFromString(EncodeLogRecord("", "0.1", record)));
  EXPECT_EQ(data.resource_logs(0).scope_logs(0).log_records(0).body().string_value(), record.body);
}

}  // namespace
}  // namespace stackray
