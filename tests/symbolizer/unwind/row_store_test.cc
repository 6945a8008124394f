// The row store as a program in the kernel sees it: through the directory and the look-up that BPF
// runs.
#include "symbolizer/unwind/row_store.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/symbolizer/unwind/page_lookup.h"

namespace stackray {
namespace {

constexpr uint32_t kPageBytes = 10'000 / 16 * 16;

FileIdentity Identity(uint64_t inode, int64_t mtime_s = 1) {
  return {.inode = inode, .device = 8, .size_bytes = 1000, .mtime_s = mtime_s};
}

class RowStoreTest : public testing::Test {
 protected:
  absl::Status Put(uint64_t file, uint32_t page, uint32_t bytes = kPageBytes) {
    return store_.PutPage(Identity(file), page, PatternPage(file, page, bytes));
  }
  // Expects the page's answers, or that it is missing; true: it is there.
  bool Look(uint64_t file, uint32_t page) {
    const file_entry* entry = store_.FindFile(Identity(file));
    if (entry == nullptr) return false;
    bool there = false;
    for (uint32_t block = 0; block < PAGE_BLOCKS; block += 9) {
      const FoundCode found =
          lookup_.Find(*entry, uint64_t{page} * PAGE_TEXT_BYTES + block * 256 + (block & 255));
      if (found.end == END_MISSING_PAGE) return false;
      EXPECT_EQ(found.end, END_NONE);
      EXPECT_EQ(found.code, PatternCode(file, page, block));
      there = true;
    }
    return there;
  }

  MemoryRows rows_{MAX_CHUNKS, 20};
  RowStore store_{rows_, 3 * CHUNK_BYTES};  // A chunk of directories and two of pages.
  PageLookup lookup_{rows_};
};

TEST_F(RowStoreTest, WhatWasPutIsFound) {
  ASSERT_TRUE(store_.AddFile(Identity(1), {.first_page = 5, .page_count = 20}).ok());
  ASSERT_TRUE(Put(1, 7).ok());
  EXPECT_TRUE(Look(1, 7));
  EXPECT_FALSE(Look(1, 8));
  EXPECT_EQ(store_.StateOf(Identity(1), 7), RowStore::PageState::kPresent);
  EXPECT_EQ(store_.StateOf(Identity(1), 8), RowStore::PageState::kAbsent);
  EXPECT_EQ(store_.StateOf(Identity(1), 4), RowStore::PageState::kOutside);
  EXPECT_EQ(store_.StateOf(Identity(1), 25), RowStore::PageState::kOutside);
  EXPECT_EQ(store_.StateOf(Identity(2), 7), RowStore::PageState::kUnknownFile);
}

TEST_F(RowStoreTest, PagesAreCountedAndThoseThatAWalkLookedInto) {
  ASSERT_TRUE(store_.AddFile(Identity(1), {.first_page = 5, .page_count = 400}).ok());
  ASSERT_TRUE(store_.AddFile(Identity(2), {.first_page = 0, .page_count = 4}).ok());
  EXPECT_EQ(store_.PresentPages(Identity(1)), 0u);
  for (uint32_t page = 10; page < 20; ++page) ASSERT_TRUE(Put(1, page).ok());
  ASSERT_TRUE(Put(2, 0).ok());
  EXPECT_TRUE(Look(1, 12));
  EXPECT_TRUE(Look(1, 12));
  EXPECT_TRUE(Look(1, 19));
  EXPECT_FALSE(Look(1, 30)) << "asked for, and not there";
  EXPECT_EQ(store_.PresentPages(Identity(1)), 10u);
  EXPECT_EQ(store_.UsedPages(Identity(1)), 2u);
  EXPECT_EQ(store_.UsedPages(Identity(2)), 0u);
  EXPECT_EQ(store_.UsedPages(Identity(3)), 0u);
  // What the budget takes away is counted no more, and what comes back has to be looked into anew.
  for (uint32_t page = 20; page < 400; ++page) ASSERT_TRUE(Put(1, page).ok());
  uint32_t present = 0;
  for (uint32_t page = 5; page < 405; ++page)
    present += store_.StateOf(Identity(1), page) == RowStore::PageState::kPresent;
  EXPECT_LT(present, 390u);
  EXPECT_EQ(store_.PresentPages(Identity(1)), present);
  EXPECT_EQ(store_.UsedPages(Identity(1)), 0u);
}

TEST_F(RowStoreTest, CodeOutsideOfAFilesPagesHasNoRules) {
  ASSERT_TRUE(store_.AddFile(Identity(1), {.first_page = 5, .page_count = 20}).ok());
  const file_entry entry = *store_.FindFile(Identity(1));
  for (const uint64_t page : {0ull, 4ull, 25ull, 1ull << 33}) {
    const FoundCode found = lookup_.Find(entry, page * PAGE_TEXT_BYTES);
    EXPECT_EQ(found.end, END_NONE);
    EXPECT_EQ(found.code, CODE_SPECIAL(SPECIAL_NONE));
  }
}

TEST_F(RowStoreTest, OnlyTheFirstToWantAPageAsksForIt) {
  ASSERT_TRUE(store_.AddFile(Identity(1), {.first_page = 0, .page_count = 4}).ok());
  const file_entry entry = *store_.FindFile(Identity(1));
  EXPECT_TRUE(lookup_.Find(entry, 0).miss);
  EXPECT_FALSE(lookup_.Find(entry, 100).miss);
  EXPECT_TRUE(lookup_.Find(entry, PAGE_TEXT_BYTES).miss);
  store_.ForgetRequests(Identity(1));
  EXPECT_TRUE(lookup_.Find(entry, 0).miss);
  ASSERT_TRUE(Put(1, 0).ok());
  store_.ForgetRequests(Identity(1));
  EXPECT_TRUE(Look(1, 0)) << "forgetting requests must not forget pages";
}

// BPF stores its byte of an entry without looking: user space may have changed the entry meanwhile.
TEST_F(RowStoreTest, AMarkThatComesTooLateHarmsNothing) {
  ASSERT_TRUE(store_.AddFile(Identity(1), {.first_page = 0, .page_count = 4}).ok());
  const file_entry entry = *store_.FindFile(Identity(1));
  uint8_t* const directory = rows_.Chunk(entry.directory >> HANDLE_CHUNK_SHIFT) +
                             (entry.directory & HANDLE_OFFSET_MASK) * HANDLE_UNIT;
  const auto mark = [&](uint32_t page, uint32_t bits) {
    directory[page * sizeof(uint32_t) + ENTRY_MARKS_BYTE] =
        static_cast<uint8_t>(bits >> ENTRY_MARKS_SHIFT);
  };
  mark(0, ENTRY_USED);  // The page was taken away before the mark came.
  EXPECT_EQ(store_.StateOf(Identity(1), 0), RowStore::PageState::kAbsent);
  EXPECT_TRUE(lookup_.Find(entry, 0).miss);
  ASSERT_TRUE(Put(1, 0).ok());
  EXPECT_TRUE(Look(1, 0));
  ASSERT_TRUE(Put(1, 1).ok());
  mark(1, ENTRY_REQUESTED);  // The page came before the mark did.
  EXPECT_EQ(store_.StateOf(Identity(1), 1), RowStore::PageState::kPresent);
  EXPECT_TRUE(Look(1, 1));
  store_.ForgetRequests(Identity(1));
  EXPECT_TRUE(Look(1, 1));
}

TEST_F(RowStoreTest, PagesThatAreUsedOutliveTheBudget) {
  ASSERT_TRUE(store_.AddFile(Identity(1), {.first_page = 0, .page_count = 5000}).ok());
  std::set<uint32_t> used;
  for (uint32_t page = 0; page < 20; ++page) used.insert(page * 3);
  for (uint32_t page = 0; page < 2000; ++page) {
    ASSERT_TRUE(Put(1, page).ok());
    for (const uint32_t hot : used) {
      if (hot > page) break;
      ASSERT_TRUE(Look(1, hot)) << hot << " was lost when " << page << " came";
    }
    ASSERT_EQ(store_.StateOf(Identity(1), page), RowStore::PageState::kPresent);
  }
  uint32_t present = 0;
  for (uint32_t page = 0; page < 2000; ++page) {
    const bool is_present = store_.StateOf(Identity(1), page) == RowStore::PageState::kPresent;
    EXPECT_EQ(Look(1, page), is_present) << page;
    present += is_present;
    const bool is_old = page < 1500 && !used.contains(page);
    EXPECT_FALSE(is_old && is_present) << page << " was not used for long";
  }
  const RowStore::Statistics& statistics = store_.statistics();
  EXPECT_EQ(statistics.chunks, 3u);
  EXPECT_EQ(statistics.pages, present);
  EXPECT_EQ(statistics.page_bytes, uint64_t{present} * kPageBytes);
  EXPECT_EQ(statistics.evicted_pages + present, 2000u);
  EXPECT_GE(present, 104u) << "at least one chunk's worth";
  EXPECT_GT(statistics.reclaims, 10u);
}

TEST_F(RowStoreTest, ASmallerBudgetGivesMemoryBack) {
  store_.SetBudget(6 * CHUNK_BYTES);
  ASSERT_TRUE(store_.AddFile(Identity(1), {.first_page = 0, .page_count = 1000}).ok());
  for (uint32_t page = 0; page < 450; ++page) ASSERT_TRUE(Put(1, page).ok());
  ASSERT_EQ(store_.statistics().chunks, 6u);
  ASSERT_EQ(rows_.chunks_in_use(), 6u);
  EXPECT_FALSE(store_.ShrinkOne()) << "it is inside its budget";
  for (uint32_t page = 3; page < 10; ++page) ASSERT_TRUE(Look(1, page));  // Used.
  store_.SetBudget(2 * CHUNK_BYTES);
  int steps = 0;
  while (store_.ShrinkOne()) ++steps;
  EXPECT_EQ(steps, 4);
  EXPECT_EQ(store_.statistics().chunks, 2u);
  EXPECT_EQ(rows_.chunks_in_use(), 2u);
  uint32_t present = 0;
  for (uint32_t page = 0; page < 450; ++page) {
    const bool is_present = store_.StateOf(Identity(1), page) == RowStore::PageState::kPresent;
    EXPECT_EQ(Look(1, page), is_present) << page;
    present += is_present;
  }
  EXPECT_EQ(store_.statistics().pages, present);
  EXPECT_EQ(store_.statistics().page_bytes, uint64_t{present} * kPageBytes);
  EXPECT_GT(present, 20u) << "the newest chunk stays";
  EXPECT_TRUE(Look(1, 3)) << "what was used found room in it";
  // It goes on working in the little that is left, and grows again when it may.
  for (uint32_t page = 500; page < 800; ++page) {
    ASSERT_TRUE(Put(1, page).ok());
    ASSERT_TRUE(Look(1, page));
  }
  EXPECT_EQ(rows_.chunks_in_use(), 2u);
  store_.SetBudget(4 * CHUNK_BYTES);
  for (uint32_t page = 0; page < 450; ++page) ASSERT_TRUE(Put(1, page).ok());
  EXPECT_EQ(rows_.chunks_in_use(), 4u);
  EXPECT_TRUE(Look(1, 449));
}

TEST_F(RowStoreTest, APageThatWasEvictedCanComeBack) {
  ASSERT_TRUE(store_.AddFile(Identity(1), {.first_page = 0, .page_count = 1000}).ok());
  for (uint32_t page = 0; page < 600; ++page) ASSERT_TRUE(Put(1, page).ok());
  ASSERT_FALSE(Look(1, 0));
  ASSERT_TRUE(Put(1, 0).ok());
  EXPECT_TRUE(Look(1, 0));
}

TEST_F(RowStoreTest, AReplacedFileStartsAnew) {
  ASSERT_TRUE(store_.AddFile(Identity(1), {.first_page = 0, .page_count = 100}).ok());
  ASSERT_TRUE(Put(1, 3).ok());
  ASSERT_TRUE(store_.AddFile(Identity(1), {.first_page = 0, .page_count = 9}).ok());
  EXPECT_TRUE(Look(1, 3)) << "the same file again changes nothing";
  ASSERT_TRUE(store_.AddFile(Identity(1, /*mtime_s=*/2), {.first_page = 1, .page_count = 50}).ok());
  EXPECT_EQ(store_.FindFile(Identity(1)), nullptr);
  EXPECT_EQ(store_.StateOf(Identity(1, 2), 3), RowStore::PageState::kAbsent);
  const file_entry* entry = rows_.File({.inode = 1, .device = 8, .generation = 0});
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->file_mtime_s, 2);
  EXPECT_EQ(lookup_.Find(*entry, 3 * PAGE_TEXT_BYTES).end, END_MISSING_PAGE);
  EXPECT_EQ(store_.statistics().files, 1u);
}

TEST_F(RowStoreTest, TheOldestFilesMakeRoom) {
  for (uint64_t file = 1; file <= 50; ++file) {
    ASSERT_TRUE(store_.AddFile(Identity(file), {.first_page = 0, .page_count = 3}).ok());
    ASSERT_TRUE(Put(file, 1).ok());
    ASSERT_LE(rows_.file_count(), 20u);
  }
  for (uint64_t file = 1; file <= 50; ++file) EXPECT_EQ(Look(file, 1), file > 30) << file;
}

TEST_F(RowStoreTest, AFileWithoutTablesIsKnown) {
  ASSERT_TRUE(store_.AddFile(Identity(1), {}).ok());
  ASSERT_NE(store_.FindFile(Identity(1)), nullptr);
  EXPECT_EQ(store_.FindFile(Identity(1))->page_count, 0u);
  EXPECT_EQ(Put(1, 0).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(RowStoreTest, ImpossibleSizesAreRefused) {
  EXPECT_EQ(store_.AddFile(Identity(1), {.first_page = 0, .page_count = 65'537}).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(store_.AddFile(Identity(1), {.first_page = 0, .page_count = ~0u}).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Put(1, 0).code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(store_.AddFile(Identity(1), {.first_page = ~0u - 1, .page_count = 10}).ok());
  EXPECT_EQ(Put(1, 500).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Put(1, ~0u, 2 * CHUNK_BYTES).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Put(1, ~0u, CHUNK_BYTES).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(RowStoreTest, PagesUpToAWholeChunkAreKept) {
  ASSERT_TRUE(store_.AddFile(Identity(1), {.first_page = 0, .page_count = 40}).ok());
  for (uint32_t page = 0; page < 40; ++page) {
    ASSERT_TRUE(Put(1, page, CHUNK_BYTES - 256).ok());
    EXPECT_TRUE(Look(1, page));
  }
}

// Directories of many small files, then one that needs a large one.
TEST(RowStoreDirectories, OneLargeFileFindsRoomAmongManySmallOnes) {
  MemoryRows rows(MAX_CHUNKS, 100'000);
  RowStore store(rows, 3 * CHUNK_BYTES);
  for (uint64_t file = 1; file < CHUNK_BYTES / 64; ++file)
    ASSERT_TRUE(store.AddFile(Identity(file), {.first_page = 0, .page_count = 5}).ok());
  const absl::Status large =
      store.AddFile(Identity(1'000'000), {.first_page = 0, .page_count = 9000});
  ASSERT_TRUE(large.ok()) << large;
  const std::vector<uint8_t> page = PatternPage(1'000'000, 8999, kPageBytes);
  ASSERT_TRUE(store.PutPage(Identity(1'000'000), 8999, page).ok());
  EXPECT_EQ(store.StateOf(Identity(1'000'000), 8999), RowStore::PageState::kPresent);
}

TEST(RowStoreMemory, NoMemoryIsAStatus) {
  MemoryRows none(0), one(1);
  EXPECT_EQ(RowStore(none, 8 << 20).AddFile(Identity(1), {.first_page = 0, .page_count = 1}).code(),
            absl::StatusCode::kResourceExhausted);
  RowStore store(one, 8 << 20);
  ASSERT_TRUE(store.AddFile(Identity(1), {.first_page = 0, .page_count = 1}).ok());
  EXPECT_EQ(store.PutPage(Identity(1), 0, PatternPage(1, 0, 336)).code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace stackray
