// Recorded processes of each version: the walk in bpf/php.h and the names, as they were when a
// program stopped itself below an eval(), a closure, __call(), generators that delegate, recursion
// and a callback (tests/fixtures/php). And what damage does.
#include <gtest/gtest.h>

#include <filesystem>

#include "bpf/scratch.h"
#include "tests/interpreters/chain_checks.h"
#include "tests/recorder/php_chain.h"

namespace stackray::test {
namespace {

const std::filesystem::path kFolder = std::string(STACKRAY_SOURCE_DIR) + "/tests/fixtures/php";

class RecordedPhpChain : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    absl::StatusOr<RecordedPhp> recorded = ParsePhp(ReadText(kFolder / GetParam() / "chain.txt"));
    ASSERT_TRUE(recorded.ok()) << recorded.status();
    recorded_ = *std::move(recorded);
    data_ = PhpData::Make(recorded_.version, recorded_.variables, {});
    ASSERT_TRUE(data_->supported());
  }
  RuntimeChain Walk(const MemoryWords& words) const {
    RecordedMemory memory(words);
    return WalkPhpChain(memory, data_->layout(), recorded_.base, recorded_.thread_pointer);
  }
  std::string Frames(const MemoryWords& words) const {
    RecordedMemory memory(words);
    const RuntimeChain chain = Walk(words);
    EXPECT_LE(chain.words.size(), size_t{8 * STAGED_WORDS});
    return DescribeChain(*data_, chain, 0, memory);
  }

  RecordedPhp recorded_;
  std::shared_ptr<const PhpData> data_;
};

TEST_P(RecordedPhpChain, FramesAreAsTheyWere) {
  const std::string expected = ReadText(kFolder / GetParam() / "expected.txt");
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(Frames(recorded_.words), expected);
}

TEST_P(RecordedPhpChain, FramesAreTheSameAmongOtherMemory) {
  EXPECT_EQ(Walk(WithWholePages(recorded_.words)).words, Walk(recorded_.words).words);
}

TEST_P(RecordedPhpChain, EachMissingWordCostsFramesAndNoMore) {
  CheckMissingWords(recorded_.words, ReadText(kFolder / GetParam() / "expected.txt"),
                    [this](const MemoryWords& words) { return Frames(words); });
}

TEST_P(RecordedPhpChain, DamageEndsAndStaysInBounds) {
  CheckDamage(recorded_.words, [this](const MemoryWords& words) { return Frames(words); });
}

INSTANTIATE_TEST_SUITE_P(Php, RecordedPhpChain,
                         testing::ValuesIn(RecordingsIn(kFolder, "chain.txt")));

}  // namespace
}  // namespace stackray::test
