// Recorded threads of each version: the walk in bpf/python.h and the names, as they were when a program stopped itself
// below C code, a generator, a coroutine and recursion (tests/fixtures/python). And what damage does to them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "bpf/scratch.h"
#include "kernel/raw_sample.h"
#include "tests/interpreters/chain_checks.h"
#include "tests/recorder/recorded_python.h"

namespace stackray::test {
namespace {

const std::filesystem::path kFolder = std::string(STACKRAY_SOURCE_DIR) + "/tests/fixtures/python";

class RecordedChain : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    absl::StatusOr<RecordedPython> recorded =
        ParsePython(ReadText(kFolder / GetParam() / "chain.txt"));
    ASSERT_TRUE(recorded.ok()) << recorded.status();
    recorded_ = *std::move(recorded);
    data_ = DataOf(recorded_);
    ASSERT_NE(data_, nullptr);
  }
  PythonChain Walk(const MemoryWords& words) const {
    RecordedMemory memory(words);
    return WalkPythonChain(memory, data_->layout(), recorded_.base, recorded_.thread_pointer);
  }
  std::string Frames(const MemoryWords& words) const {
    RecordedMemory memory(words);
    const PythonChain chain = Walk(words);
    EXPECT_LE(chain.words.size(), size_t{4 * STAGED_WORDS});
    return DescribePython(*data_, chain, memory);
  }

  RecordedPython recorded_;
  std::shared_ptr<const PythonData> data_;
};

TEST_P(RecordedChain, FramesAreAsTheyWere) {
  const std::string expected = ReadText(kFolder / GetParam() / "expected.txt");
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(Frames(recorded_.words), expected);
}

TEST_P(RecordedChain, AnotherThreadHasNone) {
  recorded_.thread_pointer += 8;
  EXPECT_EQ(Frames(recorded_.words), "");
}

TEST_P(RecordedChain, FramesAreTheSameAmongOtherMemory) {
  EXPECT_EQ(Walk(WithWholePages(recorded_.words)).words, Walk(recorded_.words).words);
}

TEST_P(RecordedChain, EachMissingWordCostsFramesAndNoMore) {
  CheckMissingWords(recorded_.words, ReadText(kFolder / GetParam() / "expected.txt"),
                    [this](const MemoryWords& words) { return Frames(words); });
}

TEST_P(RecordedChain, DamageEndsAndStaysInBounds) {
  CheckDamage(recorded_.words, [this](const MemoryWords& words) { return Frames(words); });
}

INSTANTIATE_TEST_SUITE_P(Python, RecordedChain,
                         testing::ValuesIn(RecordingsIn(kFolder, "chain.txt")));

}  // namespace
}  // namespace stackray::test
