#include "agent/daemon/loss_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stackray {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kSecond = 1'000'000'000;

class LossLogTest : public testing::Test {
 protected:
  std::vector<std::string> At(uint64_t seconds, uint64_t queue_full, uint64_t ring_full = 0,
                              bool at_the_end = false) {
    AgentSnapshot snapshot;
    snapshot.boot_time_ns = seconds * kSecond;
    snapshot.session.counts.kernel.value[COUNT_RING_FULL] = ring_full;
    snapshot.takers.push_back(
        {.name = "otlp", .lost = {{"ring full", ring_full}, {"queue full", queue_full}}});
    snapshot.takers.push_back({.name = "history", .lost = {{"ring full", ring_full}}});
    std::vector<std::string> texts;
    for (const LossLog::Line& line : log_.Look(snapshot, at_the_end)) texts.push_back(line.text);
    return texts;
  }
  LossLog log_;
};

TEST_F(LossLogTest, OneLineWhenALossBeginsAndOneWhenItHasEnded) {
  EXPECT_THAT(At(100, 0), IsEmpty());
  EXPECT_THAT(At(102, 40),
              ElementsAre("receiver otlp: samples are being lost: queue full (40 so far); "
                          "--queue-size, or a spool on disk (--spool-size), holds more"));
  EXPECT_THAT(At(104, 90), IsEmpty());
  EXPECT_THAT(At(150, 11'341), IsEmpty());
  EXPECT_THAT(At(209, 11'341), IsEmpty());
  EXPECT_THAT(At(210, 11'341),
              ElementsAre("receiver otlp: no more samples are lost to queue full: 11341 samples "
                          "were lost within 50 s"));
  EXPECT_THAT(At(300, 11'341), IsEmpty());
  // The next one begins at nothing.
  EXPECT_THAT(At(400, 11'342), ElementsAre(testing::HasSubstr("queue full (1 so far)")));
}

TEST_F(LossLogTest, WhatNeverReachedABatchIsSaidOnceForAllTakers) {
  EXPECT_THAT(At(100, 0, 53),
              ElementsAre("samples are being lost: ring full (53 so far); the agent gets too "
                          "little CPU, stood still, or --frequency is too high"));
}

TEST_F(LossLogTest, ABurstTookAsLongAsTheLooksAroundIt) {
  At(100, 0);
  At(102, 40);
  EXPECT_THAT(At(170, 40), ElementsAre(testing::HasSubstr("40 samples were lost within 2 s")));
}

TEST_F(LossLogTest, TheEndSumsUpWhatGoesOn) {
  At(100, 40);
  EXPECT_THAT(At(105, 60, 0, true),
              ElementsAre("receiver otlp: queue full: 60 samples were lost within 5 s"));
}

TEST_F(LossLogTest, AFewNestedInterruptsAreNotWorthALine) {
  AgentSnapshot snapshot;
  snapshot.session.counts.kernel.value[COUNT_SCRATCH_BUSY] = 100;
  EXPECT_THAT(log_.Look(snapshot), IsEmpty());
  snapshot.session.counts.kernel.value[COUNT_SCRATCH_BUSY] = 101;
  EXPECT_EQ(log_.Look(snapshot).size(), 1u);
}

}  // namespace
}  // namespace stackray
