// Where traces go, and which of them are recorded.
#include "agent/daemon/traces_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/settings/command_line.h"
#include "reporter/export/signal_traits.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Words = std::vector<std::string>;

struct Outcome {
  std::string error;
  std::optional<TracesPlan> plan;
  std::vector<std::string> warnings;
  std::string described;

  std::string url() const {
    return plan->receiver.settings.endpoint.Url(TraitsOf(Signal::kTraces));
  }
};

Outcome Plan(const Environment& environment, Words words = {}) {
  words.insert(words.begin(), "agent");
  const auto line = ParseCommandLine(words, environment);
  if (!line.ok()) return {.error = std::string(line.status().message())};
  Outcome outcome{.warnings = line->warnings, .described = DescribeSettings(line->effective)};
  auto plan = PlanTraces(std::get<AgentSettings>(line->verb));
  if (plan.ok()) {
    outcome.plan = *std::move(plan);
  } else {
    outcome.error = std::string(plan.status().message());
  }
  return outcome;
}

TEST(TracesPlan, IsOffUnlessItIsAskedFor) {
  EXPECT_FALSE(Plan({}).plan);
  EXPECT_FALSE(Plan({{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c:4317"}}).plan);
  EXPECT_FALSE(Plan({{"OTEL_TRACES_EXPORTER", "none"}}).plan);
  EXPECT_FALSE(Plan({{"OTEL_TRACES_EXPORTER", ""}}).plan);
  EXPECT_TRUE(Plan({{"OTEL_TRACES_EXPORTER", "otlp"}}).plan);
  EXPECT_TRUE(Plan({}, {"--traces-exporter", "otlp"}).plan);
}

// As the specification wants it of variables; a flag that is wrong is an error.
TEST(TracesPlan, WrongVariablesAreWarnedOfAndNotUsed) {
  const Outcome console = Plan({{"OTEL_TRACES_EXPORTER", "console"}});
  EXPECT_FALSE(console.plan);
  EXPECT_THAT(console.warnings, ElementsAre(HasSubstr("OTEL_TRACES_EXPORTER is not used")));
  const Outcome sampler = Plan({{"OTEL_TRACES_EXPORTER", "otlp"},
                                {"OTEL_TRACES_SAMPLER", "xray"},
                                {"OTEL_TRACES_SAMPLER_ARG", "7"}});
  ASSERT_TRUE(sampler.plan);
  EXPECT_EQ(sampler.plan->sampler.ratio, 1);
  EXPECT_EQ(sampler.warnings.size(), 2u);
  EXPECT_THAT(Plan({}, {"--traces-exporter", "console"}).error, HasSubstr("--traces-exporter: "));
}

TEST(TracesPlan, SdkDisabledIsAboutTracesAlone) {
  const Environment on = {{"OTEL_TRACES_EXPORTER", "otlp"},
                          {"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4317"}};
  for (const auto& [text, disabled] : {std::pair<const char*, bool>{"true", true},
                                       {"TRUE", true},
                                       {"false", false},
                                       {"", false},
                                       {"1", false}}) {
    Environment environment = on;
    environment["OTEL_SDK_DISABLED"] = text;
    const Outcome outcome = Plan(environment);
    EXPECT_EQ(outcome.plan.has_value(), !disabled) << text;
    EXPECT_EQ(outcome.warnings.empty(), !disabled && std::string(text) != "1") << text;
  }
}

TEST(TracesPlan, ItsOwnVariablesBeatTheGeneralOnes) {
  const Environment general = {{"OTEL_TRACES_EXPORTER", "otlp"},
                               {"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"},
                               {"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:1/base"},
                               {"OTEL_EXPORTER_OTLP_HEADERS", "a=b"},
                               {"OTEL_EXPORTER_OTLP_PROFILES_HEADERS", "only=profiles"}};
  EXPECT_EQ(Plan(general).url(), "http://c:1/base/v1/traces");
  EXPECT_EQ(Plan(general).plan->receiver.settings.headers, (HeaderList{{"a", "b"}}));
  Environment own = general;
  own["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = "http://t:2/as/it/is";
  own["OTEL_EXPORTER_OTLP_TRACES_HEADERS"] = "c=d";
  own["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT"] = "2500";
  const Outcome outcome = Plan(own);
  EXPECT_EQ(outcome.url(), "http://t:2/as/it/is");
  EXPECT_EQ(outcome.plan->receiver.settings.headers, (HeaderList{{"c", "d"}}));
  EXPECT_EQ(outcome.plan->receiver.settings.timeout, std::chrono::milliseconds(2500));
  EXPECT_THAT(outcome.described, Not(HasSubstr("c=d")));
  EXPECT_EQ(Plan(own, {"--traces-endpoint", "http://f:3"}).url(), "http://f:3/v1/traces");
}

TEST(TracesPlan, GoesWithTheFirstReceiverWhereItHasNoAddress) {
  const Words on = {"--traces-exporter", "otlp", "--endpoint", "https://c:9", "--headers", "k=v"};
  const Outcome beside = Plan({}, on);
  ASSERT_TRUE(beside.plan) << beside.error;
  EXPECT_EQ(beside.plan->receiver.settings.endpoint.Authority(), "c:9");
  EXPECT_TRUE(beside.plan->receiver.settings.endpoint.tls);
  EXPECT_EQ(beside.plan->receiver.settings.headers, (HeaderList{{"k", "v"}}));
  EXPECT_THAT(beside.warnings, IsEmpty());
  Words more = on;
  more.insert(more.end(), {"--traces-timeout", "3s"});
  EXPECT_THAT(Plan({}, more).warnings, ElementsAre(HasSubstr("--traces-timeout is not used")));
  EXPECT_EQ(Plan({}, {"--traces-exporter", "otlp"}).plan->receiver.settings.endpoint.Authority(),
            "localhost:4317");
}

TEST(TracesPlan, AnAddressOfProfilesAloneIsNotGuessedFrom) {
  const Outcome outcome =
      Plan({{"OTEL_TRACES_EXPORTER", "otlp"},
            {"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"},
            {"OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", "http://p:1/whole?k=s3c"}});
  EXPECT_THAT(outcome.error, HasSubstr("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"));
  EXPECT_THAT(outcome.error + outcome.described, Not(HasSubstr("s3c")));
}

TEST(TracesPlan, SamplersAndLimits) {
  const Outcome outcome = Plan({{"OTEL_TRACES_EXPORTER", "otlp"},
                                {"OTEL_TRACES_SAMPLER", "parentbased_traceidratio"},
                                {"OTEL_TRACES_SAMPLER_ARG", "0.25"}},
                               {"--state-dir", "/s"});
  ASSERT_TRUE(outcome.plan);
  EXPECT_EQ(outcome.plan->sampler.ratio, 0.25);
  EXPECT_EQ(outcome.plan->receiver.spool_directory, "/s/traces");
  EXPECT_EQ(outcome.plan->receiver.signal, Signal::kTraces);
  EXPECT_EQ(Plan({{"OTEL_TRACES_EXPORTER", "otlp"}}, {"--spool-size", "0"})
                .plan->receiver.spool_directory,
            "");
}

}  // namespace
}  // namespace stackray
