// What a batch may weigh, and what becomes of records that cannot be read.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "agent/sampling/markers.h"
#include "tests/agent/sampling/loop_bench.h"
#include "tests/agent/sampling/sample_stream.h"
#include "tests/reporter/decoded_batch.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::test {
namespace {

constexpr int kRecords = 3'000;

struct Totals {
  std::set<uint64_t> times;  // BOOTTIME, of samples that are no losses.
  uint64_t samples = 0, twice = 0;
  std::map<std::string, uint64_t> lost;
  uint64_t over_limit = 0, alone_over_limit = 0;
};

bool IsLost(const DecodedBatch& batch, const DecodedSample& sample, std::string* name) {
  if (sample.frames.size() != 1) return false;
  const DecodedFrame& frame = batch.frames[static_cast<size_t>(sample.frames[0])];
  if (frame.type != "abort-marker" || frame.lines.empty()) return false;
  *name = frame.lines[0].function;
  return name->starts_with("[lost:");
}

void CountBatch(const SealedBatch& sealed, int64_t wall_offset_ns, size_t limit, Totals* totals) {
  const absl::StatusOr<DecodedBatch> batch = DecodeBatch(sealed.bytes);
  ASSERT_TRUE(batch.ok()) << batch.status();
  if (sealed.bytes.size() > limit)
    ++(sealed.samples == 1 ? totals->alone_over_limit : totals->over_limit);
  for (const DecodedSample& sample : batch->samples) {
    std::string name;
    if (IsLost(*batch, sample, &name)) {
      totals->lost[name] += static_cast<uint64_t>(sample.count);
      continue;
    }
    for (int64_t time : sample.timestamps_unix_ns) {
      ++totals->samples;
      if (!totals->times.insert(static_cast<uint64_t>(time - wall_offset_ns)).second)
        ++totals->twice;
    }
  }
}

class Limits : public testing::TestWithParam<size_t> {};

TEST_P(Limits, HoldAndLoseNothing) {
  const TemporaryDirectory directory;
  TestClock clock;
  SampleStream stream(7, directory.File("."), &clock);
  SampleLoopSettings settings;
  settings.batch.keep_timestamps = true;
  settings.max_batch_bytes = GetParam();
  LoopBench bench(clock, settings, std::nullopt);
  for (int i = 0; i < kRecords; ++i) bench.Take(stream.Next().bytes());
  bench.loop().Seal();
  Totals totals;
  for (const SealedBatchPtr& batch : bench.batches())
    CountBatch(*batch, clock.wall_offset_ns, GetParam(), &totals);
  EXPECT_EQ(totals.over_limit, 0u);
  EXPECT_EQ(totals.twice, 0u);
  EXPECT_EQ(totals.times, stream.sample_times());
  EXPECT_EQ(totals.lost["[lost: damaged record]"], stream.counts().damaged);
  EXPECT_EQ(totals.lost.size(), 1u);
  EXPECT_EQ(bench.loop().counts().damaged_records, stream.counts().damaged);
  EXPECT_EQ(bench.loop().counts().samples, stream.counts().samples);
  EXPECT_GT(stream.counts().damaged, 0u);
  printf("limit %zu: %zu batches, %llu of one sample over it\n", GetParam(), bench.batches().size(),
         static_cast<unsigned long long>(totals.alone_over_limit));
}

INSTANTIATE_TEST_SUITE_P(Bytes, Limits, testing::Values(200, 20'000, 300'000, 3'670'016));

SampleParts OneFrame(uint32_t pid) {
  SampleParts parts{.process = {.pid = pid, .exec_id = 1, .start_time_ns = 1}, .time_ns = 1};
  parts.user = {FrameWord(FRAME_NO_RANGE, 0, 0x1234)};
  return parts;
}

// Every single byte of a record's counts, kinds and sizes turned around: nothing crashes, and what
// is refused is counted once.
TEST(DamagedRecords, AreCountedOneByOne) {
  TestClock clock;
  SampleParts parts = OneFrame(9);
  parts.ranges = {JitRange(), MissingFileRange(3)};
  parts.user = {FrameWord(FRAME_EXACT, 1, 0x1100), FrameWord(FRAME_RETURN, 0, 0x20)};
  const RecordBytes good = MakeSample(parts);
  LoopBench bench(clock, {}, std::nullopt);
  uint64_t taken = 0;
  for (size_t at = 0; at < good.size; ++at) {
    for (uint8_t flip : {0x01, 0x80, 0xff}) {
      RecordBytes damaged = good;
      damaged.data()[at] ^= flip;
      bench.Take(damaged.bytes());
      ++taken;
    }
  }
  for (size_t size = 0; size < good.size; ++size, ++taken) bench.Take(good.bytes().first(size));
  bench.loop().Seal();
  const SampleLoopCounts counts = bench.loop().counts();
  // One that says it is of a waiting thread opens a wait, which is no sample before it has lasted.
  const uint64_t open_waits = bench.loop().waits().size();
  EXPECT_EQ(open_waits, 1u);
  // One that names other captures is none of the loop's own.
  EXPECT_GT(counts.of_others, 0u);
  EXPECT_EQ(counts.samples + counts.of_others + counts.events + counts.damaged_records + open_waits,
            taken);
  EXPECT_GE(counts.damaged_records, good.size);
  EXPECT_EQ(bench.samples(), counts.samples + counts.damaged_records);
  ASSERT_EQ(bench.batches().size(), 1u);
  EXPECT_EQ(bench.batches()[0]->lost_samples, counts.damaged_records);
}

TEST(Losses, TravelAsSamplesOfTheHost) {
  TestClock clock;
  LoopBench bench(clock, {}, std::nullopt);
  bench.loop().AddLost(static_cast<uint64_t>(SamplingLoss::kRingFull), 41);
  bench.loop().AddLost(static_cast<uint64_t>(SamplingLoss::kScratchBusy), 0);
  bench.loop().AddLost(static_cast<uint64_t>(SamplingLoss::kRingFull), 1);
  bench.loop().Seal();
  ASSERT_EQ(bench.batches().size(), 1u);
  Totals totals;
  CountBatch(*bench.batches()[0], clock.wall_offset_ns, SIZE_MAX, &totals);
  EXPECT_EQ(totals.lost, (std::map<std::string, uint64_t>{{"[lost: ring full]", 42}}));
  EXPECT_EQ(bench.batches()[0]->lost_samples, 42u);
}

TEST(EmptyBatches, AreNotSent) {
  TestClock clock;
  LoopBench bench(clock, {}, std::nullopt);
  bench.loop().Seal();
  EXPECT_TRUE(bench.batches().empty());
  bench.Take(MakeSample(OneFrame(5'000'001)).bytes());
  bench.loop().Seal();
  bench.loop().Seal();
  EXPECT_EQ(bench.batches().size(), 1u);
}

}  // namespace
}  // namespace stackray::test
