// Recorded threads of each version: the walk in bpf/python.h and the names, as they were when a
// program stopped itself below C code, a generator, a coroutine and recursion
// (tests/fixtures/python). And what damage does to them.
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
  RuntimeChain Walk(const MemoryWords& words) const {
    RecordedMemory memory(words);
    return WalkPythonChain(memory, data_->layout(), recorded_.base, recorded_.thread_pointer);
  }
  std::string Frames(const MemoryWords& words) const {
    RecordedMemory memory(words);
    const RuntimeChain chain = Walk(words);
    EXPECT_LE(chain.words.size(), size_t{8 * STAGED_WORDS});
    return DescribeChain(*data_, chain, 0, memory);
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

// 3.11: the frames of functions that Nuitka has compiled have any value in the byte that says that
// a loop began there.
TEST_P(RecordedChain, ABeginningIsBelievedWhereTheLoopBeforeLeftOff) {
  const python_layout& layout = data_->layout();
  if (layout.chain != PYTHON_CFRAMES) GTEST_SKIP() << "only 3.11 has such a byte";
  MemoryWords words = recorded_.words;
  const auto byte = [&](uint64_t at) { return words[at & ~7ULL] >> (at & 7) * 8 & 0xff; };
  uint64_t cframe = words[words[recorded_.base + layout.current_at] + layout.tstate_frame];
  size_t changed = 0;
  for (uint64_t frame = words[cframe + layout.cframe_current_frame]; frame != 0;) {
    const uint64_t previous = words[frame + layout.frame_previous];
    const uint64_t entry = frame + layout.frame_is_entry;
    if (byte(entry) != 0) {
      cframe = words[cframe + layout.cframe_previous];
      words[cframe + layout.cframe_current_frame] = previous;
    } else {
      words[entry & ~7ULL] |= uint64_t{1} << (entry & 7) * 8;
      ++changed;
    }
    frame = previous;
  }
  EXPECT_GT(changed, 2u);
  EXPECT_EQ(Frames(words), ReadText(kFolder / GetParam() / "expected.txt"));
}

INSTANTIATE_TEST_SUITE_P(Python, RecordedChain,
                         testing::ValuesIn(RecordingsIn(kFolder, "chain.txt")));

}  // namespace
}  // namespace stackray::test
