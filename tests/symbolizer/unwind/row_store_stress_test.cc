// One thread writes and evicts, another looks up, as BPF does, without any lock between them.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "symbolizer/unwind/row_store.h"
#include "tests/symbolizer/unwind/page_lookup.h"

namespace stackray {
namespace {

constexpr uint32_t kPages = 1500, kPageBytes = 10'000 / 16 * 16;
constexpr uint64_t kFile = 7;
constexpr auto kDuration = std::chrono::seconds(3);

TEST(RowStoreStress, AnswersAreRightOrMissing) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the look-up races by design: it reads, and then sees whether that was valid";
#endif
  MemoryRows rows;
  RowStore store(rows, 3 * CHUNK_BYTES);
  const FileIdentity identity{.inode = kFile};
  ASSERT_TRUE(store.AddFile(identity, {.first_page = 0, .page_count = kPages}).ok());
  ASSERT_TRUE(store.PutPage(identity, 0, PatternPage(kFile, 0, kPageBytes)).ok());
  const file_entry entry = *store.FindFile(identity);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    std::mt19937 random(1);
    while (!done) {
      const uint32_t page = random() % kPages;
      if (!store.PutPage(identity, page, PatternPage(kFile, page, kPageBytes)).ok()) std::abort();
      if (random() % 64 == 0) store.ForgetRequests(identity);
    }
  });
  PageLookup lookup(rows);
  std::mt19937 random(2);
  uint64_t right = 0, missing = 0, busy = 0, wrong = 0;
  const auto end = std::chrono::steady_clock::now() + kDuration;
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 100; ++i) {
      const uint32_t page = random() % kPages, block = random() % PAGE_BLOCKS;
      const FoundCode found =
          lookup.Find(entry, uint64_t{page} * PAGE_TEXT_BYTES + block * 256 + random() % 256);
      if (found.end == END_NONE)
        ++(found.code == PatternCode(kFile, page, block) ? right : wrong);
      else
        ++(found.end == END_MISSING_PAGE ? missing : found.end == END_BUSY ? busy : wrong);
    }
  }
  done = true;
  writer.join();
  RecordProperty("right", static_cast<int>(right));
  RecordProperty("missing", static_cast<int>(missing));
  EXPECT_EQ(wrong, 0u) << right << " right, " << missing << " missing, " << busy << " busy";
  EXPECT_GT(right, 1000u);
  EXPECT_GT(missing, 1000u);
  EXPECT_GT(store.statistics().reclaims, 20u);
}

}  // namespace
}  // namespace stackray
