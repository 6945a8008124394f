// The queue on a spool: bounds, ages, outages, and what is told of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "tests/reporter/export/test_batches.h"
#include "tests/reporter/spool/spool_fixture.h"

namespace stackray {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = SendResult::Kind;

constexpr seconds kLong{20};

class SpoolQueueTest : public testing::Test {
 protected:
  std::unique_ptr<ExportQueue> Start(SpoolSettings spool = {}, ExportQueueSettings settings = {}) {
    spool.directory = scratch_.path();
    spool.receiver = kReceiver;
    settings.retry.jitter = 0;
    return ExportQueue::Start(std::make_unique<FakeTransport>(receiver_), settings, told_.Hooks(),
                              MustOpen(spool));
  }
  std::vector<std::string> Files() const { return SpoolFiles(scratch_.path()); }
  void ExpectHonest(const DeliveryCounts& counts) {
    EXPECT_TRUE(AddsUp(counts));
    EXPECT_EQ(counts.lost, told_.lost());
  }

  ScratchDirectory scratch_;
  std::shared_ptr<FakeReceiver> receiver_ = std::make_shared<FakeReceiver>();
  JumpingClock clock_;
  Told told_;
};

TEST_F(SpoolQueueTest, DeliversInOrderAndLeavesNothing) {
  const auto queue = Start();
  std::vector<std::string> expected;
  for (int i = 0; i < 50; ++i) {
    expected.push_back(std::to_string(i));
    queue->Add(MakeBatch(expected.back(), 10, 3));
  }
  ASSERT_TRUE(queue->Flush(kLong));
  EXPECT_EQ(receiver_->Sent(), expected);
  EXPECT_THAT(Files(), IsEmpty());
  const DeliveryCounts counts = queue->Counts();
  EXPECT_EQ(counts.delivered, (ItemCount{500, 150}));
  EXPECT_EQ(counts.spooled_batches + counts.spooled_bytes + counts.queued_bytes, 0u);
  ExpectHonest(counts);
}

TEST_F(SpoolQueueTest, WhatWaitsIsOnDiskAndNotInMemory) {
  receiver_->Hold();
  const auto queue = Start();
  for (uint32_t i = 0; i < 20; ++i) queue->Add(MakeBatch(NoiseBytes(100'000, i), 7));
  ASSERT_TRUE(Eventually([&] { return receiver_->Sent().size() == 1; }));
  const DeliveryCounts counts = queue->Counts();
  EXPECT_EQ(counts.queued_batches, 20u);
  EXPECT_EQ(counts.spooled_batches, 20u);
  EXPECT_EQ(counts.spooled, counts.in_flight);
  EXPECT_LE(counts.queued_bytes, 200'000u);
  EXPECT_THAT(Files(), SizeIs(20));
  receiver_->Release();
  ASSERT_TRUE(queue->Flush(kLong));
  const std::vector<std::string> sent = receiver_->Sent();
  for (uint32_t i = 0; i < 20; ++i) EXPECT_EQ(sent.at(i), NoiseBytes(100'000, i));
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(SpoolQueueTest, DropsTheOldestWhenTheSpoolIsFullAndNeverTheOneBeingSent) {
  receiver_->Hold();
  const auto queue = Start({.max_bytes = 3 * 4096});
  queue->Add(MakeBatch("a", 1));
  ASSERT_TRUE(Eventually([&] { return receiver_->Sent().size() == 1; }));
  for (const char* bytes : {"b", "c", "d", "e"}) queue->Add(MakeBatch(bytes, 100, 10));
  const DeliveryCounts counts = queue->Counts();
  EXPECT_EQ(counts.spooled_bytes, 3u * 4096);
  EXPECT_EQ(LostTo(counts, LossReason::kSpoolFull), 200u);
  EXPECT_THAT(Files(), SizeIs(3));
  receiver_->Release();
  ASSERT_TRUE(queue->Flush(kLong));
  EXPECT_THAT(receiver_->Sent(), ElementsAre("a", "d", "e"));
  ExpectHonest(queue->Counts());
}

TEST_F(SpoolQueueTest, ABatchLargerThanTheSpoolWaitsInMemory) {
  receiver_->Hold();
  const auto queue = Start({.max_bytes = 2 * 4096});
  queue->Add(MakeBatch("small", 1));
  queue->Add(MakeBatch(std::string(9000, 'x'), 9));
  EXPECT_EQ(queue->Counts().spooled.items, 1u);
  EXPECT_EQ(queue->Counts().in_flight.items, 10u);
  receiver_->Release();
  ASSERT_TRUE(queue->Flush(kLong));
  EXPECT_EQ(queue->Counts().delivered.items, 10u);
}

TEST_F(SpoolQueueTest, WhatIsTooOldGoesThoughTheReceiverAskedForADay) {
  receiver_->judge = [](const Payload& batch) -> SendResult {
    if (batch.bytes != "old") return {.kind = Kind::kDelivered};
    return {.kind = Kind::kRetry, .message = "later", .retry_after = std::chrono::hours(24)};
  };
  const auto queue = Start({.max_age = std::chrono::minutes(10)}, {.clock = &clock_});
  queue->Add(MakeBatch("old", 7));
  ASSERT_TRUE(Eventually([&] { return queue->Counts().queued_batches == 0; }));
  EXPECT_EQ(LostTo(queue->Counts(), LossReason::kSpoolAge), 7u);
  EXPECT_EQ(queue->Counts().attempts, 1u);
  EXPECT_THAT(clock_.waits(), ElementsAre(milliseconds(600'000)));
  queue->Stop();  // Its thread has told all then.
  EXPECT_THAT(Files(), IsEmpty());
  ExpectHonest(queue->Counts());
}

// Somebody sets the wall clock, hours back and hours forward, while batches wait: their age and the
// waits between attempts are a steady clock's.
TEST_F(SpoolQueueTest, AWallClockThatJumpsDropsNothingAndShortensNoWait) {
  constexpr int64_t kHourMs = 3'600'000;
  std::atomic<int64_t> wall_ms = 1'790'000'000'000;
  const ExportClock::Time up = clock_.Now() + seconds(100);
  receiver_->judge = [this, up, &wall_ms](const Payload&) -> SendResult {
    wall_ms += clock_.Now().time_since_epoch().count() % 2 == 0 ? 9 * kHourMs : -9 * kHourMs;
    if (clock_.Now() < up) return {.kind = Kind::kRetry, .message = "connection refused"};
    return {.kind = Kind::kDelivered};
  };
  receiver_->Hold();  // Until all wait.
  const auto queue =
      Start({.max_age = std::chrono::hours(1), .now_ms = [&] { return wall_ms.load(); }},
            {.clock = &clock_});
  std::vector<std::string> expected;
  for (int i = 0; i < 20; ++i) {
    expected.push_back(std::to_string(i));
    queue->Add(MakeBatch(expected.back(), 1));
    wall_ms += i % 2 == 0 ? -9 * kHourMs : 9 * kHourMs;
  }
  receiver_->Release();
  ASSERT_TRUE(Eventually([&] { return queue->Counts().queued_batches == 0; }));
  EXPECT_THAT(clock_.waits(), ElementsAre(milliseconds(5000), milliseconds(7500),
                                          milliseconds(11250), milliseconds(16875), testing::_,
                                          milliseconds(30000), milliseconds(30000)));
  std::vector<std::string> sent = receiver_->Sent();
  sent.erase(sent.begin(), sent.begin() + 7);  // The first one, again and again.
  EXPECT_EQ(sent, expected);
  EXPECT_EQ(queue->Counts().LostInAll().items, 0u);
  queue->Stop();
  EXPECT_THAT(Files(), IsEmpty());
  ExpectHonest(queue->Counts());
}

// Down for so many seconds of the queue's own clock, a batch every 15 s.
class SpoolOutage : public SpoolQueueTest, public testing::WithParamInterface<int> {};

TEST_P(SpoolOutage, LosesNothingAndDeliversNothingTwice) {
  const ExportClock::Time up = clock_.Now() + seconds(GetParam());
  receiver_->judge = [this, up](const Payload&) -> SendResult {
    if (clock_.Now() < up) return {.kind = Kind::kRetry, .message = "connection refused"};
    return {.kind = Kind::kDelivered};
  };
  std::vector<std::string> expected;
  const auto queue = Start({}, {.clock = &clock_});
  for (int i = 0; i <= GetParam() / 15; ++i) {
    expected.push_back(NoiseBytes(50'000, static_cast<uint32_t>(i)));
    queue->Add(MakeBatch(expected.back(), 1000));
  }
  ASSERT_TRUE(queue->Flush(kLong));
  const DeliveryCounts counts = queue->Counts();
  EXPECT_EQ(counts.delivered.items, expected.size() * 1000);
  EXPECT_EQ(counts.LostInAll(), ItemCount{});
  EXPECT_GT(counts.retries, 0u);
  // Every attempt but the first batch's is the one that delivered.
  const std::vector<std::string> sent = receiver_->Sent();
  EXPECT_EQ(sent.size(), expected.size() + counts.retries);
  EXPECT_EQ(std::vector<std::string>(sent.end() - static_cast<std::ptrdiff_t>(expected.size()),
                                     sent.end()),
            expected);
  ExpectHonest(counts);
}

INSTANTIATE_TEST_SUITE_P(Seconds, SpoolOutage, testing::Values(12, 120, 3600));

TEST_F(SpoolQueueTest, AFlippedBitIsFoundWhenItsTurnComes) {
  receiver_->Hold();
  const auto queue = Start();
  for (const char* bytes : {"first", "second", "third", "fourth"})
    queue->Add(MakeBatch(bytes, 10, 2));
  ASSERT_TRUE(Eventually([&] { return receiver_->Sent().size() == 1; }));
  FlipBit(Files()[2], 8 * 66);
  std::filesystem::remove(Files()[3]);
  receiver_->Release();
  ASSERT_TRUE(queue->Flush(kLong));
  EXPECT_THAT(receiver_->Sent(), ElementsAre("first", "second"));
  const DeliveryCounts counts = queue->Counts();
  EXPECT_EQ(counts.lost[static_cast<size_t>(LossReason::kSpoolDamaged)], (ItemCount{20, 4}));
  EXPECT_THAT(Files(), IsEmpty());
  queue->Stop();
  ExpectHonest(counts);
  EXPECT_THAT(told_.notes(), ElementsAre(HasSubstr("checksum"), HasSubstr("is gone")));
}

TEST_F(SpoolQueueTest, EverySnapshotAddsUpWhileProducersRace) {
  std::atomic<int> calls = 0;
  receiver_->judge = [&calls](const Payload&) -> SendResult {
    switch (calls++ % 5) {
      case 0: return {.kind = Kind::kRetry, .message = "busy"};
      case 1: return {.kind = Kind::kRejected, .message = "no"};
      default: return {.kind = Kind::kDelivered};
    }
  };
  const auto queue = Start({.max_bytes = 10 * 4096}, {.clock = &clock_});
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::thread reader([&] {
    while (!done)
      if (!AddsUp(queue->Counts())) ++wrong;
  });
  std::vector<std::thread> producers;
  for (uint64_t p = 1; p <= 4; ++p)
    producers.emplace_back([&queue, p] {
      for (int i = 0; i < 200; ++i) queue->Add(MakeBatch(std::string(10, 'x'), p, p / 2));
    });
  for (std::thread& producer : producers) producer.join();
  EXPECT_TRUE(queue->Flush(kLong));
  done = true;
  reader.join();
  EXPECT_EQ(wrong, 0);
  queue->Stop();
  const DeliveryCounts counts = queue->Counts();
  EXPECT_EQ(counts.produced.items, 200u * (1 + 2 + 3 + 4));
  EXPECT_EQ(counts.spooled_bytes, 0u);
  EXPECT_THAT(Files(), IsEmpty());
  ExpectHonest(counts);
}

}  // namespace
}  // namespace stackray
