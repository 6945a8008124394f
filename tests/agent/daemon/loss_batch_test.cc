#include "agent/daemon/loss_batch.h"

#include <gtest/gtest.h>

#include <map>

#include "reporter/check.h"
#include "tests/reporter/decoded_batch.h"

namespace stackray {
namespace {

constexpr int64_t kNow = 1'790'000'000'000'000'000;

TEST(LossBatch, OneMarkerAReason) {
  LostSamples lost{};
  lost[static_cast<size_t>(LossReason::kQueueFull)] = 7;
  lost[static_cast<size_t>(LossReason::kRejected)] = 1;
  for (const bool timestamps : {false, true}) {
    const SealedBatchPtr batch =
        MakeLossBatch({.keep_timestamps = timestamps, .host_name = "h"}, lost, kNow);
    ASSERT_NE(batch, nullptr);
    EXPECT_EQ(batch->samples, 8u);
    EXPECT_EQ(batch->lost_samples, 8u);  // Markers count nowhere as samples.
    const auto decoded = DecodeBatch(batch->bytes);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    std::map<std::string, int64_t> counts;
    for (const DecodedSample& sample : decoded->samples) {
      ASSERT_EQ(sample.frames.size(), 1u);
      counts[decoded->frames[static_cast<size_t>(sample.frames[0])].lines.at(0).function] +=
          sample.count;
    }
    EXPECT_EQ(counts,
              (std::map<std::string, int64_t>{{"[lost: queue full]", 7}, {"[lost: rejected]", 1}}));
    EXPECT_TRUE(CheckBatch(batch->bytes).empty());
  }
}

TEST(LossBatch, NothingLostIsNoBatch) {
  EXPECT_EQ(MakeLossBatch({}, LostSamples{}, kNow), nullptr);
}

}  // namespace
}  // namespace stackray
