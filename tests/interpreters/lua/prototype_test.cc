// Chunks' names and lines of instructions, as Lua's own debug library gives them.
#include "interpreters/lua/prototype.h"

#include <gtest/gtest.h>

namespace stackray::test {
namespace {

TEST(LuaChunkName, IsWhatLuaShows) {
  EXPECT_EQ(LuaChunkName("@/a/file.lua"), "/a/file.lua");
  EXPECT_EQ(LuaChunkName("=stdin"), "stdin");
  EXPECT_EQ(LuaChunkName("return 1"), "[string \"return 1\"]");
  EXPECT_EQ(LuaChunkName("a = 1\nb = 2"), "[string \"a = 1...\"]");
  EXPECT_EQ(LuaChunkName(""), "[string \"\"]");
  EXPECT_EQ(LuaChunkName(std::string(100, 'x')), "[string \"" + std::string(40, 'x') + "...\"]");
}

TEST(LuaLines, StepsAddUpFromTheFunctionsFirstLine) {
  const LuaLines lines{.first_line = 10, .steps = {1, 0, 2, -1}, .marks = {}};
  EXPECT_EQ(lines.LineAt(0), 11);
  EXPECT_EQ(lines.LineAt(1), 11);
  EXPECT_EQ(lines.LineAt(2), 13);
  EXPECT_EQ(lines.LineAt(3), 12);
  EXPECT_EQ(lines.LineAt(4), 0);
}

TEST(LuaLines, AMarkBeginsAnew) {
  const LuaLines lines{.first_line = 10,
                       .steps = {1, -128, 1, -128, 2},
                       .marks = {{.instruction = 1, .line = 500}, {.instruction = 3, .line = 7}}};
  EXPECT_EQ(lines.LineAt(0), 11);
  EXPECT_EQ(lines.LineAt(1), 500);
  EXPECT_EQ(lines.LineAt(2), 501);
  EXPECT_EQ(lines.LineAt(3), 7);
  EXPECT_EQ(lines.LineAt(4), 9);
}

TEST(LuaLines, WhatWasNotReadIsNotGuessed) {
  const LuaLines lines{.first_line = 10, .steps = {1, -128, 1}, .marks = {}};
  EXPECT_EQ(lines.LineAt(0), 11);
  EXPECT_EQ(lines.LineAt(2), 0);
  EXPECT_EQ(LuaLines{}.LineAt(0), 0);
}

}  // namespace
}  // namespace stackray::test
