#include "reporter/export/rate_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reporter/export/export_queue.h"
#include "tests/reporter/export/fake_transport.h"
#include "tests/reporter/export/test_batches.h"

namespace stackray {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using Kind = SendResult::Kind;

constexpr ExportClock::Time kStart{std::chrono::hours(1000)};

TEST(RateLimit, PiecesGrowAfterEachCalmPeriodUntilBatchesAreWholeAgain) {
  RateLimit limit;
  EXPECT_EQ(limit.UnitsEach(kStart), 0u);
  limit.Refused(false, kStart);
  std::vector<size_t> seen;
  for (int i = 0; i < 9; ++i) seen.push_back(limit.UnitsEach(kStart + i * minutes(10)));
  EXPECT_THAT(seen, ElementsAre(1, 2, 4, 8, 16, 32, 64, 0, 0));
  EXPECT_FALSE(limit.active());
}

TEST(RateLimit, ARefusalOfSeveralProfilesMakesTheNextCalmPeriodLonger) {
  RateLimit limit;
  limit.Refused(false, kStart);
  limit.Refused(true, kStart);
  EXPECT_EQ(limit.UnitsEach(kStart + minutes(10)), 2u);
  const ExportClock::Time again = kStart + minutes(11);
  limit.Refused(false, again);
  EXPECT_EQ(limit.UnitsEach(again + minutes(19)), 1u);
  EXPECT_EQ(limit.UnitsEach(again + minutes(20)), 2u);
}

TEST(RateLimit, ThePaceHalvesWithARefusalAndRisesWithTime) {
  RateLimit limit;
  limit.Taken(1 << 20, kStart);
  EXPECT_LT(limit.next(), kStart) << "no limit was met, so there is no pace";
  limit.Refused(true, kStart);
  limit.Taken(256 << 10, kStart);
  EXPECT_EQ(limit.next(), kStart + seconds(1));
  limit.Refused(true, kStart);
  limit.Taken(256 << 10, kStart);
  EXPECT_EQ(limit.next(), kStart + seconds(2));
  limit.Taken(192 << 10, kStart + seconds(30));
  EXPECT_EQ(limit.next(), kStart + seconds(31));
}

// A digit is a profile of one sample, a letter one of the samples of a profile of letters.
std::vector<Payload> SplitDigits(const Payload& batch, size_t each) {
  std::vector<Payload> parts;
  for (size_t i = 0; i < batch.bytes.size(); i += each)
    parts.push_back(MakeBatch(batch.bytes.substr(i, each), batch.bytes.substr(i, each).size()));
  return parts.size() < 2 ? std::vector<Payload>() : parts;
}

class RateLimitedQueue : public testing::Test {
 protected:
  void Start(ExportQueueSettings settings = {}) {
    settings.clock = &clock_;
    settings.retry.jitter = 0;
    settings.traits = &traits_;
    traits_.halve = [](const Payload& batch) {
      return SplitDigits(batch, (batch.bytes.size() + 1) / 2);
    };
    traits_.split_by_unit = [](const Payload& batch, size_t each) {
      return batch.bytes[0] > '9' ? std::vector<Payload>() : SplitDigits(batch, each);
    };
    traits_.count_units = [](const Payload& batch) {
      return batch.bytes[0] > '9' ? 1 : batch.bytes.size();
    };
    queue_ = ExportQueue::Start(
        std::make_unique<FakeTransport>(receiver_), settings,
        {.on_note = [this](std::string_view text) { notes_.emplace_back(text); }});
  }
  static SendResult OverLimit(std::optional<std::chrono::milliseconds> after = {}) {
    return {.kind = Kind::kOverLimit, .message = "HTTP 429", .retry_after = after};
  }

  std::shared_ptr<FakeReceiver> receiver_ = std::make_shared<FakeReceiver>();
  JumpingClock clock_;
  SignalTraits traits_ = TraitsOf(Signal::kProfiles);
  std::vector<std::string> notes_;  // Read after Stop().
  std::unique_ptr<ExportQueue> queue_;
};

TEST_F(RateLimitedQueue, TheFirstRefusedBatchIsInDoubtAndOver) {
  receiver_->script = {OverLimit(seconds(42))};
  Start();
  queue_->Add(MakeBatch("0123", 4));
  queue_->Add(MakeBatch("456", 3));
  ASSERT_TRUE(queue_->Flush(seconds(20)));
  EXPECT_THAT(receiver_->Sent(), ElementsAre("0123", "4", "5", "6"));
  const DeliveryCounts counts = queue_->Counts();
  EXPECT_EQ(counts.delivered.items, 7u);
  EXPECT_EQ(counts.partly_rejected.items, 4u);
  EXPECT_EQ(counts.partly_rejected_units, 4u);
  EXPECT_TRUE(AddsUp(counts));
  EXPECT_EQ(clock_.waits().front(), seconds(42));
  queue_->Stop();
  EXPECT_THAT(notes_, ElementsAre(testing::HasSubstr("HTTP 429"),
                                  testing::HasSubstr("at most 4 samples were not stored"),
                                  testing::HasSubstr("takes batches again")));
}

TEST_F(RateLimitedQueue, ASingleProfileIsSentAgain) {
  receiver_->script = {OverLimit(), OverLimit(seconds(9))};
  Start();
  queue_->Add(MakeBatch("7", 1));
  ASSERT_TRUE(queue_->Flush(seconds(20)));
  EXPECT_THAT(receiver_->Sent(), ElementsAre("7", "7", "7"));
  EXPECT_EQ(queue_->Counts().partly_rejected.items, 0u);
  EXPECT_EQ(queue_->Counts().retries, 2u);
}

TEST_F(RateLimitedQueue, AProfileOverTheBurstIsHalvedUntilItFits) {
  const std::string profile(200 << 10, 'x');
  receiver_->judge = [](const Payload& batch) {
    return batch.bytes.size() > (100 << 10) ? OverLimit() : SendResult{.kind = Kind::kDelivered};
  };
  Start();
  queue_->Add(MakeBatch(profile, profile.size()));
  ASSERT_TRUE(queue_->Flush(seconds(20)));
  EXPECT_EQ(queue_->Counts().delivered.items, profile.size());
  EXPECT_EQ(queue_->Counts().partly_rejected.items, 0u);
  EXPECT_EQ(queue_->Counts().attempts, 5u);  // Three times whole, then two halves.
}

TEST_F(RateLimitedQueue, ALimitThatNeverEndsIsGivenUpInTime) {
  receiver_->judge = [](const Payload&) { return OverLimit(); };
  Start();
  queue_->Add(MakeBatch("7", 1));
  ASSERT_TRUE(queue_->Flush(seconds(20)));
  EXPECT_EQ(queue_->Counts().lost[static_cast<size_t>(LossReason::kRetryTime)].items, 1u);
}

TEST_F(RateLimitedQueue, WhatNobodyCanLookIntoIsInDoubtEachTime) {
  receiver_->script = {OverLimit(), OverLimit()};
  queue_ = ExportQueue::Start(std::make_unique<FakeTransport>(receiver_), {.clock = &clock_}, {});
  for (int i = 0; i < 3; ++i) queue_->Add(MakeBatch("batch", 5));
  ASSERT_TRUE(queue_->Flush(seconds(20)));
  EXPECT_EQ(queue_->Counts().attempts, 3u);
  EXPECT_EQ(queue_->Counts().partly_rejected.items, 10u);
}

// 401 and 403; 404, UNIMPLEMENTED and their like, as of a Collector whose gate for profiles is off:
// nothing is lost, and the tries are far apart.
TEST_F(RateLimitedQueue, WhatSomebodyMustChangeLosesNothingAndIsTriedSlowly) {
  for (int i = 0; i < 3; ++i) {
    receiver_->script.push_back({.kind = Kind::kNoEntry, .message = "HTTP 401"});
    receiver_->script.push_back({.kind = Kind::kWrongProtocol, .message = "HTTP 404"});
  }
  Start({.slow_retry = {.first = seconds(30), .factor = 2, .longest = minutes(5), .jitter = 0}});
  queue_->Add(MakeBatch("12", 2));
  queue_->Add(MakeBatch("34", 2));
  // Flush() would cut a wait short.
  ASSERT_TRUE(Eventually([&] { return queue_->Counts().delivered.items == 4; }));
  EXPECT_EQ(queue_->Counts().LostInAll(), ItemCount{});
  EXPECT_THAT(clock_.waits(),
              ElementsAre(seconds(30), minutes(1), minutes(2), minutes(4), minutes(5), minutes(5)));
  queue_->Stop();
  EXPECT_THAT(notes_, testing::Contains(testing::HasSubstr("HTTP 401")));
  EXPECT_THAT(notes_, testing::Contains(testing::HasSubstr("HTTP 404")));
  EXPECT_THAT(notes_.back(), testing::HasSubstr("again"));
}

}  // namespace
}  // namespace stackray
