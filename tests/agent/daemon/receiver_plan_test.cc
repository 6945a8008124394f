// Settings become plans; what is wrong names the place where it was said.
#include "agent/daemon/receiver_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "agent/settings/command_line.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

using Words = std::vector<std::string>;

absl::StatusOr<std::vector<ReceiverPlan>> Plan(const Words& words,
                                               const Environment& environment = {}) {
  const auto line = ParseCommandLine(words, environment);
  if (!line.ok()) return line.status();
  return PlanReceivers(std::get<AgentSettings>(line->verb));
}
std::string Error(const Words& words, const Environment& environment = {}) {
  const auto plans = Plan(words, environment);
  return plans.ok() ? "no error" : std::string(plans.status().message());
}
std::string File(const std::string& name, const std::string& text) {
  static const test::TemporaryDirectory directory;
  return directory.Write(name, text);
}

TEST(ReceiverPlan, ErrorsNameTheFlagTheVariableOrTheFilesKey) {
  const std::string wrong = "ftp://collector:1";
  EXPECT_THAT(Error({"agent", "--endpoint", wrong}), StartsWith("--endpoint: "));
  EXPECT_THAT(Error({"agent"}, {{"STACKRAY_ENDPOINT", wrong}}), StartsWith("STACKRAY_ENDPOINT: "));
  EXPECT_THAT(Error({"agent"}, {{"OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", wrong}}),
              StartsWith("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT: "));
  const std::string flat = File("flat.yaml", "page: on\nendpoint: " + wrong + "\n");
  EXPECT_THAT(Error({"agent", "--config", flat}), StartsWith(flat + ":2: endpoint: "));
  const std::string list = File("plans.yaml",
                                "receivers:\n  - endpoint: http://a\n  - name: b\n"
                                "    endpoint: https://b\n    certificate: /nonexistent.pem\n");
  EXPECT_THAT(Error({"agent", "--config", list}), StartsWith(list + ":5: certificate: "));
  EXPECT_THAT(Error({"agent", "--endpoint", "http://a"}, {{"OTEL_EXPORTER_OTLP_TIMEOUT", "10s"}}),
              StartsWith("OTEL_EXPORTER_OTLP_TIMEOUT: "));
  EXPECT_THAT(Error({"agent", "--endpoint", "http://a", "--headers", "=="}),
              StartsWith("--headers: "));
}

TEST(ReceiverPlan, SaysWhereBatchesGoAndHowOften) {
  const auto plans = Plan({"agent", "--endpoint", "http://collector:4317", "--state-dir", "/s"});
  ASSERT_TRUE(plans.ok()) << plans.status();
  EXPECT_EQ(DescribePlan(plans->at(0), 15'000),
            "receiver otlp: a batch about every 15 s by gRPC to http://collector:4317; while it is "
            "away, batches wait on disk (512 MiB, 360 min, /s/spool)");
  const auto http = Plan({"agent", "--protocol", "http/protobuf", "--spool-size", "0"},
                         {{"OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", "https://c:1/x?token=t"}});
  ASSERT_TRUE(http.ok()) << http.status();
  EXPECT_THAT(DescribePlan(http->at(0), 500),
              testing::AllOf(HasSubstr("every 0.5 s by HTTP to https://c:1/x;"),
                             HasSubstr("in memory (32 MiB)"), testing::Not(HasSubstr("token"))));
}

// A signal's own endpoint is used as it stands, the generic one is a base.
TEST(ReceiverPlan, OtelVariablesKeepTheirMeaning) {
  const Environment http = {{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"},
                            {"OTEL_EXPORTER_OTLP_TIMEOUT", "2500"},
                            {"OTEL_EXPORTER_OTLP_HEADERS", "a=b%20c"}};
  Environment generic = http, signal = http;
  generic["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://c:1/base";
  signal["OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT"] = "http://c:1/whole";
  const auto base = Plan({"agent"}, generic), whole = Plan({"agent"}, signal);
  ASSERT_TRUE(base.ok() && whole.ok()) << base.status() << whole.status();
  EXPECT_EQ(base->at(0).settings.endpoint.http_path, "/base/v1development/profiles");
  EXPECT_EQ(whole->at(0).settings.endpoint.http_path, "/whole");
  EXPECT_EQ(base->at(0).settings.timeout, std::chrono::milliseconds(2500));
  EXPECT_EQ(base->at(0).settings.headers, (HeaderList{{"a", "b c"}}));
}

TEST(ReceiverPlan, OneReceiverTwiceIsRefused) {
  const std::string list =
      File("same.yaml",
           "receivers:\n  - endpoint: http://a:1\n  - name: b\n    endpoint: a:1\n"
           "    insecure: true\n");
  EXPECT_THAT(Error({"agent", "--config", list}),
              HasSubstr("the receivers a-1 and b are the same one"));
}

TEST(ReceiverPlan, WhatChangesAPlan) {
  const std::string pem = File("plan.pem", "-----BEGIN CERTIFICATE-----\n");
  const Words words = {"agent", "--endpoint", "https://a", "--certificate", pem};
  const auto first = Plan(words);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(*first, *Plan(words));
  Words other = words;
  other.insert(other.end(), {"--frequency", "99", "--page"});
  EXPECT_EQ(*first, *Plan(other));  // None of a receiver's business.
  for (const Words& change : {Words{"--timeout", "3s"},
                              {"--headers", "a=b"},
                              {"--queue-size", "9MiB"},
                              {"--spool-size", "0"},
                              {"--compression", "none"}}) {
    Words changed = words;
    changed.insert(changed.end(), change.begin(), change.end());
    EXPECT_NE(*first, *Plan(changed)) << change[0];
  }
  // This path, renewed.
  ASSERT_EQ(unlink(pem.c_str()), 0);
  File("plan.pem", "-----BEGIN CERTIFICATE-----\nnew\n");
  EXPECT_NE(*first, *Plan(words));
}

}  // namespace
}  // namespace stackray
