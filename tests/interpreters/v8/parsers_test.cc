// Strings, position tables, lines, versions and sizes of bytecodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "interpreters/v8/bytecode_sizes.h"
#include "interpreters/v8/position_table.h"
#include "interpreters/v8/script.h"
#include "interpreters/v8/shared_function.h"
#include "interpreters/v8/strings.h"
#include "tests/interpreters/v8/made_heap.h"

namespace stackray::v8::test {
namespace {

using testing::ElementsAre;
using testing::Optional;

class V8Strings : public testing::Test {
 protected:
  const V8Layout layout_ = LayoutFor(13, 6);
  MadeHeap made_{layout_};
  std::optional<std::string> Read(uint64_t string, uint32_t most = kMostNameCharacters) {
    Heap heap(made_.memory, layout_);
    return ReadString(heap, string, most);
  }
};

TEST_F(V8Strings, OneByteIsLatin1) {
  EXPECT_THAT(Read(made_.String("na\xefve")), Optional(std::string("naïve")));
  EXPECT_THAT(Read(made_.String("")), Optional(std::string()));
}

TEST_F(V8Strings, TwoBytesWithSurrogates) {
  EXPECT_THAT(Read(made_.TwoByteString(u"名😀")), Optional(std::string("名😀")));
  const char16_t alone[] = {0xd83d, u'x', 0xde00};
  EXPECT_THAT(Read(made_.TwoByteString({alone, 3})), Optional(std::string("\uFFFDx\uFFFD")));
}

TEST_F(V8Strings, OfTwoSlicedThinAndExternal) {
  const uint64_t both = made_.Pair(made_.String("Shape."), made_.TwoByteString(u"名前"), 8);
  EXPECT_THAT(Read(both), Optional(std::string("Shape.名前")));
  const uint64_t sliced = made_.Object(0x2b, 32);
  made_.Set<uint32_t>(sliced, 12, 3);
  made_.Set(sliced, 16, both);
  made_.Set(sliced, 24, SmiWord(5));
  EXPECT_THAT(Read(sliced), Optional(std::string(".名前")));
  const uint64_t thin = made_.Object(0x2d, 24);
  made_.Set<uint32_t>(thin, 12, 8);
  made_.Set(thin, 16, both);
  EXPECT_THAT(Read(thin), Optional(std::string("Shape.名前")));
  const uint64_t data = made_.Room(16);
  made_.memory.Put<char>(data + 1, 'x');
  const uint64_t external = made_.Object(0x2a, 32);
  made_.Set<uint32_t>(external, 12, 1);
  made_.Set(external, 24, data + 1);
  EXPECT_THAT(Read(external), Optional(std::string("x")));
}

TEST_F(V8Strings, BoundsHold) {
  EXPECT_THAT(Read(made_.String(std::string(5000, 'a'))),
              Optional(std::string(kMostNameCharacters, 'a')));
  uint64_t deep = made_.String("a");
  for (uint32_t i = 2; i < 6000; ++i) deep = made_.Pair(deep, made_.String("b"), i);
  EXPECT_EQ(Read(deep, 6000), std::nullopt);
  const uint64_t itself = made_.Pair(0, 0, 100);
  made_.Set(itself, 16, itself);
  made_.Set(itself, 24, itself);
  EXPECT_EQ(Read(itself), std::nullopt);
  EXPECT_EQ(Read(made_.Object(layout_.script_type, 64)), std::nullopt);
  EXPECT_EQ(Read(SmiWord(5)), std::nullopt);
}

TEST(V8Positions, SignedDeltasMarkExpressions) {
  // Entry -1 + 1 at 10 (a statement), + 3 at 4 (an expression).
  const std::vector<uint8_t> table = {2, 10 << 2, 7, (6 << 2) - 1};
  const auto entries = ReadPositions(table, PositionEncoding::kSigned);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].code_offset, 0);
  EXPECT_EQ(entries[0].position.script_offset, 9);
  EXPECT_EQ(entries[1].code_offset, 3);
  EXPECT_EQ(entries[1].position.script_offset, 3);
  EXPECT_EQ(entries[1].position.inlined, -1);
}

TEST(V8Positions, UnsignedDeltasHaveTwoFlags) {
  const std::vector<uint8_t> table = {1 << 2 | 3, 10 << 2, 0x84 | 1, 1, 4};
  const auto entries = ReadPositions(table, PositionEncoding::kUnsigned);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].code_offset, 0);
  EXPECT_EQ(entries[1].code_offset, 33);
  EXPECT_EQ(entries[1].position.script_offset, 10);
}

TEST(V8Positions, AFlagSaysThatThePositionIsNoDelta) {
  const std::vector<uint8_t> table = {1 << 3 | 1, 10 << 2, 2 << 3 | 4, 6 << 2, 1 << 3, 4};
  const auto entries = ReadPositions(table, PositionEncoding::kAbsolute);
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].code_offset, 0);
  EXPECT_EQ(entries[0].position.script_offset, 9);
  EXPECT_EQ(entries[1].code_offset, 2);
  EXPECT_EQ(entries[1].position.script_offset, 5);
  EXPECT_EQ(entries[2].code_offset, 3);
  EXPECT_EQ(entries[2].position.script_offset, 6);
}

TEST(V8Positions, ATableEndsWhereItMakesNoSense) {
  EXPECT_TRUE(ReadPositions({}, PositionEncoding::kSigned).empty());
  const std::vector<uint8_t> endless(4000, 0xff);
  EXPECT_TRUE(ReadPositions(endless, PositionEncoding::kSigned).empty());
  EXPECT_TRUE(ReadPositions(endless, PositionEncoding::kUnsigned).empty());
  const std::vector<uint8_t> half = {2, 10 << 2, 2};
  EXPECT_EQ(ReadPositions(half, PositionEncoding::kSigned).size(), 1U);
}

TEST(V8Positions, TheLastEntryAtOrBefore) {
  const std::vector<PositionEntry> entries = {{0, {1}}, {5, {2}}, {5, {3}}, {9, {4}}};
  EXPECT_EQ(FindPosition(entries, -1), nullptr);
  EXPECT_EQ(FindPosition(entries, 4)->position.script_offset, 1);
  EXPECT_EQ(FindPosition(entries, 5)->position.script_offset, 3);
  EXPECT_EQ(FindPosition(entries, 100)->position.script_offset, 4);
}

std::vector<int32_t> EndsOf(std::u16string_view text) {
  LineEnds ends;
  std::vector<uint8_t> bytes(2 * text.size());
  std::memcpy(bytes.data(), text.data(), bytes.size());
  ends.AddTwoBytes(bytes);
  return ends.Finish();
}

TEST(V8Lines, EndAsV8CountsThem) {
  EXPECT_THAT(EndsOf(u"ab\nc"), ElementsAre(2, 4));
  EXPECT_THAT(EndsOf(u"a\r\nb\rc\r"), ElementsAre(2, 4, 6, 7));
  EXPECT_THAT(EndsOf(u"a\u2028b\u2029"), ElementsAre(1, 3, 4));
  EXPECT_THAT(EndsOf(u""), ElementsAre(0));
}

TEST(V8Lines, TheFirstLineHasTheScriptsColumn) {
  const Script script("x.js", 10, 4, {3, 6});
  EXPECT_EQ(script.PlaceOf(1).line, 11);
  EXPECT_EQ(script.PlaceOf(1).column, 6);
  EXPECT_EQ(script.PlaceOf(4).line, 12);
  EXPECT_EQ(script.PlaceOf(4).column, 1);
  EXPECT_EQ(script.PlaceOf(7).line, 0);
  EXPECT_EQ(script.PlaceOf(-1).line, 0);
}

TEST(V8Version, IsReadFromAText) {
  EXPECT_EQ(ParseVersion("13.6.233.17-node.34")->Text(), "13.6.233.17");
  EXPECT_EQ(ParseVersion("15.0.245.2")->major, 15U);
  for (const char* text : {"", "13", "13.6.233", "13.x.1.2", "99999999999.1.1.1"})
    EXPECT_FALSE(ParseVersion(text).ok()) << text;
}

TEST(V8Version, ThoseInBetweenAreNotKnown) {
  EXPECT_TRUE(LayoutOfVersion({.major = 13, .minor = 6}).ok());
  EXPECT_FALSE(LayoutOfVersion({.major = 13, .minor = 7}).ok());
  EXPECT_FALSE(LayoutOfVersion({.major = 7, .minor = 0}).ok());
}

TEST(V8BytecodeSizes, AreFoundByTheirBegin) {
  std::string table;
  for (const char* row :
       {"\1\1\1\1\1\2\3\4\5\5\6\2", "\1\1\1\1\1\3\5\7\11\7\11\3", "\1\1\1\1\1\5\11\15\21\13\17\5"})
    table += std::string(row, 12) + std::string(188, '\4');
  const BytecodeSizes sizes = SizesAt(table);
  for (const auto& row : sizes) EXPECT_EQ(row.size(), 200U);
  EXPECT_EQ(sizes[2][6], 9);
  EXPECT_TRUE(SizesAt(table.substr(0, 500))[0].empty());
  EXPECT_TRUE(SizesAt(table.substr(1))[0].empty());
  table[20] = 0;
  EXPECT_TRUE(SizesAt(table)[0].empty());
}

TEST(V8Bytecode, PrefixesWidenWhatFollows) {
  V8Layout layout;
  layout.bytecode_sizes[0].assign(10, 2);
  layout.bytecode_sizes[1].assign(10, 3);
  layout.bytecode_sizes[2].assign(10, 5);
  const std::vector<uint8_t> bytecodes = {5, 0, 0, 7, 0, 0, 1, 7, 0, 0, 0, 0, 5, 0};
  const std::vector<uint8_t> table = {10, 4, 4, 4, 4};
  const auto at = [&](uint32_t code) { return BytecodeOfBaseline(table, bytecodes, layout, code); };
  EXPECT_EQ(at(9), -1);
  EXPECT_EQ(at(10), 0);
  EXPECT_EQ(at(14), 2);  // Wide: one byte and three.
  EXPECT_EQ(at(18), 6);  // Extra wide: one and five.
  EXPECT_EQ(at(22), 12);
  EXPECT_EQ(at(26), std::nullopt);
}

}  // namespace
}  // namespace stackray::v8::test
