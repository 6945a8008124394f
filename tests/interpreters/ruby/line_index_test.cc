// Indexes made here from lists of positions, as Ruby makes them, answered as a search through the
// list would.
#include "interpreters/ruby/line_index.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>
#include <set>
#include <vector>

namespace stackray::test {
namespace {

// Counts for the first 54 positions, then blocks of 512 bits.
std::vector<uint8_t> MakeIndex(const std::set<uint32_t>& positions, uint32_t words) {
  std::vector<uint64_t> index(RubyIndexBytes(words) / 8);
  uint64_t count = 0;
  for (uint32_t at = 0; at < 54; ++at) {
    count += positions.contains(at);
    index[at / 9] |= count << (at % 9 * 7);
  }
  for (uint32_t block = 0; 54 + block * 512 < words; ++block) {
    uint64_t* here = index.data() + 6 + static_cast<size_t>(block) * 10;
    here[0] = count;
    uint64_t in_block = 0;
    for (uint32_t small = 0; small < 8; ++small) {
      if (small > 0) here[1] |= in_block << ((small - 1) * 9);
      for (uint32_t bit = 0; bit < 64; ++bit)
        if (positions.contains(54 + block * 512 + small * 64 + bit))
          here[2 + small] |= uint64_t{1} << bit;
      in_block += static_cast<uint64_t>(std::popcount(here[2 + small]));
    }
    count += in_block;
  }
  std::vector<uint8_t> bytes(index.size() * 8);
  std::memcpy(bytes.data(), index.data(), bytes.size());
  return bytes;
}

TEST(RubyLines, TheIndexFindsWhatASearchFinds) {
  std::mt19937 random(20260101);
  for (const uint32_t words : {10u, 54u, 55u, 600u, 3000u}) {
    std::set<uint32_t> positions = {0};
    // The counts of the first part have seven bits, so 54 entries fit there.
    for (uint32_t i = 0; i < words / 4; ++i)
      positions.insert(static_cast<uint32_t>(random()) % words);
    RubyLines lines;
    for (const uint32_t position : positions)
      lines.lines.push_back(static_cast<int32_t>(1000 + position));
    lines.index = MakeIndex(positions, words);
    for (uint32_t at = 0; at < words; ++at) {
      const auto entry = std::prev(positions.upper_bound(at));
      EXPECT_EQ(lines.LineAt(at), 1000 + *entry) << at << " of " << words;
    }
    EXPECT_EQ(lines.LineAt(words + 5000), 0);
  }
}

TEST(RubyLines, PositionsOf25) {
  const RubyLines lines{.lines = {7, 9, 8}, .positions = {0, 4, 11}};
  EXPECT_EQ(lines.LineAt(0), 7);
  EXPECT_EQ(lines.LineAt(3), 7);
  EXPECT_EQ(lines.LineAt(4), 9);
  EXPECT_EQ(lines.LineAt(10), 9);
  EXPECT_EQ(lines.LineAt(500), 8);
}

TEST(RubyLines, OneEntryNeedsNoIndex) {
  EXPECT_EQ((RubyLines{.lines = {5}}).LineAt(77), 5);
  EXPECT_EQ(RubyLines{}.LineAt(0), 0);
}

TEST(RubyLines, DamagedIndexesStayInBounds) {
  std::mt19937 random(20260101);
  int known = 0;
  for (int i = 0; i < 5000; ++i) {
    RubyLines lines{.lines = {1, 2, 3}};
    lines.index.resize(random() % 300);
    for (uint8_t& byte : lines.index) byte = static_cast<uint8_t>(random());
    const int64_t line = lines.LineAt(static_cast<uint32_t>(random() % 3000));
    EXPECT_GE(line, 0);
    EXPECT_LE(line, 3);
    known += line != 0;
  }
  EXPECT_GT(known, 0);
}

}  // namespace
}  // namespace stackray::test
