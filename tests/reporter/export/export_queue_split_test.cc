// What the queue does with batches that are too large for the receiver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reporter/export/export_queue.h"
#include "tests/reporter/export/fake_transport.h"
#include "tests/reporter/export/test_batches.h"

namespace stackray {
namespace {

using testing::ElementsAre;
using testing::SizeIs;
using Kind = SendResult::Kind;

// One byte is one sample, so a half of the bytes is a half of the samples.
std::vector<SealedBatchPtr> Halve(const SealedBatch& batch) {
  const size_t middle = batch.bytes.size() / 2;
  if (middle == 0) return {};
  return {MakeBatch(batch.bytes.substr(0, middle), middle),
          MakeBatch(batch.bytes.substr(middle), batch.bytes.size() - middle)};
}

class ExportQueueSplitTest : public testing::Test {
 protected:
  void Start(std::function<std::vector<SealedBatchPtr>(const SealedBatch&)> split) {
    queue_ = ExportQueue::Start(std::make_unique<FakeTransport>(receiver_), {.clock = &clock_},
                                {.split = std::move(split)});
  }
  // Refuses what is longer than `limit`, naming the limit or not.
  void Limit(size_t limit, bool named) {
    receiver_->judge = [limit, named](const SealedBatch& batch) -> SendResult {
      if (batch.bytes.size() <= limit) return {.kind = Kind::kDelivered};
      return {.kind = Kind::kTooLarge, .message = "too large", .size_limit = named ? limit : 0};
    };
  }
  void AddAndFlush(size_t bytes) {
    queue_->Add(MakeBatch(std::string(bytes, 'x'), bytes));
    ASSERT_TRUE(queue_->Flush(std::chrono::seconds(20)));
    EXPECT_TRUE(AddsUp(queue_->Counts()));
    EXPECT_EQ(queue_->Counts().queued_bytes, 0u);
  }
  uint64_t LostAsTooLarge() {
    return queue_->Counts().lost[static_cast<size_t>(LossReason::kTooLarge)].samples;
  }

  std::shared_ptr<FakeReceiver> receiver_ = std::make_shared<FakeReceiver>();
  JumpingClock clock_;
  std::unique_ptr<ExportQueue> queue_;
};

TEST_F(ExportQueueSplitTest, HalvesAndResendsOnce) {
  Limit(60, false);
  Start(Halve);
  AddAndFlush(100);
  EXPECT_THAT(receiver_->Sent(), ElementsAre(SizeIs(100), SizeIs(50), SizeIs(50)));
  EXPECT_EQ(queue_->Counts().delivered.samples, 100u);
  EXPECT_EQ(queue_->Counts().splits, 1u);
}

TEST_F(ExportQueueSplitTest, AHalfThatIsStillTooLargeIsLost) {
  Limit(40, false);
  Start(Halve);
  AddAndFlush(100);
  EXPECT_THAT(receiver_->Sent(), ElementsAre(SizeIs(100), SizeIs(50), SizeIs(50)));
  EXPECT_EQ(LostAsTooLarge(), 100u);
}

TEST_F(ExportQueueSplitTest, ALimitThatTheReceiverNamesIsKeptFromThenOn) {
  Limit(30, true);
  Start(Halve);
  AddAndFlush(100);
  EXPECT_THAT(receiver_->Sent(),
              ElementsAre(SizeIs(100), SizeIs(25), SizeIs(25), SizeIs(25), SizeIs(25)));
  EXPECT_EQ(queue_->Counts().learned_size_limit, 30u);
  AddAndFlush(60);  // Not even tried in one piece.
  EXPECT_THAT(receiver_->Sent(), SizeIs(7));
  EXPECT_EQ(queue_->Counts().delivered.samples, 160u);
  EXPECT_EQ(LostAsTooLarge(), 0u);
}

TEST_F(ExportQueueSplitTest, ALimitIsForgottenWhenSomethingLargerGetsThrough) {
  Limit(1, true);
  Start([](const SealedBatch&) { return std::vector<SealedBatchPtr>(); });
  AddAndFlush(10);
  EXPECT_EQ(LostAsTooLarge(), 10u);
  Limit(100, true);
  AddAndFlush(10);
  EXPECT_EQ(queue_->Counts().learned_size_limit, 0u);
  EXPECT_EQ(queue_->Counts().delivered.samples, 10u);
}

TEST_F(ExportQueueSplitTest, PartsThatDoNotAddUpAreNotSent) {
  Limit(60, false);
  Start([](const SealedBatch& batch) {
    std::vector<SealedBatchPtr> parts = Halve(batch);
    parts.back() = MakeBatch(parts.back()->bytes, 1);
    return parts;
  });
  AddAndFlush(100);
  EXPECT_THAT(receiver_->Sent(), ElementsAre(SizeIs(100)));
  EXPECT_EQ(LostAsTooLarge(), 100u);
}

TEST_F(ExportQueueSplitTest, WithoutASplitterItIsLost) {
  Limit(60, false);
  Start(nullptr);
  AddAndFlush(100);
  EXPECT_EQ(LostAsTooLarge(), 100u);
}

}  // namespace
}  // namespace stackray
