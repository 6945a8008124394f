// The statelessness of design.md §3, as a property of thousands of records: whatever is forgotten, and
// whenever, no batch says anything else.
#include <gtest/gtest.h>

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
  bool keep_timestamps;
  uint32_t seal_one_in, wipe_one_in;
};
void PrintTo(const WipeCase& c, std::ostream* out) { *out << c.name; }

class Wiping : public testing::TestWithParam<WipeCase> {
 protected:
  std::unique_ptr<LoopBench> MakeLoop(const SampleStream& stream) {
    std::optional<KernelSymbols> kernel;
    if (stream.kernel()) {
      absl::StatusOr<KernelSymbols> loaded = KernelSymbols::Load(stream.kernel()->files);
      EXPECT_TRUE(loaded.ok()) << loaded.status();
      if (loaded.ok()) kernel = *std::move(loaded);
    }
    SampleLoopSettings settings;
    settings.batch.keep_timestamps = GetParam().keep_timestamps;
    settings.batch.host_name = "host";
    return std::make_unique<LoopBench>(clock_, settings, std::move(kernel));
  }

  void ExpectSameBatches(const LoopBench& kept, const LoopBench& wiped, const LoopBench& again) {
    ASSERT_EQ(kept.batches().size(), wiped.batches().size());
    ASSERT_EQ(kept.batches().size(), again.batches().size());
    for (size_t i = 0; i < kept.batches().size(); ++i) {
      const std::vector<std::string> meaning = MeaningOf(kept.batches()[i]->bytes);
      ASSERT_FALSE(meaning.empty()) << "batch " << i;
      const std::vector<std::string> wiped_meaning = MeaningOf(wiped.batches()[i]->bytes);
      ASSERT_EQ(meaning.size(), wiped_meaning.size()) << "batch " << i;
      for (size_t line = 0; line < meaning.size(); ++line)
        ASSERT_EQ(meaning[line], wiped_meaning[line]) << "batch " << i;
      ASSERT_EQ(kept.batches()[i]->bytes, again.batches()[i]->bytes) << "batch " << i;
      const std::vector<RuleViolation> violations = CheckBatch(wiped.batches()[i]->bytes);
      ASSERT_TRUE(violations.empty()) << "batch " << i << ": " << violations[0].where << ": "
                                      << BatchRuleSentence(violations[0].rule);
    }
  }

  TestClock clock_;
};

// `again` gets the same records as `kept`: byte-identical input gives byte-identical output.
TEST_P(Wiping, LeavesEveryBatchAsItWas) {
  if (!CanOpenMappedFiles()) GTEST_SKIP() << "mapped files cannot be opened: not root";
  const WipeCase& c = GetParam();
  const TemporaryDirectory directory;
  SampleStream stream(c.seed, directory.File("."), &clock_);
  const std::unique_ptr<LoopBench> kept = MakeLoop(stream), wiped = MakeLoop(stream),
                                   again = MakeLoop(stream);
  std::mt19937 random(static_cast<uint32_t>(c.seed) + 1000);
  uint64_t wipes = 0;
  const auto maybe_wipe = [&](uint32_t one_in) {
    if (random() % one_in != 0) return;
    wiped->Wipe();
    ++wipes;
  };
  for (int i = 0; i < c.records; ++i) {
    const RecordBytes record = stream.Next();
    for (LoopBench* bench : {kept.get(), wiped.get(), again.get()})
      bench->loop().Take(record.bytes());
    maybe_wipe(c.wipe_one_in);
    if (random() % c.seal_one_in != 0) continue;
    for (LoopBench* bench : {kept.get(), wiped.get(), again.get()}) bench->loop().Seal();
    maybe_wipe(10);
    if (random() % 10 == 0) clock_.wall_offset_ns += 3'600'000'000'000;  // Somebody sets the clock.
  }
  for (LoopBench* bench : {kept.get(), wiped.get(), again.get()}) bench->loop().Seal();
  ExpectSameBatches(*kept, *wiped, *again);
  EXPECT_EQ(wiped->samples(), stream.counts().samples + stream.counts().damaged);
  EXPECT_GT(stream.counts().after_death, 0u);
  printf(
      "%s: %d records, %zu batches, %llu wipes, %llu deaths with %llu samples after them, %llu "
      "raw\n",
      c.name, c.records, kept->batches().size(), (unsigned long long)wipes,
      (unsigned long long)stream.counts().deaths, (unsigned long long)stream.counts().after_death,
      (unsigned long long)stream.counts().raw);
}

INSTANTIATE_TEST_SUITE_P(Streams, Wiping,
                         testing::Values(WipeCase{"timestamps", 1, 12'000, true, 11, 60},
                                         WipeCase{"counts", 2, 3'000, false, 100, 20}),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace stackray::test
