// A recorded thread: the walk in bpf/lua.h and the names, as they were when a program stopped
// itself below coroutines, a pcall, metamethods that a sort calls, loaded text and recursion
// (tests/fixtures/lua). And what damage does.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "bpf/scratch.h"
#include "kernel/raw_sample.h"
#include "tests/interpreters/chain_checks.h"
#include "tests/recorder/lua_chain.h"

namespace stackray::test {
namespace {

const std::filesystem::path kFolder = std::string(STACKRAY_SOURCE_DIR) + "/tests/fixtures/lua";

class RecordedLuaChain : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    absl::StatusOr<RecordedLua> recorded = ParseLua(ReadText(kFolder / GetParam() / "chain.txt"));
    ASSERT_TRUE(recorded.ok()) << recorded.status();
    recorded_ = *std::move(recorded);
    data_ = DataOf(recorded_);
    ASSERT_TRUE(data_->supported());
  }
  std::string Frames(const MemoryWords& words) const {
    RecordedMemory memory(words);
    const LuaChain chain = WalkLuaChain(memory, data_->layout(), recorded_.stack_pointer);
    EXPECT_LE(chain.words.size(), size_t{8 * STAGED_WORDS});
    return DescribeLua(*data_, chain, memory);
  }

  RecordedLua recorded_;
  std::shared_ptr<const LuaData> data_;
};

TEST_P(RecordedLuaChain, FramesAreAsTheyWere) {
  const std::string expected = ReadText(kFolder / GetParam() / "expected.txt");
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(Frames(recorded_.words), expected);
}

// What BPF sends of a code is all that its name and line are read from.
TEST_P(RecordedLuaChain, WhatIsSentNamesEachFrame) {
  RecordedMemory memory(recorded_.words);
  const LuaChain chain = WalkLuaChain(memory, data_->layout(), recorded_.stack_pointer);
  size_t frames = 0;
  for (size_t i = 0; i + 1 < chain.words.size(); i += FrameWordCount(chain.words[i])) {
    if (FrameWordKind(chain.words[i]) != FRAME_RUNTIME) continue;
    const RuntimePlace place = data_->PlaceOf(chain.words[i], chain.words[i + 1]);
    const auto sent =
        std::find_if(chain.sent.begin(), chain.sent.end(), [&](const code_record& record) {
          return record.code == place.code && record.check == place.check;
        });
    ASSERT_NE(sent, chain.sent.end());
    CapturedMemory captured = Capture(*sent, memory);
    const auto code = data_->ReadCode(captured, 0, place);
    const auto known = data_->ReadCode(memory, 0, place);
    ASSERT_TRUE(code.ok() && known.ok()) << "frame " << frames;
    EXPECT_FALSE(captured.TakeMissed()) << "frame " << frames;
    const SourceLine line = (*known)->LineAt(place.instruction);
    EXPECT_EQ((*code)->LineAt(place.instruction).function, line.function);
    EXPECT_EQ((*code)->LineAt(place.instruction).line, line.line);
    EXPECT_GT(line.line, 0);
    ++frames;
  }
  EXPECT_GT(frames, 9u);
}

TEST_P(RecordedLuaChain, EachMissingWordCostsFramesAndNoMore) {
  CheckMissingWords(recorded_.words, ReadText(kFolder / GetParam() / "expected.txt"),
                    [this](const MemoryWords& words) { return Frames(words); });
}

TEST_P(RecordedLuaChain, DamageEndsAndStaysInBounds) {
  CheckDamage(recorded_.words, [this](const MemoryWords& words) { return Frames(words); });
}

INSTANTIATE_TEST_SUITE_P(Lua, RecordedLuaChain,
                         testing::ValuesIn(RecordingsIn(kFolder, "chain.txt")));

}  // namespace
}  // namespace stackray::test
