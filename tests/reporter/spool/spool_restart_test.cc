// One process after another on the same spool.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/reporter/export/test_batches.h"
#include "tests/reporter/spool/spool_fixture.h"

namespace stackray {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = SendResult::Kind;

constexpr seconds kLong{20};

// Each run has a receiver and hooks of its own.
struct OneRun {
  OneRun(const std::string& directory, SpoolSettings spool, bool up) {
    spool.directory = directory;
    spool.receiver = kReceiver;
    if (!up) receiver->Hold();
    queue =
        ExportQueue::Start(std::make_unique<FakeTransport>(receiver),
                           {.retry = {.first = seconds(3600)}, .clock = nullptr, .traits = &traits},
                           told.Hooks(), MustOpen(spool));
  }
  std::shared_ptr<FakeReceiver> receiver = std::make_shared<FakeReceiver>();
  Told told;
  SignalTraits traits = SplitBy(HalveBytes);
  std::unique_ptr<ExportQueue> queue;
};

class SpoolRestart : public testing::Test {
 protected:
  OneRun Run(bool up, SpoolSettings spool = {}) { return {scratch_.path(), std::move(spool), up}; }
  std::vector<std::string> Files() const { return SpoolFiles(scratch_.path()); }
  // A run that finds nobody there, and ends in order.
  void LeaveBehind(const std::vector<std::pair<std::string, uint64_t>>& batches,
                   SpoolSettings spool = {}) {
    OneRun run = Run(false, std::move(spool));
    for (const auto& [bytes, samples] : batches) run.queue->Add(MakeBatch(bytes, samples));
    EXPECT_FALSE(run.queue->Flush(std::chrono::milliseconds(1)));
    run.queue->Stop();
    const DeliveryCounts counts = run.queue->Counts();
    EXPECT_TRUE(AddsUp(counts));
    EXPECT_EQ(counts.spooled, counts.in_flight);
    EXPECT_EQ(counts.LostInAll(), ItemCount{});
  }

  ScratchDirectory scratch_;
};

TEST_F(SpoolRestart, WhatWasLeftIsDeliveredFirst) {
  LeaveBehind({{"one", 1}, {"two", 2}, {"three", 4}});
  OneRun run = Run(true);
  run.queue->Add(MakeBatch("four", 8));
  ASSERT_TRUE(run.queue->Flush(kLong));
  EXPECT_THAT(run.receiver->Sent(), ElementsAre("one", "two", "three", "four"));
  const DeliveryCounts counts = run.queue->Counts();
  EXPECT_EQ(counts.produced.items, 15u);
  EXPECT_EQ(counts.recovered.items, 7u);
  EXPECT_EQ(counts.delivered.items, 15u);
  EXPECT_TRUE(AddsUp(counts));
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(SpoolRestart, WhatWasDeliveredDoesNotComeAgain) {
  {
    OneRun run = Run(true);
    run.queue->Add(MakeBatch("delivered", 1));
    ASSERT_TRUE(run.queue->Flush(kLong));
    run.receiver->Hold();
    run.queue->Add(MakeBatch("not yet", 2));
    run.queue->Stop();
  }
  OneRun run = Run(true);
  ASSERT_TRUE(run.queue->Flush(kLong));
  EXPECT_THAT(run.receiver->Sent(), ElementsAre("not yet"));
}

TEST_F(SpoolRestart, WhatIsDamagedIsCountedAndTheRestDelivered) {
  LeaveBehind({{"good", 1}, {"torn", 2}, {"flipped", 4}, {"emptied", 8}, {"good too", 16}});
  std::filesystem::resize_file(Files()[1], 66);
  FlipBit(Files()[2], 30);
  std::filesystem::resize_file(Files()[3], 0);
  OneRun run = Run(true);
  EXPECT_TRUE(AddsUp(run.queue->Counts()));
  ASSERT_TRUE(run.queue->Flush(kLong));
  run.queue->Stop();
  EXPECT_THAT(run.receiver->Sent(), ElementsAre("good", "good too"));
  const DeliveryCounts counts = run.queue->Counts();
  EXPECT_EQ(counts.recovered.items, 31u);
  EXPECT_EQ(counts.delivered.items, 17u);
  EXPECT_EQ(LostTo(counts, LossReason::kSpoolDamaged), 14u);
  EXPECT_EQ(counts.lost, run.told.lost());
  EXPECT_TRUE(AddsUp(counts));
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(SpoolRestart, AgeGoesOnWhileNobodyRuns) {
  int64_t now_ms = 1'790'000'000'000;
  SpoolSettings settings{.now_ms = [&now_ms] { return now_ms; }};
  LeaveBehind({{"old", 1}}, settings);
  now_ms += 5 * 3'600'000;
  LeaveBehind({{"young", 2}}, settings);
  now_ms += 2 * 3'600'000;
  OneRun run = Run(true, settings);
  ASSERT_TRUE(run.queue->Flush(kLong));
  EXPECT_THAT(run.receiver->Sent(), ElementsAre("young"));
  EXPECT_EQ(LostTo(run.queue->Counts(), LossReason::kSpoolAge), 1u);
}

TEST_F(SpoolRestart, AClockThatWasSetBackLosesNothing) {
  int64_t now_ms = 1'790'000'000'000;
  SpoolSettings settings{.now_ms = [&now_ms] { return now_ms; }};
  LeaveBehind({{"from the future", 1}}, settings);
  now_ms -= 24 * 3'600'000;
  OneRun run = Run(true, settings);
  ASSERT_TRUE(run.queue->Flush(kLong));
  EXPECT_EQ(run.queue->Counts().delivered.items, 1u);
}

TEST_F(SpoolRestart, ASmallerBoundDropsTheOldest) {
  LeaveBehind({{"one", 1}, {"two", 2}, {"three", 4}});
  OneRun run = Run(true, {.max_bytes = 2 * 4096});
  ASSERT_TRUE(run.queue->Flush(kLong));
  EXPECT_THAT(run.receiver->Sent(), ElementsAre("two", "three"));
  EXPECT_EQ(LostTo(run.queue->Counts(), LossReason::kSpoolFull), 1u);
}

TEST_F(SpoolRestart, PartsOfASplitBatchAreNotDeliveredTwice) {
  {
    OneRun run = Run(true);
    run.receiver->judge = [](const Payload& batch) -> SendResult {
      if (batch.bytes.size() > 4) return {.kind = Kind::kTooLarge, .message = "too large"};
      if (batch.bytes == "ABCD") return {.kind = Kind::kDelivered};
      return {.kind = Kind::kRetry, .message = "gone"};
    };
    run.queue->Add(MakeBatch("ABCDEFGH", 8));
    ASSERT_TRUE(Eventually([&] { return run.queue->Counts().retries == 1; }));
    EXPECT_EQ(run.queue->Counts().delivered.items, 4u);
    run.queue->Stop();
  }
  EXPECT_THAT(Files(), SizeIs(1));
  OneRun run = Run(true);
  ASSERT_TRUE(run.queue->Flush(kLong));
  EXPECT_THAT(run.receiver->Sent(), ElementsAre("EFGH"));
  EXPECT_EQ(run.queue->Counts().recovered.items, 4u);
}

TEST_F(SpoolRestart, AnotherQueueGoesOnWhereOneWasTakenFrom) {
  OneRun first = Run(false);
  first.queue->Add(MakeBatch("sent in vain", 1));
  ASSERT_TRUE(Eventually([&] { return first.receiver->Sent().size() == 1; }));
  first.queue->Add(MakeBatch("waits", 2));
  EXPECT_THAT(first.queue->TakeUnsent(), IsEmpty());
  DeliveryCounts sum = first.queue->Counts();
  EXPECT_EQ(sum.in_flight, ItemCount{});
  EXPECT_EQ(sum.spooled.items, 3u);
  EXPECT_TRUE(AddsUp(sum));
  OneRun second = Run(true);  // The spool is closed, though the first queue still lives.
  ASSERT_TRUE(second.queue->Flush(kLong));
  EXPECT_THAT(second.receiver->Sent(), ElementsAre("sent in vain", "waits"));
  const DeliveryCounts counts = second.queue->Counts();
  sum.produced += counts.produced;
  sum.recovered += counts.recovered;
  EXPECT_EQ(sum.produced.items, 3u);
  EXPECT_EQ(sum.recovered, ItemCount{});
}

TEST(TakeUnsent, HandsOverWhatIsInMemory) {
  auto receiver = std::make_shared<FakeReceiver>();
  receiver->Hold();
  const auto queue = ExportQueue::Start(std::make_unique<FakeTransport>(receiver), {}, {});
  queue->Add(MakeBatch("one", 1));
  ASSERT_TRUE(Eventually([&] { return receiver->Sent().size() == 1; }));
  queue->Add(MakeBatch("two", 2));
  const std::vector<Payload> unsent = queue->TakeUnsent();
  ASSERT_THAT(unsent, SizeIs(2));
  EXPECT_EQ(unsent[0].bytes, "one");
  EXPECT_EQ(unsent[1].bytes, "two");
  queue->Stop();
  EXPECT_EQ(queue->Counts().produced, ItemCount{});
  EXPECT_TRUE(AddsUp(queue->Counts()));
}

}  // namespace
}  // namespace stackray
