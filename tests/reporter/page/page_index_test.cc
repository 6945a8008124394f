// The index's bytes: damage is told, and never read outside.
#include "reporter/page/page_index.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <string>

#include "reporter/page/page_index_builder.h"
#include "tests/reporter/page/random_batches.h"

namespace stackray {
namespace {

std::string IndexOf(int batches) {
  PageIndexBuilder builder;
  for (int i = 0; i < batches; ++i) AddTo(&builder, RandomBatch(i));
  return builder.Finish();
}

// With the sum of what it holds now.
std::string Resummed(std::string bytes) {
  bytes.resize(bytes.size() - 4);
  const auto sum = static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(sum >> shift));
  return bytes;
}

absl::StatusOr<PageIndex::Ptr> Open(const std::string& bytes) {
  PageTables tables;
  const auto owner = std::make_shared<const std::string>(bytes);
  return PageIndex::Open(*owner, owner, &tables);
}

TEST(PageIndex, EqualBatchesGiveEqualBytes) { EXPECT_EQ(IndexOf(4), IndexOf(4)); }

TEST(PageIndex, ADamagedOneIsRefused) {
  const std::string good = IndexOf(3);
  ASSERT_TRUE(Open(good).ok());
  EXPECT_TRUE(absl::IsDataLoss(Open("").status()));
  for (size_t i = 0; i < good.size(); i += 7) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x40);
    EXPECT_TRUE(absl::IsDataLoss(Open(bad).status())) << i;
    EXPECT_TRUE(absl::IsDataLoss(Open(good.substr(0, i)).status())) << i;
  }
}

// As if its maker had been someone else: the sum is right, and the rest is not.
TEST(PageIndex, WrongNumbersAreReadWithinBounds) {
  const std::string good = IndexOf(2);
  std::mt19937 random(1);
  int opened = 0;
  for (int round = 0; round < 300; ++round) {
    std::string bad = good;
    for (int i = 0; i < 3; ++i) {
      const size_t at = kPageIndexMagic.size() + random() % (bad.size() - 30);
      bad[at] = static_cast<char>(random());
    }
    PageStore store;
    const auto owner = std::make_shared<const std::string>(Resummed(bad));
    const absl::StatusOr<PageIndex::Ptr> index = PageIndex::Open(*owner, owner, store.tables());
    if (!index.ok()) continue;
    ++opened;
    store.Add(*index);
    for (const char* words :
         {"&width=0", "&inverted=1", "&hidden=native&fold=1&lanes=1", "&query=%2Ff%5B13%5D%2F",
          "&inverted=1&hidden=kernel&by=none&zoom=1abc"})
      EXPECT_FALSE(AnswerTo(store, words).empty());
  }
  EXPECT_GT(opened, 10);
}

TEST(PageIndex, ACutHasWhatLiesInItsTimeAndNothingElse) {
  PageTables tables;
  const auto owner = std::make_shared<const std::string>(IndexOf(6));
  const absl::StatusOr<PageIndex::Ptr> index = PageIndex::Open(*owner, owner, &tables);
  ASSERT_TRUE(index.ok());
  const int64_t first = (*index)->first_second();
  int64_t sum = 0, whole = 0;
  for (const PageRoot& root : (*index)->roots()) whole += root.total;
  for (int64_t second = first - 1; second < first + 8; ++second) {
    const PageIndex::Ptr cut = (*index)->Cut(second, second + 1);
    for (const PageRoot& root : cut->roots()) {
      sum += root.total;
      cut->EachSecond(root.activity, [&](int64_t at, int64_t) { EXPECT_EQ(at, second); });
    }
  }
  EXPECT_EQ(sum, whole);
  EXPECT_GT(whole, 100);
}

TEST(PageIndex, NoSamplesAreAnIndexToo) {
  PageIndexBuilder builder;
  const absl::StatusOr<PageIndex::Ptr> index = Open(builder.Finish());
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_TRUE((*index)->roots().empty());
}

}  // namespace
}  // namespace stackray
