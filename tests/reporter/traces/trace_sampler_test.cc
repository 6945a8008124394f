#include "reporter/traces/trace_sampler.h"

#include <gtest/gtest.h>

#include <random>

namespace stackray {
namespace {

TraceId RandomTrace(std::mt19937& random) {
  TraceId trace;
  for (uint8_t& byte : trace) byte = static_cast<uint8_t>(random());
  return trace;
}

TEST(TraceSampler, NamesAsOpenTelemetryHasThem) {
  for (const char* before : {"", "parentbased_"}) {
    const std::string prefix = before;
    EXPECT_EQ(MakeTraceSampler(prefix + "always_on", 0.5)->ratio, 1);
    EXPECT_EQ(MakeTraceSampler(prefix + "always_off", 0.5)->ratio, 0);
    EXPECT_EQ(MakeTraceSampler(prefix + "traceidratio", 0.5)->ratio, 0.5);
  }
  for (const char* name : {"", "parentbased_", "jaeger_remote", "ALWAYS_ON", "xray"})
    EXPECT_FALSE(MakeTraceSampler(name, 1)) << name;
}

TEST(TraceSampler, KeepsTheShareThatIsAskedFor) {
  std::mt19937 random(5);
  constexpr int kTraces = 40'000;
  int kept = 0, kept_of_more = 0;
  for (int i = 0; i < kTraces; ++i) {
    const TraceId trace = RandomTrace(random);
    const bool keep = TraceSampler{.ratio = 0.25}.Records(trace);
    kept += keep;
    // Who is kept at a ratio is kept at every larger one.
    const bool keep_of_more = TraceSampler{.ratio = 0.3}.Records(trace);
    kept_of_more += keep_of_more;
    EXPECT_TRUE(!keep || keep_of_more);
    EXPECT_TRUE(TraceSampler{.ratio = 1}.Records(trace));
    EXPECT_FALSE(TraceSampler{.ratio = 0}.Records(trace));
  }
  EXPECT_NEAR(kept, kTraces * 0.25, kTraces * 0.01);
  EXPECT_NEAR(kept_of_more, kTraces * 0.3, kTraces * 0.01);
}

// OpenTelemetry's SDKs look at the last eight bytes.
TEST(TraceSampler, DecidesByTheLastEightBytes) {
  TraceId low{};
  low.fill(0xff);
  for (size_t i = 8; i < low.size(); ++i) low[i] = 0;
  TraceId high{};
  for (size_t i = 8; i < high.size(); ++i) high[i] = 0xff;
  EXPECT_TRUE(TraceSampler{.ratio = 0.001}.Records(low));
  EXPECT_FALSE(TraceSampler{.ratio = 0.999}.Records(high));
}

}  // namespace
}  // namespace stackray
