// Which function is at an address, where code memory is used again.
#include "interpreters/jit/jit_code.h"

#include <gtest/gtest.h>

#include <random>

namespace stackray {
namespace {

std::string NameAt(const JitCode& code, uint64_t address) {
  const JitFunction* const found = code.Find(address);
  return found == nullptr ? "" : found->name;
}

TEST(JitCode, NamesItsRangeAndNothingElse) {
  JitCode code(1 << 20);
  ASSERT_TRUE(code.Put({.start = 0x1000, .size_bytes = 0x10, .name = "one"}));
  EXPECT_EQ(NameAt(code, 0xfff), "");
  EXPECT_EQ(NameAt(code, 0x1000), "one");
  EXPECT_EQ(NameAt(code, 0x100f), "one");
  EXPECT_EQ(NameAt(code, 0x1010), "");
}

TEST(JitCode, ANewerFunctionTakesThePlaceOfAllThatItOverlaps) {
  JitCode code(1 << 20);
  ASSERT_TRUE(code.Put({.start = 0x1000, .size_bytes = 0x100, .name = "left"}));
  ASSERT_TRUE(code.Put({.start = 0x1100, .size_bytes = 0x100, .name = "right"}));
  const uint64_t before = code.Find(0x1000)->serial;
  ASSERT_TRUE(code.Put({.start = 0x10ff, .size_bytes = 2, .name = "new"}));
  EXPECT_EQ(NameAt(code, 0x1000), "");
  EXPECT_EQ(NameAt(code, 0x10ff), "new");
  EXPECT_EQ(NameAt(code, 0x1101), "");
  EXPECT_NE(code.Find(0x1100)->serial, before);
  EXPECT_EQ(code.size(), 1U);
}

TEST(JitCode, MovesAFunctionWithItsLines) {
  JitCode code(1 << 20);
  ASSERT_TRUE(code.Put({.start = 0x1000,
                        .size_bytes = 0x10,
                        .name = "f",
                        .lines = {{0x1000, 3, 0}, {0x1008, 4, 1}},
                        .files = {"a.js", "b.js"}}));
  ASSERT_TRUE(code.Move(0x1000, 0x2000));
  EXPECT_FALSE(code.Move(0x1000, 0x3000));
  EXPECT_EQ(NameAt(code, 0x1000), "");
  const SourceLine line = code.Find(0x2009)->LineAt(0x2009);
  EXPECT_EQ(line.file + ":" + std::to_string(line.line), "b.js:4");
  EXPECT_EQ(code.Find(0x2000)->LineAt(0x2007).line, 3);
}

TEST(JitCode, RefusesWhatIsNoUserMemory) {
  JitCode code(1 << 20);
  EXPECT_FALSE(code.Put({.start = 0, .size_bytes = 16, .name = "zero"}));
  EXPECT_FALSE(code.Put({.start = 0x1000, .size_bytes = 0, .name = "empty"}));
  EXPECT_FALSE(code.Put({.start = 0xffffffff81000000, .size_bytes = 16, .name = "kernel"}));
  EXPECT_FALSE(code.Put({.start = JitCode::kUserEnd - 8, .size_bytes = 16, .name = "across"}));
  EXPECT_FALSE(code.Put({.start = 0x1000, .size_bytes = ~0ULL, .name = "all"}));
  EXPECT_EQ(code.bytes(), 0U);
}

TEST(JitCode, KeepsItsLimitByForgettingTheOldest) {
  constexpr size_t kLimit = 64 << 10;
  JitCode code(kLimit);
  for (uint64_t i = 1; i <= 10'000; ++i) {
    ASSERT_TRUE(code.Put({.start = i << 12, .size_bytes = 16, .name = std::string(i % 90, 'x')}));
    ASSERT_LE(code.bytes(), kLimit);
  }
  EXPECT_EQ(code.forgotten() + code.size(), 10'000U);
  EXPECT_NE(code.Find(10'000ULL << 12), nullptr);
  EXPECT_EQ(code.Find(1ULL << 12), nullptr);
  EXPECT_FALSE(code.Put({.start = 0x10, .size_bytes = 16, .name = ""}) &&
               code.Find(0x10) == nullptr);
}

// Beside an array with a name for every address.
TEST(JitCode, AgreesWithAnArray) {
  std::minstd_rand random(7);
  constexpr uint64_t kSpace = 400;
  JitCode code(16 << 20);
  struct Cell {
    int function = 0;
  };
  std::vector<Cell> cells(kSpace + 64);
  const auto drop = [&](int function) {
    for (Cell& cell : cells)
      if (cell.function == function) cell.function = 0;
  };
  for (int i = 1; i <= 5000; ++i) {
    const uint64_t start = 1 + random() % kSpace, size = 1 + random() % 30;
    ASSERT_TRUE(code.Put({.start = start, .size_bytes = size, .name = std::to_string(i)}));
    for (uint64_t at = start; at < start + size; ++at)
      if (cells[at].function != 0) drop(cells[at].function);
    for (uint64_t at = start; at < start + size; ++at) cells[at].function = i;
    for (uint64_t at = 0; at < cells.size(); ++at)
      ASSERT_EQ(NameAt(code, at),
                cells[at].function == 0 ? "" : std::to_string(cells[at].function));
  }
}

}  // namespace
}  // namespace stackray
