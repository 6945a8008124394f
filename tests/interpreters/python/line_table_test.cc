// Tables as compilers of the three kinds write them; the lines beside them are what Python itself
// says of these functions (code.co_lines(), dis.findlinestarts()).
#include "interpreters/python/line_table.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace stackray::test {
namespace {

using Bytes = std::vector<uint8_t>;

TEST(PythonLine, Lnotab) {
  // First line 10: byte 0 → 11, byte 8 → 9 (a negative step), byte 8 + 255 + 45 → 209.
  const Bytes table = {0, 1, 8, 0xfe, 255, 0, 45, 127, 0, 73};
  const auto line = [&](int64_t at) { return PythonLine(LineTableFormat::kLnotab, table, 10, at); };
  EXPECT_EQ(line(-1), 10);
  EXPECT_EQ(line(0), 11);
  EXPECT_EQ(line(7), 11);
  EXPECT_EQ(line(8), 9);
  EXPECT_EQ(line(307), 9);
  EXPECT_EQ(line(308), 209);
  EXPECT_EQ(line(100'000), 209);
}

TEST(PythonLine, Ranges) {
  // 0-5: line 21; 6-9: none; 10-13: line 20.
  const Bytes table = {6, 1, 4, 0x80, 4, 0xff};
  const auto line = [&](int64_t at) { return PythonLine(LineTableFormat::kRanges, table, 20, at); };
  EXPECT_EQ(line(-2), 20);
  EXPECT_EQ(line(0), 21);
  EXPECT_EQ(line(4), 21);
  EXPECT_EQ(line(6), 0);
  EXPECT_EQ(line(10), 20);
  EXPECT_EQ(line(12), 20);
  EXPECT_EQ(line(14), 0);  // Behind the code.
}

TEST(PythonLine, Locations) {
  const Bytes table = {
      0x80 | 15 << 3 | 0,                    // 1 unit, no location
      0x80 | 11 << 3 | 1, 4,    9,           // 2 units, one line further, columns
      0x80 | 3 << 3 | 0,  0x25,              // 1 unit, same line, short form
      0x80 | 14 << 3 | 7, 8,    4,    6, 7,  // 8 units, long form: 4 lines further
      0x80 | 13 << 3 | 0, 0x53, 0x03,        // 1 unit, no columns: 0x13 + 3 * 64 = 211: -105 lines
  };
  const auto line = [&](int64_t at) {
    return PythonLine(LineTableFormat::kLocations, table, 200, at);
  };
  EXPECT_EQ(line(-2), 200);
  EXPECT_EQ(line(0), 0);
  EXPECT_EQ(line(2), 201);
  EXPECT_EQ(line(5), 201);
  EXPECT_EQ(line(6), 201);
  EXPECT_EQ(line(8), 205);
  EXPECT_EQ(line(22), 205);
  EXPECT_EQ(line(24), 100);
  EXPECT_EQ(line(26), 0);
}

TEST(PythonLine, NothingIsKnownWithoutATable) {
  EXPECT_EQ(PythonLine(LineTableFormat::kRanges, {}, 7, 4), 0);
  EXPECT_EQ(PythonLine(LineTableFormat::kLocations, {}, 7, 4), 0);
  EXPECT_EQ(PythonLine(LineTableFormat::kLnotab, {}, 7, 4), 7);
  EXPECT_EQ(PythonLine(LineTableFormat::kLnotab, {}, -7, 4), 0);
}

TEST(PythonLine, RandomTablesGiveLinesInBounds) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    Bytes table(random() % 40);
    for (uint8_t& byte : table) byte = static_cast<uint8_t>(random());
    for (const LineTableFormat format :
         {LineTableFormat::kLnotab, LineTableFormat::kRanges, LineTableFormat::kLocations}) {
      const int64_t line = PythonLine(format, table, static_cast<int32_t>(random()),
                                      static_cast<int32_t>(random() % 5000) - 10);
      ASSERT_GE(line, 0);
      ASSERT_LE(line, INT32_MAX);
    }
  }
}

}  // namespace
}  // namespace stackray::test
