// The statelessness of the reporter, as a property of thousands of records: whatever is forgotten,
// and whenever, no batch says anything else. STACKRAY_WIPING_RECORDS=1000000 makes a proof of it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <ostream>
#include <random>

#include "reporter/check.h"
#include "tests/agent/sampling/batch_meaning.h"
#include "tests/agent/sampling/loop_bench.h"
#include "tests/agent/sampling/sample_stream.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::test {
namespace {

struct WipeCase {
  const char* name;
  uint64_t seed;
  int records;
  bool keep_timestamps, kernel_changes;
  uint32_t seal_one_in, wipe_one_in;
  bool source_lines = false;  // Every wipe then costs opening all debug information again.
};
void PrintTo(const WipeCase& c, std::ostream* out) { *out << c.name; }

// The records of a case, or as many as the environment asks for.
int RecordsOf(const WipeCase& c) {
  const char* asked = std::getenv("STACKRAY_WIPING_RECORDS");
  return asked != nullptr ? std::atoi(asked) : c.records;
}

// Three loops that get the same records: one never forgets, one forgets at random, one is the first
// once more, because equal input must give equal bytes.
class ThreeLoops {
 public:
  ThreeLoops(const WipeCase& c, SampleStream* stream, const TestClock& clock)
      : random_(static_cast<uint32_t>(c.seed) + 1000), wipe_one_in_(c.wipe_one_in) {
    for (std::unique_ptr<LoopBench>* loop : {&kept_, &wiped_, &again_})
      *loop = MakeLoop(c, stream, clock);
  }

  void Take(const RecordBytes& record) {
    for (LoopBench* loop : {kept_.get(), wiped_.get(), again_.get()}) loop->Take(record.bytes());
    MaybeWipe(wipe_one_in_);
  }

  // Seals, perhaps wipes before anybody has read the batches, and compares them.
  void SealAndCompare() {
    for (LoopBench* loop : {kept_.get(), wiped_.get(), again_.get()}) loop->loop().Seal();
    MaybeWipe(10);
    const std::vector<SealedBatchPtr> kept = kept_->TakeBatches(), wiped = wiped_->TakeBatches(),
                                      again = again_->TakeBatches();
    ASSERT_EQ(kept.size(), wiped.size());
    ASSERT_EQ(kept.size(), again.size());
    for (size_t i = 0; i < kept.size(); ++i) {
      ASSERT_EQ(kept[i]->bytes, again[i]->bytes) << "batch " << batches_;
      ASSERT_NO_FATAL_FAILURE(Compare(*kept[i], *wiped[i]));
      ++batches_;
    }
  }

  bool Chance(uint32_t one_in) { return random_() % one_in == 0; }
  uint64_t batches() const { return batches_; }
  uint64_t wipes() const { return wipes_; }
  uint64_t samples() const { return samples_; }

 private:
  static std::unique_ptr<LoopBench> MakeLoop(const WipeCase& c, SampleStream* stream,
                                             const TestClock& clock) {
    std::optional<KernelSymbols> kernel;
    if (stream->kernel()) {
      std::unique_ptr<CodeEvents> events;
      if (stream->changing_kernel() != nullptr) events = stream->changing_kernel()->NewReader();
      absl::StatusOr<KernelSymbols> loaded =
          KernelSymbols::Load(stream->kernel()->files, std::move(events));
      EXPECT_TRUE(loaded.ok()) << loaded.status();
      if (loaded.ok()) kernel = *std::move(loaded);
    }
    SampleLoopSettings settings;
    settings.batch.keep_timestamps = c.keep_timestamps;
    settings.batch.host_name = "host";
    return std::make_unique<LoopBench>(clock, settings, std::move(kernel), c.source_lines);
  }

  void MaybeWipe(uint32_t one_in) {
    if (!Chance(one_in)) return;
    wiped_->Wipe();
    ++wipes_;
  }

  void Compare(const SealedBatch& kept, const SealedBatch& wiped) {
    samples_ += wiped.samples;
    const std::vector<std::string> meaning = MeaningOf(kept.bytes);
    ASSERT_FALSE(meaning.empty()) << "batch " << batches_;
    const std::vector<std::string> wiped_meaning = MeaningOf(wiped.bytes);
    ASSERT_EQ(meaning.size(), wiped_meaning.size()) << "batch " << batches_;
    for (size_t line = 0; line < meaning.size(); ++line)
      ASSERT_EQ(meaning[line], wiped_meaning[line]) << "batch " << batches_;
    const std::vector<RuleViolation> violations = CheckBatch(wiped.bytes);
    ASSERT_TRUE(violations.empty()) << "batch " << batches_ << ": " << violations[0].where << ": "
                                    << BatchRuleSentence(violations[0].rule);
  }

  std::mt19937 random_;
  const uint32_t wipe_one_in_;
  std::unique_ptr<LoopBench> kept_, wiped_, again_;
  uint64_t batches_ = 0, wipes_ = 0, samples_ = 0;
};

class Wiping : public testing::TestWithParam<WipeCase> {};

TEST_P(Wiping, LeavesEveryBatchAsItWas) {
  if (!CanOpenMappedFiles()) GTEST_SKIP() << "mapped files cannot be opened: not root";
  const WipeCase& c = GetParam();
  const int records = RecordsOf(c);
  const TemporaryDirectory directory;
  TestClock clock;
  SampleStream stream(c.seed, directory.File("."), &clock, c.kernel_changes);
  ThreeLoops loops(c, &stream, clock);
  for (int i = 0; i < records; ++i) {
    loops.Take(stream.Next());
    if (!loops.Chance(c.seal_one_in)) continue;
    ASSERT_NO_FATAL_FAILURE(loops.SealAndCompare());
    if (loops.Chance(10)) clock.wall_offset_ns += 3'600'000'000'000;  // Somebody sets the clock.
  }
  ASSERT_NO_FATAL_FAILURE(loops.SealAndCompare());
  const SampleStream::Counts& counts = stream.counts();
  EXPECT_EQ(loops.samples(), counts.samples + counts.damaged);
  EXPECT_GT(counts.after_death, 0u);
  EXPECT_GT(loops.wipes(), 0u);
  ChangingKernel::Counts code;
  if (stream.changing_kernel() != nullptr) code = stream.changing_kernel()->counts();
  printf(
      "measured: %s: %d records, %llu batches, %llu wipes, %llu deaths with %llu samples after "
      "them, "
      "%llu raw, %llu modules loaded and %llu unloaded, %llu programs loaded\n",
      c.name, records, (unsigned long long)loops.batches(), (unsigned long long)loops.wipes(),
      (unsigned long long)counts.deaths, (unsigned long long)counts.after_death,
      (unsigned long long)counts.raw, (unsigned long long)code.loads,
      (unsigned long long)code.unloads, (unsigned long long)code.programs);
}

INSTANTIATE_TEST_SUITE_P(Streams, Wiping,
                         testing::Values(WipeCase{"timestamps", 1, 12'000, true, false, 11, 60},
                                         WipeCase{"counts", 2, 3'000, false, false, 100, 20},
                                         WipeCase{"lines", 4, 1'500, true, false, 100, 60, true},
                                         WipeCase{"everything", 3, 20'000, true, true, 300, 400}),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace stackray::test
