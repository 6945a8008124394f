// Real batches through the queue to a receiver with a small limit that it does not name: every
// sample arrives, line by line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "reporter/check.h"
#include "reporter/export/export_queue.h"
#include "tests/reporter/batch_events.h"
#include "tests/reporter/export/fake_transport.h"
#include "tests/reporter/export/sample_lines.h"
#include "tests/reporter/export/test_batches.h"

namespace stackray {
namespace {

std::vector<std::string> Lines(const std::string& bytes) {
  absl::StatusOr<std::vector<std::string>> lines = SampleLines(bytes);
  EXPECT_TRUE(lines.ok()) << lines.status();
  return lines.ok() ? *std::move(lines) : std::vector<std::string>();
}

// How much smaller than a batch the limit is.
class SplitToLimit : public testing::TestWithParam<size_t> {};

TEST_P(SplitToLimit, EverySampleArrivesOnce) {
  const auto receiver = std::make_shared<FakeReceiver>();
  std::vector<SealedBatchPtr> batches;
  std::vector<std::string> expected, arrived;
  uint64_t samples = 0;
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    batches.push_back(BatchEvents(seed, false)
                          .Replay(0, 600)
                          .Seal(1'700'000'000'000'000'000, 1'700'000'001'000'000'000));
    for (const std::string& line : Lines(batches.back()->bytes)) expected.push_back(line);
    samples += batches.back()->samples;
  }
  const size_t limit = batches[0]->bytes.size() / GetParam();
  receiver->judge = [limit](const Payload& batch) -> SendResult {
    if (batch.bytes.size() <= limit) return {.kind = SendResult::Kind::kDelivered};
    return {.kind = SendResult::Kind::kTooLarge, .message = "HTTP 413"};
  };
  JumpingClock clock;
  const auto queue =
      ExportQueue::Start(std::make_unique<FakeTransport>(receiver), {.clock = &clock}, {});
  for (const SealedBatchPtr& batch : batches) queue->Add(Payload::Of(batch));
  ASSERT_TRUE(queue->Flush(std::chrono::seconds(60)));
  const DeliveryCounts counts = queue->Counts();
  EXPECT_EQ(counts.delivered.items, samples);
  EXPECT_EQ(counts.LostInAll(), ItemCount{});
  EXPECT_TRUE(AddsUp(counts));
  EXPECT_LE(counts.learned_size_limit, limit);
  EXPECT_GE(counts.learned_size_limit, limit / 4);
  for (const std::string& bytes : receiver->Sent()) {
    if (bytes.size() > limit) continue;
    EXPECT_TRUE(CheckBatch(bytes).empty());
    for (const std::string& line : Lines(bytes)) arrived.push_back(line);
  }
  std::ranges::sort(expected);
  std::ranges::sort(arrived);
  EXPECT_EQ(arrived, expected);
}

INSTANTIATE_TEST_SUITE_P(Times, SplitToLimit, testing::Values(3, 8));

}  // namespace
}  // namespace stackray
