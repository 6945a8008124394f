// What source lines may keep, and that it can become less at any time.
#include "agent/sampling/line_cache.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace stackray::test {
namespace {

void Fill(LineCache& cache, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    cache.Insert({1, i},
                 {{.function = fmt::format("function {}", i), .file = "file.cc", .line = 7}});
}

TEST(LineCache, ALowerBoundHoldsAtOnce) {
  LineCache cache(1 << 20);
  Fill(cache, 500);
  const size_t bytes = cache.bytes();
  ASSERT_GT(bytes, 20'000u);
  std::vector<SourceLine> lines;
  cache.SetMaxBytes(bytes);
  EXPECT_TRUE(cache.Find({1, 499}, &lines));  // Enough room: nothing goes.
  cache.SetMaxBytes(bytes / 2);
  EXPECT_EQ(cache.bytes(), 0u);
  EXPECT_FALSE(cache.Find({1, 499}, &lines));
  size_t most = 0;
  for (uint64_t i = 0; i < 5000; ++i) {
    cache.Insert({2, i}, {{.function = fmt::format("other {}", i)}});
    most = std::max(most, cache.bytes());
  }
  EXPECT_LE(most, bytes / 2 + 500);
  EXPECT_GT(most, bytes / 4);
}

}  // namespace
}  // namespace stackray::test
