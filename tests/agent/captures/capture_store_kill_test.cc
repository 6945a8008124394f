// A process that appends to a capture is killed (SIGKILL) again and again, at random moments. After
// each kill every batch whose Append() had returned lies whole in the file, once and in order, and
// the next process goes on behind it. STACKRAY_KILLS: how often; 12 without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <random>

#include "tests/agent/captures/store_fixture.h"

namespace stackray {
namespace {

class CaptureStoreKill : public CaptureStoreTest {
 protected:
  // Appends batches from `next` on until it is killed; the pipe gets each number behind it.
  [[noreturn]] void AppendForever(uint64_t next, int done) {
    std::vector<std::string> warnings;
    auto store = CaptureStore::Open(scratch_.path(), limits_, {}, warnings);
    if (!store.ok() || !warnings.empty()) _exit(1);
    const bool is_new = (*store)->Find("web") == nullptr;
    if (is_new ? !(*store)->Begin(Spec("web"), 1, INT64_MAX).ok() : !(*store)->Resume("web").ok())
      _exit(2);
    for (uint64_t samples = 0;; ++next) {
      const SealedBatchPtr batch = FakeBatch(next, 100 + next % 7 * 3000);
      if (!(*store)->Append("web", batch->bytes).ok()) _exit(3);
      if (write(done, &next, sizeof(next)) != sizeof(next)) _exit(4);
      samples += batch->samples;
      if (!(*store)->Update("web", {.samples = samples, .lost = {}}).ok()) _exit(5);
      usleep(200);
    }
  }

  // The last number whose Append() returned; `before` where there was none.
  static uint64_t LastOf(int done, uint64_t before) {
    for (uint64_t number = 0; read(done, &number, sizeof(number)) == sizeof(number);)
      before = number;
    return before;
  }
};

TEST_F(CaptureStoreKill, AtRandomMomentsEveryBatchThatWasTakenSurvives) {
  const char* wanted = std::getenv("STACKRAY_KILLS");
  const int kills = wanted != nullptr ? std::atoi(wanted) : 12;
  std::mt19937_64 random(20261126);
  uint64_t last = 0;  // The first is 1.
  for (int run = 0; run < kills && !HasFailure(); ++run) {
    store_.reset();
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) AppendForever(last + 1, pipe_ends[1]);
    close(pipe_ends[1]);
    // A third dies while it starts.
    usleep(static_cast<useconds_t>(run % 3 == 0 ? random() % 5'000 : random() % 60'000));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself: " << status;
    const uint64_t appended = LastOf(pipe_ends[0], last);
    close(pipe_ends[0]);
    Open();
    EXPECT_TRUE(warnings_.empty()) << warnings_.front();
    const std::vector<int64_t> numbers =
        store_->Find("web") == nullptr ? std::vector<int64_t>() : Numbers("web");
    for (size_t i = 0; i < numbers.size(); ++i)
      ASSERT_EQ(numbers[i], static_cast<int64_t>(i + 1)) << "run " << run;
    // The kill may come between the last Append() and the word of it.
    EXPECT_GE(numbers.size(), appended) << "run " << run;
    EXPECT_LE(numbers.size(), appended + 1) << "run " << run;
    last = numbers.size();
  }
  EXPECT_GT(last, static_cast<uint64_t>(kills));
  if (store_->Find("web") != nullptr) {
    EXPECT_EQ(store_->Unfinished().at(0).batches, last);
  }
}

}  // namespace
}  // namespace stackray
