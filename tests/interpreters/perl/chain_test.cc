// Recorded processes of each version: the walk in bpf/perl.h and the names, as they were when a
// program stopped itself below evals, callbacks, overloading, a tie and recursion
// (tests/fixtures/perl). And what damage does.
#include <gtest/gtest.h>

#include <filesystem>

#include "bpf/scratch.h"
#include "tests/interpreters/chain_checks.h"
#include "tests/recorder/perl_chain.h"

namespace stackray::test {
namespace {

const std::filesystem::path kFolder = std::string(STACKRAY_SOURCE_DIR) + "/tests/fixtures/perl";

class RecordedPerlChain : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    absl::StatusOr<RecordedPerl> recorded = ParsePerl(ReadText(kFolder / GetParam() / "chain.txt"));
    ASSERT_TRUE(recorded.ok()) << recorded.status();
    recorded_ = *std::move(recorded);
    data_ = PerlData::Make(recorded_.version, recorded_.variables, {});
    ASSERT_TRUE(data_->supported());
  }
  std::string Frames(const MemoryWords& words) const {
    RecordedMemory memory(words);
    const RuntimeChain chain =
        WalkPerlChain(memory, data_->layout(), recorded_.base, recorded_.thread_pointer);
    EXPECT_LE(chain.words.size(), size_t{8 * STAGED_WORDS});
    return DescribeChain(*data_, chain, 0, memory);
  }

  RecordedPerl recorded_;
  std::shared_ptr<const PerlData> data_;
};

TEST_P(RecordedPerlChain, FramesAreAsTheyWere) {
  const std::string expected = ReadText(kFolder / GetParam() / "expected.txt");
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(Frames(recorded_.words), expected);
}

TEST_P(RecordedPerlChain, EachMissingWordCostsFramesAndNoMore) {
  CheckMissingWords(recorded_.words, ReadText(kFolder / GetParam() / "expected.txt"),
                    [this](const MemoryWords& words) { return Frames(words); });
}

TEST_P(RecordedPerlChain, DamageEndsAndStaysInBounds) {
  CheckDamage(recorded_.words, [this](const MemoryWords& words) { return Frames(words); });
}

INSTANTIATE_TEST_SUITE_P(Perl, RecordedPerlChain,
                         testing::ValuesIn(RecordingsIn(kFolder, "chain.txt")));

}  // namespace
}  // namespace stackray::test
