#include "agent/sampling/wait_accounts.h"

#include <gtest/gtest.h>

namespace stackray::test {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

class Accounts : public testing::Test {
 protected:
  uint64_t End(uint32_t tid, uint64_t waited_ns, uint64_t length_ns, uint64_t estimate,
               bool is_preempted = false, uint64_t queued_ns = 0, uint64_t out_ns = 5) {
    const WaitAccounts::Counts counts = accounts_.End({.tid = tid,
                                                       .is_preempted = is_preempted,
                                                       .out_ns = out_ns,
                                                       .since_ns = since_ns_,
                                                       .waited_ns = waited_ns,
                                                       .length_ns = length_ns,
                                                       .queued_ns = queued_ns,
                                                       .estimate = estimate});
    queued_ = counts.queued;
    return counts.waited + counts.queued;
  }
  void Look(uint32_t tid, uint64_t blocked_ns, uint64_t preempted_ns, uint64_t out_ns) {
    accounts_.BeginLook();
    accounts_.Look({.tid = tid,
                    .out_ns = out_ns,
                    .waited_ns = {blocked_ns, preempted_ns},
                    .since_ns = since_ns_});
    accounts_.EndLook([](uint32_t) { return false; });
  }
  WaitAccounts::Counts Ship(uint32_t tid, uint64_t out_ns, uint64_t now_ns, uint64_t own_ns,
                            uint64_t estimate, bool is_preempted = false) {
    return accounts_.Ship({.tid = tid,
                           .is_preempted = is_preempted,
                           .out_ns = out_ns,
                           .now_ns = now_ns,
                           .own_ns = own_ns,
                           .estimate = estimate});
  }

  WaitAccounts accounts_{3};
  uint64_t since_ns_ = 1, queued_ = 0;
};

TEST_F(Accounts, WithoutALookTheEstimateStands) {
  EXPECT_EQ(End(7, 100, 10, 80), 80u);
  EXPECT_EQ(End(7, 0, 10, 160), 160u) << "the sum is unknown";
  EXPECT_EQ(Ship(7, 5, 9, 4, 16).waited, 16u);
  EXPECT_FALSE(Ship(7, 5, 9, 4, 16).is_known);
}

TEST_F(Accounts, AnOpenWaitGetsWhatIsLeft) {
  EXPECT_EQ(End(7, 100, 10, 80), 80u);
  Look(7, 500, 0, 1000);
  const WaitAccounts::Counts counts = Ship(7, 1000, 1300, 300, 2400);
  EXPECT_TRUE(counts.is_known);
  EXPECT_EQ(counts.waited, 500u + 300 - 80);
  EXPECT_EQ(counts.queued, 0u);
  Look(7, 500, 0, 1000);
  EXPECT_EQ(Ship(7, 1000, 1700, 400, 400).waited, 400u) << "in every batch, what has passed";
  EXPECT_EQ(End(7, 500 + 800, 100, 100), 100u) << "and no nanosecond twice";
}

// It has ended before it could be shipped.
TEST_F(Accounts, TheWaitThatALookHasMetGetsWhatIsLeft) {
  Look(7, 500, 0, 1000);
  EXPECT_EQ(End(7, 700, 200, 200, false, 50, 1000), 700u);
  EXPECT_EQ(queued_, 50u + 125) << "its own quarter, and as much of the others";
  EXPECT_EQ(End(7, 800, 100, 900, false, 0, 2000), 100u) << "another wait has its own time";
}

TEST_F(Accounts, TooMuchIsPaidBack) {
  EXPECT_EQ(End(7, 100, 100, 900), 900u);
  Look(7, 100, 0, 1000);
  EXPECT_EQ(Ship(7, 1000, 1500, 500, 500).waited, 0u);
  Look(7, 100, 0, 1000);
  EXPECT_EQ(Ship(7, 1000, 2000, 500, 500).waited, 100u + 1000 - 900);
}

TEST_F(Accounts, AWeightNeverExceedsTheSum) {
  Look(7, 0, 0, 0);
  EXPECT_EQ(End(7, 50, 10, 40), 40u);
  EXPECT_EQ(End(7, 70, 10, 80), 30u) << "70 in all, of which 40 were counted";
  EXPECT_EQ(End(7, 80, 10, 10), 10u);
}

TEST_F(Accounts, APreemptedWaitGetsWhatIsLeft) {
  Look(7, 0, 1000, 0);
  EXPECT_EQ(End(7, 1500, 100, 100, true), 1500u);
  EXPECT_EQ(End(7, 1800, 100, 800, true), 300u);
  EXPECT_EQ(End(7, 40, 40, 40), 40u) << "the other kind has a sum of its own";
}

TEST_F(Accounts, WhatOthersWaitedInTheRunQueueIsSaid) {
  Look(7, 0, 0, 0);
  EXPECT_EQ(End(7, 100, 100, 100, false, 25), 100u);
  EXPECT_EQ(queued_, 25u);
  Look(7, 500, 0, 1000);
  const WaitAccounts::Counts counts = Ship(7, 1000, 1200, 200, 200);
  EXPECT_EQ(counts.queued, 100u) << "a quarter of the 400 that are other waits'";
  EXPECT_EQ(counts.waited + counts.queued, 600u);
}

TEST_F(Accounts, AnotherThreadOfTheNumberBeginsAnew) {
  Look(7, 5 * kSecond, 0, 0);
  EXPECT_EQ(End(7, 6 * kSecond, kSecond, kSecond), kSecond);
  since_ns_ = 2;
  EXPECT_EQ(End(7, 10, 10, 40), 40u) << "no look has met it";
  Look(7, 100, 0, 900);
  EXPECT_EQ(Ship(7, 900, 1000, 100, 100).waited, 160u);
}

TEST_F(Accounts, ALookForgetsThoseThatAreGone) {
  End(1, 5, 5, 5);
  End(2, 5, 5, 5);
  accounts_.BeginLook();
  accounts_.Look({.tid = 3});
  accounts_.EndLook([](uint32_t tid) { return tid == 2; });
  EXPECT_EQ(accounts_.size(), 2u);
  EXPECT_EQ(Ship(2, 1, 9, 8, 8).waited, 8u);
}

TEST_F(Accounts, BeyondTheRoomTheEstimateStands) {
  for (uint32_t tid = 1; tid <= 5; ++tid) EXPECT_EQ(End(tid, 10, 10, 80), 80u);
  EXPECT_EQ(accounts_.size(), 3u);
  Look(5, 1000, 0, 2000);
  EXPECT_EQ(accounts_.size(), 0u) << "it had no account, and the others are gone";
}

// The ring held the end while a look met the thread's next wait.
TEST_F(Accounts, AnEndMayComeLate) {
  Look(7, 100, 0, 1000);
  EXPECT_EQ(End(7, 60, 60, 60), 60u);
  EXPECT_EQ(End(7, 100, 40, 80), 40u);
  Look(7, 100, 0, 1000);
  EXPECT_EQ(Ship(7, 1000, 1010, 10, 10).waited, 10u);
}

// Whatever the sums say, nothing wraps round.
TEST_F(Accounts, SumsThatCannotBe) {
  Look(7, UINT64_MAX, UINT64_MAX, 10);
  EXPECT_EQ(Ship(7, 10, 5, 0, 0).waited, UINT64_MAX);
  EXPECT_EQ(End(7, 1, 1, 1), 0u);
}

}  // namespace
}  // namespace stackray::test
