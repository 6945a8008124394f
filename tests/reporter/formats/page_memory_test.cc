// What the page's answer allocates in all: this program's own operator new counts it.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "reporter/formats/batch_walk.h"
#include "reporter/formats/gzip.h"
#include "reporter/formats/page_data.h"
#include "reporter/formats/page_profile.h"
#include "tests/reporter/formats/busy_host.h"

namespace {

std::atomic<int64_t> allocated_bytes{0}, most_bytes{0};

void Count(int64_t bytes) {
  const int64_t now = allocated_bytes += bytes;
  for (int64_t most = most_bytes; now > most && !most_bytes.compare_exchange_weak(most, now);) {
  }
}

}  // namespace

void* operator new(std::size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  Count(static_cast<int64_t>(malloc_usable_size(memory)));
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory != nullptr) Count(-static_cast<int64_t>(malloc_usable_size(memory)));
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace stackray {
namespace {

// The most that was allocated at once while an answer was made of so many seconds.
int64_t MostBytes(int seconds, size_t* answer_bytes) {
  constexpr size_t kMaxBytes = 1 << 20;
  const BusyHost host;
  int64_t most = 0;
  const int64_t before = allocated_bytes;
  {
    PageProfile profile({.max_bytes = kMaxBytes});
    for (int second = 0; second < seconds; ++second) {
      const std::string bytes = host.Batch(second, 200);  // Making it is not what is measured.
      most_bytes = allocated_bytes.load();
      profile.Add(*BatchWalk::Open(bytes));
      most = std::max(most, most_bytes - before);
    }
    most_bytes = allocated_bytes.load();
    profile.Finish();
    absl::StatusOr<GzipStream> gzip = GzipStream::Create(1);
    const absl::Status written =
        WritePageData(profile, {}, [&](std::string_view part) { return gzip->Add(part); });
    EXPECT_TRUE(written.ok()) << written;
    *answer_bytes = gzip->Finish()->size();
    most = std::max(most, most_bytes - before);
  }
  return most;
}

TEST(PageMemory, DoesNotGrowWithTheHistory) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "takes minutes, and allocates the same";
#endif
  size_t answer_bytes = 0;
  const int64_t short_most = MostBytes(100, &answer_bytes);  // It is full after some 20.
  EXPECT_GT(answer_bytes, 5'000u);
  const int64_t long_most = MostBytes(800, &answer_bytes);
  RecordProperty("short_bytes", std::to_string(short_most));
  RecordProperty("long_bytes", std::to_string(long_most));
  EXPECT_GT(short_most, 1 << 20) << "or nothing was measured";
  EXPECT_LT(short_most, 5 << 20);
  EXPECT_LT(long_most, short_most * 5 / 4);
}

}  // namespace
}  // namespace stackray
