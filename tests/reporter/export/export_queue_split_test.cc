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

class ExportQueueSplitTest : public testing::Test {
 protected:
  void Start(std::function<std::vector<Payload>(const Payload&)> halve) {
    traits_ = SplitBy(std::move(halve));
    queue_ = ExportQueue::Start(std::make_unique<FakeTransport>(receiver_),
                                {.clock = &clock_, .traits = &traits_}, {});
  }
  // Refuses what is longer than `limit`, naming the limit or not.
  void Limit(size_t limit, bool named) {
    receiver_->judge = [limit, named](const Payload& batch) -> SendResult {
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
  // The bytes of all batches that the receiver took.
  std::string Taken() {
    std::string taken;
    for (const std::string& bytes : receiver_->Sent()) {
      if (receiver_->judge(MakeBatch(bytes, 0)).kind == Kind::kDelivered) taken += bytes;
    }
    return taken;
  }
  uint64_t LostAsTooLarge() {
    return queue_->Counts().lost[static_cast<size_t>(LossReason::kTooLarge)].items;
  }

  std::shared_ptr<FakeReceiver> receiver_ = std::make_shared<FakeReceiver>();
  JumpingClock clock_;
  SignalTraits traits_;
  std::unique_ptr<ExportQueue> queue_;
};

TEST_F(ExportQueueSplitTest, HalvesAndResendsOnce) {
  Limit(60, false);
  Start(HalveBytes);
  AddAndFlush(100);
  EXPECT_THAT(receiver_->Sent(), ElementsAre(SizeIs(100), SizeIs(50), SizeIs(50)));
  EXPECT_EQ(queue_->Counts().delivered.items, 100u);
  EXPECT_EQ(queue_->Counts().splits, 1u);
}

TEST_F(ExportQueueSplitTest, HalvesAgainUntilItFits) {
  Limit(10, false);
  Start(HalveBytes);
  AddAndFlush(1000);
  EXPECT_EQ(queue_->Counts().delivered.items, 1000u);
  EXPECT_EQ(LostAsTooLarge(), 0u);
  EXPECT_EQ(Taken(), std::string(1000, 'x'));
  // What was learned is used: the next one costs no refused request.
  const uint64_t attempts = queue_->Counts().attempts;
  EXPECT_GE(queue_->size_limit(), 5u);
  EXPECT_LE(queue_->size_limit(), 10u);
  AddAndFlush(queue_->size_limit());
  EXPECT_EQ(queue_->Counts().attempts, attempts + 1);
  const size_t sent = receiver_->Sent().size();
  AddAndFlush(1000);
  for (size_t i = sent; i < receiver_->Sent().size(); ++i)
    EXPECT_LE(receiver_->Sent()[i].size(), 10u);
  EXPECT_EQ(queue_->Counts().delivered.items, 2000 + queue_->size_limit());
}

TEST_F(ExportQueueSplitTest, OnlyASampleThatIsTooLargeByItselfIsLost) {
  receiver_->judge = [](const Payload& batch) -> SendResult {
    if (batch.bytes.find('!') == std::string::npos) return {.kind = Kind::kDelivered};
    return {.kind = Kind::kTooLarge, .message = "too large"};
  };
  Start(HalveBytes);
  queue_->Add(MakeBatch(std::string(700, 'x') + "!" + std::string(299, 'x'), 1000));
  ASSERT_TRUE(queue_->Flush(std::chrono::seconds(20)));
  EXPECT_EQ(LostAsTooLarge(), 1u);
  EXPECT_EQ(queue_->Counts().delivered.items, 999u);
}

TEST_F(ExportQueueSplitTest, ALimitThatTheReceiverNamesIsKeptFromThenOn) {
  Limit(30, true);
  Start(HalveBytes);
  AddAndFlush(100);
  EXPECT_THAT(receiver_->Sent(),
              ElementsAre(SizeIs(100), SizeIs(25), SizeIs(25), SizeIs(25), SizeIs(25)));
  EXPECT_EQ(queue_->Counts().learned_size_limit, 30u);
  AddAndFlush(60);  // Not even tried in one piece.
  EXPECT_THAT(receiver_->Sent(), SizeIs(7));
  EXPECT_EQ(queue_->Counts().delivered.items, 160u);
  EXPECT_EQ(LostAsTooLarge(), 0u);
}

TEST_F(ExportQueueSplitTest, ALimitIsForgottenWhenSomethingLargerGetsThrough) {
  Limit(1, true);
  Start([](const Payload&) { return std::vector<Payload>(); });
  AddAndFlush(10);
  EXPECT_EQ(LostAsTooLarge(), 10u);
  Limit(100, true);
  AddAndFlush(10);
  EXPECT_EQ(queue_->Counts().learned_size_limit, 0u);
  EXPECT_EQ(queue_->Counts().delivered.items, 10u);
}

TEST_F(ExportQueueSplitTest, PartsThatDoNotAddUpAreNotSent) {
  Limit(60, false);
  Start([](const Payload& batch) {
    std::vector<Payload> parts = HalveBytes(batch);
    parts.back() = MakeBatch(parts.back().bytes, 1);
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
