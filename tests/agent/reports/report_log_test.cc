#include "agent/reports/report_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace stackray {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Pair;
using Value = std::variant<int64_t, std::string>;

ReportManifest Manifest() {
  ReportManifest manifest;
  manifest.name = "report-h-1-crash";
  manifest.trigger = "crash";
  manifest.reason = "process 7 app ends by SIGSEGV";
  manifest.unix_ms = 1'790'000'000'123;
  manifest.is_automatic = true;
  manifest.last_stack = {"Sum", "Checkout", "main"};
  return manifest;
}

TEST(ReportLog, SaysWhatMattersMost) {
  const LogRecord record = LogRecordOf(Manifest(), 4096, "s3://bucket", 5);
  EXPECT_EQ(record.time_unix_ns, 1'790'000'000'123'000'000);
  EXPECT_EQ(record.observed_unix_ns, 5);
  EXPECT_TRUE(record.is_warning);
  EXPECT_THAT(record.attributes,
              Contains(Pair("stackray.report.summary",
                            Value("crash: process 7 app ends by SIGSEGV; last stack: Sum < "
                                  "Checkout < main"))));
  EXPECT_THAT(record.attributes, Contains(Pair("stackray.report.bytes", Value(int64_t{4096}))));
  EXPECT_THAT(record.attributes,
              Contains(Pair("stackray.capture.name", Value("report-h-1-crash"))));
  EXPECT_THAT(record.attributes, Contains(Pair("stackray.report.upload", Value("s3://bucket"))));
  EXPECT_EQ(nlohmann::json::parse(record.body)["last_stack"][1], "Checkout");
}

TEST(ReportLog, ALongManifestLeavesItsListsOut) {
  ReportManifest manifest = Manifest();
  for (int i = 0; i < 10'000; ++i) manifest.entries.push_back({std::string(50, 'a'), 1});
  const LogRecord record = LogRecordOf(manifest, 0, "", 0);
  EXPECT_LE(record.body.size(), size_t{256} << 10);
  EXPECT_THAT(record.body, HasSubstr("\"cut\":true"));
  EXPECT_EQ(nlohmann::json::parse(record.body)["name"], "report-h-1-crash");
}

TEST(ReportLog, AServicesNameIsTheProcessesOwnWord) {
  ReportManifest manifest;
  manifest.target = "service shop (the processes' own word)";
  EXPECT_EQ(manifest.Summary().find("shop"), std::string::npos);
  manifest.is_target_claimed = true;
  EXPECT_THAT(manifest.Summary(), HasSubstr("of service shop (the processes' own word)"));
  EXPECT_EQ(manifest.ToJson()["asked"]["target_is_claimed"], true);
}

TEST(ReportLog, ALongLastStackIsShortInTheSummary) {
  ReportManifest manifest = Manifest();
  manifest.last_stack.assign(64, std::string(1000, 'x'));
  EXPECT_LT(manifest.Summary().size(), 1200u);
}

TEST(ReportLog, ALastStackBeginsBelowTheHandlerThatGaveUp) {
  ReportManifest manifest = Manifest();
  manifest.last_stack = {"raise", "abort", "report_and_die", "__restore_rt", "Read", "main"};
  EXPECT_THAT(manifest.Summary(), HasSubstr("last stack: [a signal's handler] < Read < main"));
  manifest.last_stack = {"raise", "__restore_rt"};
  EXPECT_THAT(manifest.Summary(), HasSubstr("last stack: raise < __restore_rt"));
}

}  // namespace
}  // namespace stackray
