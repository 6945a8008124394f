// A recorded thread: the walk in bpf/lua.h and the names, as they were when a program stopped
// itself below coroutines, a pcall, metamethods that a sort calls, loaded text and recursion
// (tests/fixtures/lua). And what damage does.
#include <gtest/gtest.h>

#include <filesystem>

#include "bpf/scratch.h"
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
    const RuntimeChain chain = WalkLuaChain(memory, data_->layout(), recorded_.stack_pointer);
    EXPECT_LE(chain.words.size(), size_t{8 * STAGED_WORDS});
    return DescribeChain(*data_, chain, 0, memory);
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
  const RuntimeChain chain = WalkLuaChain(memory, data_->layout(), recorded_.stack_pointer);
  EXPECT_GT(CheckSentNames(*data_, chain, 0, memory), 9u);
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
