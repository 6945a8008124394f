#include "reporter/export/export_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/reporter/export/fake_transport.h"
#include "tests/reporter/export/test_batches.h"

namespace stackray {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using Kind = SendResult::Kind;

constexpr seconds kLong{20};

SendResult Retry(std::optional<milliseconds> after = std::nullopt) {
  return {.kind = Kind::kRetry, .message = "busy", .retry_after = after};
}

uint64_t Lost(const DeliveryCounts& counts, LossReason reason) {
  return counts.lost[static_cast<size_t>(reason)].items;
}

class ExportQueueTest : public testing::Test {
 protected:
  std::unique_ptr<ExportQueue> Start(ExportQueueSettings settings = {}) {
    settings.retry.jitter = 0;
    ExportHooks hooks;
    hooks.on_lost = [this](LossReason reason, ItemCount count) {
      const std::lock_guard lock(mutex_);
      told_lost_[static_cast<size_t>(reason)] += count;
    };
    hooks.on_note = [this](std::string_view text) {
      const std::lock_guard lock(mutex_);
      notes_.emplace_back(text);
    };
    return ExportQueue::Start(std::make_unique<FakeTransport>(receiver_), settings, hooks);
  }

  // Every loss was told, with its reason, and the numbers add up.
  void ExpectHonest(const DeliveryCounts& counts) {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(AddsUp(counts));
    EXPECT_EQ(counts.lost, told_lost_);
  }

  std::shared_ptr<FakeReceiver> receiver_ = std::make_shared<FakeReceiver>();
  JumpingClock clock_;
  std::mutex mutex_;
  std::array<ItemCount, kLossReasons> told_lost_;
  std::vector<std::string> notes_;
};

TEST_F(ExportQueueTest, DeliversInOrder) {
  const auto queue = Start();
  for (const char* bytes : {"one", "two", "three"}) queue->Add(MakeBatch(bytes, 10, 3));
  ASSERT_TRUE(queue->Flush(kLong));
  EXPECT_THAT(receiver_->Sent(), ElementsAre("one", "two", "three"));
  const DeliveryCounts counts = queue->Counts();
  EXPECT_EQ(counts.delivered, (ItemCount{30, 9}));
  EXPECT_EQ(counts.in_flight, ItemCount{});
  EXPECT_EQ(counts.queued_bytes, 0u);
  ExpectHonest(counts);
}

TEST_F(ExportQueueTest, ResendsTheSameBytesWithGrowingWaits) {
  for (int i = 0; i < 7; ++i) receiver_->script.push_back(Retry());
  const auto queue = Start({.clock = &clock_});
  queue->Add(MakeBatch("batch", 5));
  ASSERT_TRUE(Eventually([&] { return queue->Counts().delivered.items == 5; }));
  EXPECT_EQ(receiver_->Sent(), std::vector<std::string>(8, "batch"));
  EXPECT_THAT(
      clock_.waits(),
      ElementsAre(milliseconds(5000), milliseconds(7500), milliseconds(11250), milliseconds(16875),
                  milliseconds(25313), milliseconds(30000), milliseconds(30000)));
  EXPECT_EQ(queue->Counts().retries, 7u);
  ExpectHonest(queue->Counts());
}

TEST_F(ExportQueueTest, WaitsStartAnewAfterASuccess) {
  receiver_->script = {Retry(), Retry(), {.kind = Kind::kDelivered}, Retry()};
  const auto queue = Start({.clock = &clock_});
  queue->Add(MakeBatch("one", 1));
  queue->Add(MakeBatch("two", 1));
  ASSERT_TRUE(Eventually([&] { return queue->Counts().delivered.items == 2; }));
  EXPECT_THAT(clock_.waits(),
              ElementsAre(milliseconds(5000), milliseconds(7500), milliseconds(5000)));
}

TEST_F(ExportQueueTest, TheReceiversWishIsALowerBound) {
  receiver_->script = {Retry(seconds(42)), Retry(seconds(1))};
  const auto queue = Start({.clock = &clock_});
  queue->Add(MakeBatch("batch", 1));
  ASSERT_TRUE(Eventually([&] { return queue->Counts().delivered.items == 1; }));
  EXPECT_THAT(clock_.waits(), ElementsAre(milliseconds(42000), milliseconds(7500)));
}

TEST_F(ExportQueueTest, GivesABatchUpAfterTheRetryTime) {
  receiver_->judge = [](const Payload& batch) {
    return batch.bytes == "poison" ? Retry() : SendResult{.kind = Kind::kDelivered};
  };
  const auto queue = Start({.max_retry_time = seconds(60), .clock = &clock_});
  queue->Add(MakeBatch("poison", 7));
  queue->Add(MakeBatch("good", 3));
  ASSERT_TRUE(Eventually([&] { return queue->Counts().delivered.items == 3; }));
  EXPECT_EQ(Lost(queue->Counts(), LossReason::kRetryTime), 7u);
  ExpectHonest(queue->Counts());
}

TEST_F(ExportQueueTest, DropsTheOldestWhenFullAndNeverTheOneBeingSent) {
  receiver_->Hold();
  const auto queue = Start({.max_bytes = 30});
  queue->Add(MakeBatch(std::string(10, 'a'), 1));
  ASSERT_TRUE(Eventually([&] { return receiver_->Sent().size() == 1; }));
  for (const char c : {'b', 'c', 'd', 'e'}) queue->Add(MakeBatch(std::string(10, c), 100));
  DeliveryCounts counts = queue->Counts();
  EXPECT_EQ(counts.queued_bytes, 30u);
  EXPECT_EQ(Lost(counts, LossReason::kQueueFull), 200u);
  ExpectHonest(counts);
  receiver_->Release();
  ASSERT_TRUE(queue->Flush(kLong));
  EXPECT_THAT(receiver_->Sent(),
              ElementsAre(std::string(10, 'a'), std::string(10, 'd'), std::string(10, 'e')));
  EXPECT_EQ(queue->Counts().delivered.items, 201u);
}

TEST_F(ExportQueueTest, ABatchThatCouldNeverFitDropsNobodyElse) {
  receiver_->Hold();
  const auto queue = Start({.max_bytes = 30});
  queue->Add(MakeBatch("small", 1));
  queue->Add(MakeBatch("small too", 1));
  queue->Add(MakeBatch(std::string(31, 'x'), 9));
  EXPECT_EQ(Lost(queue->Counts(), LossReason::kQueueFull), 9u);
  receiver_->Release();
  ASSERT_TRUE(queue->Flush(kLong));
  EXPECT_EQ(queue->Counts().delivered.items, 2u);
}

TEST_F(ExportQueueTest, RejectedIsLostAndTheNextGoesOut) {
  receiver_->script = {{.kind = Kind::kRejected, .message = "bad data"},
                       {.kind = Kind::kRejected, .message = "bad data again"}};
  const auto queue = Start();
  for (int i = 0; i < 3; ++i) queue->Add(MakeBatch("batch", 4));
  ASSERT_TRUE(queue->Flush(kLong));
  EXPECT_EQ(Lost(queue->Counts(), LossReason::kRejected), 8u);
  EXPECT_EQ(queue->Counts().delivered.items, 4u);
  ExpectHonest(queue->Counts());
}

TEST_F(ExportQueueTest, PartialSuccessIsDeliveredAndNeverSentAgain) {
  receiver_->script = {
      {.kind = Kind::kPartlyRejected, .message = "two are odd", .rejected_units = 2}};
  const auto queue = Start();
  queue->Add(MakeBatch("batch", 4));
  ASSERT_TRUE(queue->Flush(kLong));
  const DeliveryCounts counts = queue->Counts();
  EXPECT_EQ(counts.delivered.items, 4u);
  EXPECT_EQ(counts.partly_rejected_units, 2u);
  EXPECT_EQ(counts.partly_rejected_batches, 1u);
  EXPECT_EQ(counts.partly_rejected.items, 4u);
  EXPECT_EQ(receiver_->Sent().size(), 1u);
}

TEST_F(ExportQueueTest, NoReceiverCanRejectMoreThanItGot) {
  receiver_->script = {{.kind = Kind::kPartlyRejected, .rejected_units = INT64_MAX},
                       {.kind = Kind::kPartlyRejected, .rejected_units = INT64_MAX}};
  const auto queue = Start();
  for (int i = 0; i < 2; ++i) queue->Add(MakeBatch("batch", 4));
  ASSERT_TRUE(queue->Flush(kLong));
  EXPECT_EQ(queue->Counts().partly_rejected_units, 8u);
}

TEST_F(ExportQueueTest, NotesComeOnChangeOnly) {
  receiver_->script = {Retry(), Retry(), Retry()};
  auto queue = Start({.clock = &clock_});
  queue->Add(MakeBatch("batch", 1));
  ASSERT_TRUE(Eventually([&] { return queue->Counts().delivered.items == 1; }));
  queue->Stop();
  EXPECT_THAT(notes_, ElementsAre(testing::HasSubstr("busy"), testing::HasSubstr("again")));
}

TEST_F(ExportQueueTest, AProbeTellsAtTheStartAndCountsNothing) {
  receiver_->script = {{.kind = Kind::kRetry, .message = "nobody there"}};
  auto queue = Start({.probe = true});
  ASSERT_TRUE(Eventually([&] {
    const std::lock_guard lock(mutex_);
    return notes_.size() == 1;
  }));
  EXPECT_EQ(queue->Counts().attempts, 0u);
  EXPECT_EQ(queue->Counts().failing_with, "");
  EXPECT_EQ(queue->Counts().produced, ItemCount{});
  queue->Add(MakeBatch("batch", 1));
  ASSERT_TRUE(queue->Flush(kLong));
  queue->Stop();
  EXPECT_THAT(notes_, ElementsAre(testing::HasSubstr("nobody there")));
}

TEST_F(ExportQueueTest, FlushCutsABackoffShort) {
  receiver_->script = {Retry()};
  const auto queue =
      Start({.retry = {.first = std::chrono::hours(1), .longest = std::chrono::hours(1)}});
  queue->Add(MakeBatch("batch", 1));
  ASSERT_TRUE(Eventually([&] { return queue->Counts().retries == 1; }));
  EXPECT_TRUE(queue->Flush(kLong));
  EXPECT_EQ(queue->Counts().delivered.items, 1u);
}

TEST_F(ExportQueueTest, FlushKeepsTheReceiversWish) {
  receiver_->script = {Retry(std::chrono::hours(1))};
  const auto queue = Start();
  queue->Add(MakeBatch("batch", 1));
  ASSERT_TRUE(Eventually([&] { return queue->Counts().retries == 1; }));
  EXPECT_FALSE(queue->Flush(milliseconds(50)));
  EXPECT_EQ(receiver_->Sent().size(), 1u);
}

TEST_F(ExportQueueTest, StopEndsAHangingAttemptAndCountsTheRest) {
  receiver_->Hold();
  const auto queue = Start();
  queue->Add(MakeBatch("hanging", 2));
  ASSERT_TRUE(Eventually([&] { return receiver_->Sent().size() == 1; }));
  queue->Add(MakeBatch("waiting", 3));
  EXPECT_FALSE(queue->Flush(milliseconds(10)));
  queue->Stop();
  queue->Add(MakeBatch("too late", 5));
  const DeliveryCounts counts = queue->Counts();
  EXPECT_EQ(Lost(counts, LossReason::kShutdown), 10u);
  EXPECT_EQ(counts.queued_batches, 0u);
  ExpectHonest(counts);
}

TEST_F(ExportQueueTest, EverySnapshotAddsUpWhileProducersRace) {
  std::atomic<int> calls = 0;
  receiver_->judge = [&calls](const Payload&) {
    switch (calls++ % 5) {
      case 0: return Retry();
      case 1: return SendResult{.kind = Kind::kRejected, .message = "no"};
      default: return SendResult{.kind = Kind::kDelivered};
    }
  };
  const auto queue = Start({.max_bytes = 200, .clock = &clock_});
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::thread reader([&] {
    while (!done)
      if (!AddsUp(queue->Counts())) ++wrong;
  });
  std::vector<std::thread> producers;
  for (uint64_t p = 1; p <= 4; ++p)
    producers.emplace_back([&queue, p] {
      for (int i = 0; i < 500; ++i) queue->Add(MakeBatch(std::string(10, 'x'), p, p / 2));
    });
  for (std::thread& producer : producers) producer.join();
  EXPECT_TRUE(queue->Flush(kLong));
  done = true;
  reader.join();
  EXPECT_EQ(wrong, 0);
  queue->Stop();
  const DeliveryCounts counts = queue->Counts();
  EXPECT_EQ(counts.produced.items, 500u * (1 + 2 + 3 + 4));
  EXPECT_EQ(counts.in_flight, ItemCount{});
  EXPECT_GT(counts.delivered.items, 0u);
  ExpectHonest(counts);
}

}  // namespace
}  // namespace stackray
