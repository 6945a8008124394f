// The header `traceparent`, written and read; the example is W3C Trace Context's.
#include "reporter/traces/span_ids.h"

#include <gtest/gtest.h>

namespace stackray {
namespace {

constexpr char kExample[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

TEST(Traceparent, ComesBackAsItWas) {
  const std::optional<SpanIds> ids = ParseTraceparent(kExample);
  ASSERT_TRUE(ids);
  EXPECT_EQ(ids->trace[0], 0x0a);
  EXPECT_EQ(ids->span[7], 0x31);
  EXPECT_TRUE(ids->sampled);
  EXPECT_EQ(TraceparentOf(*ids), kExample);
  SpanIds unsampled = *ids;
  unsampled.sampled = false;
  EXPECT_EQ(ParseTraceparent(TraceparentOf(unsampled)), unsampled);
  EXPECT_FALSE(ParseTraceparent(TraceparentOf({})));
}

TEST(Traceparent, EveryDamageIsRefused) {
  const std::string good = kExample;
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(ParseTraceparent(good.substr(0, size))) << size;
  EXPECT_FALSE(ParseTraceparent(good + "-"));
  for (size_t i = 0; i < good.size(); ++i) {
    for (const char c : {'g', 'A', ' ', '\0', '\xff', '_'}) {
      std::string damaged = good;
      damaged[i] = c;
      EXPECT_FALSE(ParseTraceparent(damaged)) << i << ' ' << static_cast<int>(c);
    }
  }
  for (const char* text : {"00-00000000000000000000000000000000-b7ad6b7169203331-01",
                           "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
                           "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                           "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
    EXPECT_FALSE(ParseTraceparent(text)) << text;
}

// Flags of later days beside the one that is known.
TEST(Traceparent, OtherFlagsAreLeftAlone) {
  std::string text = kExample;
  text.replace(53, 2, "ff");
  EXPECT_TRUE(ParseTraceparent(text)->sampled);
  text.replace(53, 2, "fe");
  EXPECT_FALSE(ParseTraceparent(text)->sampled);
}

}  // namespace
}  // namespace stackray
