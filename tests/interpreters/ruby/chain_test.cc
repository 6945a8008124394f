// Recorded threads of each version: the walk in bpf/ruby.h and the names, as they were when a
// program stopped itself below C functions, blocks, a rescue and recursion (tests/fixtures/ruby).
// And what damage does to them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "bpf/scratch.h"
#include "kernel/raw_sample.h"
#include "tests/interpreters/chain_checks.h"
#include "tests/recorder/recorded_ruby.h"

namespace stackray::test {
namespace {

const std::filesystem::path kFolder = std::string(STACKRAY_SOURCE_DIR) + "/tests/fixtures/ruby";

class RecordedRubyChain : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    absl::StatusOr<RecordedRuby> recorded = ParseRuby(ReadText(kFolder / GetParam() / "chain.txt"));
    ASSERT_TRUE(recorded.ok()) << recorded.status();
    recorded_ = *std::move(recorded);
    data_ = DataOf(recorded_);
    ASSERT_NE(data_, nullptr);
  }
  RuntimeChain Walk(ProcessMemory& memory) const {
    return WalkRubyChain(memory, data_->layout(), recorded_.base, recorded_.thread_pointer);
  }
  std::string Frames(const MemoryWords& words) const {
    RecordedMemory memory(words);
    const RuntimeChain chain = Walk(memory);
    EXPECT_LE(chain.words.size(), size_t{8 * STAGED_WORDS});
    return DescribeChain(*data_, chain, recorded_.base, memory);
  }

  RecordedRuby recorded_;
  std::shared_ptr<const RubyData> data_;
};

TEST_P(RecordedRubyChain, FramesAreAsTheyWere) {
  const std::string expected = ReadText(kFolder / GetParam() / "expected.txt");
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(Frames(recorded_.words), expected);
}

TEST_P(RecordedRubyChain, AnotherThreadHasNone) {
  recorded_.thread_pointer += 8;
  EXPECT_EQ(Frames(recorded_.words), "");
}

// Objects that were freed, and others in their places, between the sample and the question.
TEST_P(RecordedRubyChain, ChangedObjectsAreStale) {
  RecordedMemory before(recorded_.words);
  const RuntimeChain chain = Walk(before);
  size_t frames = 0;
  for (size_t i = 0; i + 1 < chain.words.size(); i += FrameWordCount(chain.words[i])) {
    if (FrameWordKind(chain.words[i]) != FRAME_RUNTIME) continue;
    const RubyFrame frame = TakeRubyFrameApart(chain.words[i], chain.words[i + 1]);
    MemoryWords words = recorded_.words;
    // Of a method its owner, of an instruction sequence its body.
    words[frame.iseq != 0 ? frame.iseq + 16 : frame.method + 32] += 64;
    RecordedMemory after(words);
    const auto code =
        data_->ReadCode(after, recorded_.base, data_->PlaceOf(chain.words[i], chain.words[i + 1]));
    EXPECT_FALSE(code.ok()) << "frame " << frames;
    ++frames;
  }
  EXPECT_GT(frames, 15u);
}

// What BPF sends of a code is all that its name and line are read from.
TEST_P(RecordedRubyChain, WhatIsSentNamesEachFrame) {
  RecordedMemory memory(recorded_.words);
  const RuntimeChain chain = Walk(memory);
  EXPECT_GT(CheckSentNames(*data_, chain, recorded_.base, memory), 15u);
}

TEST_P(RecordedRubyChain, EachMissingWordCostsFramesAndNoMore) {
  CheckMissingWords(recorded_.words, ReadText(kFolder / GetParam() / "expected.txt"),
                    [this](const MemoryWords& words) { return Frames(words); });
}

TEST_P(RecordedRubyChain, DamageEndsAndStaysInBounds) {
  CheckDamage(recorded_.words, [this](const MemoryWords& words) { return Frames(words); });
}

INSTANTIATE_TEST_SUITE_P(Ruby, RecordedRubyChain,
                         testing::ValuesIn(RecordingsIn(kFolder, "chain.txt")));

}  // namespace
}  // namespace stackray::test
