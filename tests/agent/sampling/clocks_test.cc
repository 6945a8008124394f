// Clocks that change under the loop: the sampling clock's rate, and the wall clock.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "reporter/check.h"
#include "tests/agent/sampling/loop_bench.h"
#include "tests/agent/sampling/sample_stream.h"
#include "tests/reporter/decoded_batch.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::test {
namespace {

constexpr int64_t kHourNs = 3'600'000'000'000;

RecordBytes SampleAt(uint64_t time_ns) {
  SampleParts parts{.process = {.pid = 5'000'001, .exec_id = 1, .start_time_ns = 1},
                    .time_ns = time_ns};
  parts.user = {FrameWord(FRAME_NO_RANGE, 0, 0x1234)};
  return MakeSample(parts);
}

struct PeriodAndSamples {
  double period_ns = 0;
  uint64_t samples = 0;
  friend bool operator==(const PeriodAndSamples&, const PeriodAndSamples&) = default;
  friend std::ostream& operator<<(std::ostream& out, const PeriodAndSamples& p) {
    return out << p.samples << " samples of " << p.period_ns << " ns";
  }
};

// Of each batch, by profile.
using Periods = std::vector<PeriodAndSamples>;
std::vector<Periods> PeriodsOf(const LoopBench& bench) {
  std::vector<Periods> batches;
  for (const SealedBatchPtr& sealed : bench.batches()) {
    const absl::StatusOr<DecodedBatch> batch = DecodeBatch(sealed->bytes);
    EXPECT_TRUE(batch.ok()) << batch.status();
    EXPECT_TRUE(CheckBatch(sealed->bytes).empty());
    Periods& periods = batches.emplace_back();
    if (!batch.ok()) continue;
    for (const DecodedSample& sample : batch->samples) {
      if (periods.empty() || periods.back().period_ns != sample.period_ns)
        periods.push_back({sample.period_ns, 0});
      periods.back().samples += static_cast<uint64_t>(sample.count);
    }
  }
  return batches;
}

SampleLoopSettings At(double frequency_hz) {
  SampleLoopSettings settings;
  settings.batch.frequency_hz = frequency_hz;
  return settings;
}

TEST(FrequencyChange, EachProfileHasOnePeriod) {
  TestClock clock;
  LoopBench bench(clock, At(100), std::nullopt);
  uint64_t time = clock.boot_time_ns;
  for (int i = 0; i < 40; ++i) bench.Take(SampleAt(time += 10'000'000).bytes());
  bench.loop().ChangeFrequency(25, time + 5'000'000);
  // What was taken before the change may come out of the ring after it.
  bench.Take(SampleAt(time + 4'999'999).bytes());
  for (int i = 0; i < 10; ++i) bench.Take(SampleAt(time += 40'000'000).bytes());
  bench.loop().Seal();
  EXPECT_EQ(PeriodsOf(bench), (std::vector<Periods>{{{1e7, 41}, {4e7, 10}}}));
}

TEST(FrequencyChange, SeveralMayBeUnderWay) {
  TestClock clock;
  LoopBench bench(clock, At(100), std::nullopt);
  bench.loop().ChangeFrequency(50, 1000);
  bench.loop().ChangeFrequency(25, 2000);
  bench.loop().ChangeFrequency(100, 3000);
  bench.Take(SampleAt(999).bytes());
  bench.Take(SampleAt(1000).bytes());
  bench.Take(SampleAt(3000).bytes());  // At 25 Hz there was none.
  bench.loop().ChangeFrequency(50, 4000);
  bench.loop().Seal();  // Time for a batch, and the change is still to come.
  bench.Take(SampleAt(3500).bytes());
  bench.Take(SampleAt(4000).bytes());
  bench.loop().Seal();
  EXPECT_EQ(PeriodsOf(bench), (std::vector<Periods>{{{1e7, 2}, {2e7, 1}}, {{1e7, 1}, {2e7, 1}}}));
}

TEST(FrequencyChange, WithoutSamplesThereIsNoBatch) {
  TestClock clock;
  LoopBench bench(clock, At(100), std::nullopt);
  bench.loop().ChangeFrequency(50, 1000);
  bench.loop().Seal();
  bench.Take(SampleAt(5000).bytes());
  bench.loop().Seal();
  EXPECT_EQ(PeriodsOf(bench), (std::vector<Periods>{{{2e7, 1}}}));
}

// A stream of samples, forks, execs and exits, during which somebody sets the wall clock an hour
// back, and forth.
TEST(WallClockJumps, LeaveEveryBatchValidAndInOrder) {
  const TemporaryDirectory directory;
  TestClock clock;
  SampleStream stream(11, directory.File("."), &clock);
  SampleLoopSettings settings = At(100);
  settings.batch.keep_timestamps = true;
  LoopBench bench(clock, settings, std::nullopt);
  std::mt19937 random(3);
  std::vector<int64_t> offsets = {
      clock.wall_offset_ns};  // Of each batch: as it was when it was opened.
  int jumps = 0;
  for (int i = 0; i < 3000; ++i) {
    bench.Take(stream.Next().bytes());
    if (random() % 60 == 0) {
      clock.wall_offset_ns += random() % 2 == 0 ? kHourNs : -kHourNs;
      ++jumps;
    }
    if (i % 100 != 99) continue;
    bench.loop().Seal();
    offsets.push_back(clock.wall_offset_ns);
  }
  EXPECT_GT(jumps, 20);
  ASSERT_EQ(bench.batches().size() + 1, offsets.size());
  std::set<uint64_t> times;  // Of the clock that does not jump.
  uint64_t latest_of_all = 0;
  for (size_t i = 0; i < bench.batches().size(); ++i) {
    const SealedBatch& sealed = *bench.batches()[i];
    EXPECT_TRUE(CheckBatch(sealed.bytes).empty());
    const absl::StatusOr<DecodedBatch> batch = DecodeBatch(sealed.bytes);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_LT(sealed.duration_ns, kHourNs / 2) << "a jump is no time that passed";
    uint64_t latest = 0;
    for (const DecodedSample& sample : batch->samples) {
      for (const int64_t time : sample.timestamps_unix_ns) {
        EXPECT_GE(time, sealed.start_unix_ns);
        EXPECT_LE(time, sealed.start_unix_ns + sealed.duration_ns);
        const auto boot_ns = static_cast<uint64_t>(time - offsets[i]);
        if (stream.sample_times().contains(boot_ns)) times.insert(boot_ns);
        latest = std::max(latest, boot_ns);
      }
    }
    EXPECT_GT(latest, latest_of_all) << "batch " << i << " is older than the one before it";
    latest_of_all = latest;
  }
  EXPECT_EQ(times, stream.sample_times()) << "a time was turned with another batch's offset";
}

}  // namespace
}  // namespace stackray::test
