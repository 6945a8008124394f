// The way from the ring to the loop: in order, complete, and never longer than the ring can wait.
#include "agent/sampling/ring_reader.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "agent/privileges/thread_priority.h"
#include "agent/sampling/record_queue.h"
#include "kernel/process_files.h"
#include "tests/agent/sampling/loop_bench.h"
#include "tests/agent/sampling/raw_stack.h"
#include "tests/agent/sampling/record_bytes.h"
#include "tests/agent/sampling/sample_stream.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::test {
namespace {

constexpr absl::Duration kLongest = absl::Seconds(60);

class FakeRing : public SampleRing {
 public:
  void Put(RecordBytes record, bool wake = false) {
    const absl::MutexLock lock(&mutex_);
    records_.push_back(std::move(record));
    woken_ = woken_ || wake;
  }
  bool WaitUntilEmpty() {
    const absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(this, &FakeRing::IsEmpty), kLongest);
  }
  size_t size() {
    const absl::MutexLock lock(&mutex_);
    return records_.size();
  }
  uint64_t returned() {
    const absl::MutexLock lock(&mutex_);
    return returned_;
  }

  void WaitForSamples() override {
    const absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&woken_));
    woken_ = false;
  }
  void WakeSampleReader() override {
    const absl::MutexLock lock(&mutex_);
    woken_ = true;
  }
  int ReadSamples(const TakeRecord& take) override {
    const size_t count = size();  // What comes during this call is for the next one.
    for (size_t i = 0; i < count; ++i) take(Next().bytes());
    return static_cast<int>(count);
  }
  void ReturnRawBudget(uint64_t bytes) override {
    const absl::MutexLock lock(&mutex_);
    returned_ += bytes;
  }

 private:
  RecordBytes Next() {
    const absl::MutexLock lock(&mutex_);
    RecordBytes record = std::move(records_.front());
    records_.pop_front();
    return record;
  }
  bool IsEmpty() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return records_.empty(); }

  absl::Mutex mutex_;
  std::deque<RecordBytes> records_ ABSL_GUARDED_BY(mutex_);
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t returned_ ABSL_GUARDED_BY(mutex_) = 0;
};

RecordBytes SampleAt(uint64_t time_ns) {
  return MakeSample({.process = {.pid = 5'000'001, .exec_id = 1}, .time_ns = time_ns});
}

uint64_t TimeOf(const TakenRecord& taken) {
  return reinterpret_cast<const record_header*>(taken.bytes.data())->time_ns;
}

// This thread's own stack, in a slice.
SampleParts StackOfThisThread() {
  const RawStack raw = CaptureRawStack();
  const auto pid = static_cast<uint32_t>(getpid());
  return {.process = {.pid = pid, .exec_id = 1, .start_time_ns = StartTimeOf(pid)},
          .end = END_UNKNOWN_FILE,
          .flags = SAMPLE_HAS_RAW,
          .ranges = *ReadExecutableRanges(pid),
          .raw = raw.bytes,
          .resume = raw.registers};
}

class RingReaderTest : public testing::Test {
 protected:
  TestClock clock_;
  LoopBench bench_{clock_, {}, std::nullopt};
  FakeRing ring_;
  const int own_nice_ = getpriority(PRIO_PROCESS, static_cast<id_t>(getpid()));
};

TEST_F(RingReaderTest, TheRingIsReadWhileTheLoopIsBusy) {
  RingReader reader(ring_, bench_.walk());
  reader.Start();
  constexpr uint64_t kSamples = 1'000;
  std::vector<uint64_t> times;
  ring_.Put(SampleAt(1), true);
  const auto take = [&](const TakenRecord& taken) {
    times.push_back(TimeOf(taken));
    if (times.size() > 1) return;
    for (uint64_t time = 2; time <= kSamples; ++time) ring_.Put(SampleAt(time));
    ring_.WakeSampleReader();
    EXPECT_TRUE(ring_.WaitUntilEmpty());  // By the reader's thread: this one is in the loop.
  };
  while (times.size() < kSamples) reader.Take(10, take);
  for (uint64_t i = 0; i < kSamples; ++i) ASSERT_EQ(times[i], i + 1);
  EXPECT_EQ(reader.Take(0, take), 0);
}

// Where the process may not do that, the thread goes on as it is.
TEST_F(RingReaderTest, TheReaderHasPriorityOverWhatIsMeasured) {
  RingReader reader(ring_, bench_.walk());
  reader.Start();
  ring_.Put(SampleAt(1));
  EXPECT_EQ(reader.Take(1, [](const TakenRecord&) {}),
            1);  // By the reader, which has begun by then.
  int readers = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name != "stackray-ring") continue;
    ++readers;
    const auto tid = static_cast<id_t>(std::stoi(task.path().filename()));
    const int nice = getpriority(PRIO_PROCESS, tid);
    if (nice != kPreferredNice && !PreferThisThread())
      GTEST_SKIP() << "this process may not raise a thread's priority";
    EXPECT_EQ(nice, kPreferredNice);
  }
  EXPECT_EQ(readers, 1);
  EXPECT_EQ(getpriority(PRIO_PROCESS, static_cast<id_t>(getpid())), own_nice_);
}

TEST_F(RingReaderTest, TakingReadsWhatTheKernelDidNotAskFor) {
  RingReader reader(ring_, bench_.walk());
  reader.Start();
  std::vector<uint64_t> times;
  const auto take = [&](const TakenRecord& taken) { times.push_back(TimeOf(taken)); };
  for (uint64_t time = 1; time <= 3; ++time) ring_.Put(SampleAt(time));
  EXPECT_EQ(reader.Take(0, take), 3);
  ring_.Put(SampleAt(4));
  EXPECT_EQ(reader.Take(1, take), 1);
  EXPECT_EQ(times, (std::vector<uint64_t>{1, 2, 3, 4}));
}

TEST_F(RingReaderTest, WhoeverNeedsItHasTheRingReadNow) {
  RingReader reader(ring_, bench_.walk());
  reader.Start();
  std::vector<uint64_t> times;
  for (uint64_t time = 1; time <= 3; ++time) ring_.Put(SampleAt(time));
  reader.ReadNow();
  EXPECT_EQ(ring_.size(), 0u);
  reader.Take(0, [&](const TakenRecord& taken) { times.push_back(TimeOf(taken)); });
  EXPECT_EQ(times, (std::vector<uint64_t>{1, 2, 3}));
}

TEST_F(RingReaderTest, ReadsNoMoreThanItsQueueHolds) {
  RingReader reader(ring_, bench_.walk());
  reader.Start();
  SampleParts parts{.process = {.pid = 5'000'001, .exec_id = 1}};
  parts.kernel.assign(SAMPLE_MAX_KERNEL_FRAMES, 0xffffffff81000000);
  const RecordBytes one = MakeSample(parts);
  const size_t full = RecordQueue::kMaxBytes / one.size + 1;
  size_t taken = 0;
  const auto fill = [&] {
    for (size_t i = 0; i < full; ++i) ring_.Put(one);
    ring_.WakeSampleReader();
  };
  const auto take = [&](const TakenRecord&) {
    if (taken++ != 0) return;
    fill();
    EXPECT_TRUE(ring_.WaitUntilEmpty());
    fill();  // Has to wait in the ring.
    usleep(50'000);
    EXPECT_EQ(ring_.size(), full);
  };
  ring_.Put(one, true);
  while (taken < 1 + 2 * full) ASSERT_GT(reader.Take(1'000, take), 0);
  EXPECT_EQ(reader.Take(0, take), 0);
}

TEST_F(RingReaderTest, EndsWhileItsQueueIsFull) {
  SampleParts parts{.process = {.pid = 5'000'001, .exec_id = 1}};
  parts.kernel.assign(SAMPLE_MAX_KERNEL_FRAMES, 0xffffffff81000000);
  const RecordBytes one = MakeSample(parts);
  std::optional<RingReader> reader(std::in_place, ring_, bench_.walk());
  reader->Start();
  for (size_t bytes = 0; bytes < RecordQueue::kMaxBytes; bytes += one.size) ring_.Put(one);
  ring_.WakeSampleReader();
  EXPECT_TRUE(ring_.WaitUntilEmpty());
  ring_.Put(one, true);
  reader.reset();
  EXPECT_EQ(ring_.size(), 1u);
}

TEST_F(RingReaderTest, AStackIsFinishedAndItsSliceStaysBehind) {
  if (!CanOpenMappedFiles()) GTEST_SKIP() << "mapped files cannot be opened: not root";
  const SampleParts parts = StackOfThisThread();
  RingReader reader(ring_, bench_.walk());
  ring_.Put(MakeSample(parts));
  int taken = 0;
  reader.Take(0, [&](const TakenRecord& record) {
    ++taken;
    EXPECT_EQ(record.bytes.size(), MakeSample(parts).size - parts.raw.size());
    ASSERT_NE(record.finished, nullptr);
    EXPECT_EQ(record.finished->end, static_cast<uint32_t>(END_UNDEFINED_RA));
    bench_.loop().Take(record);
  });
  EXPECT_EQ(taken, 1);
  EXPECT_EQ(ring_.returned(), parts.raw.size());
  EXPECT_EQ(bench_.loop().counts().ends[END_UNDEFINED_RA], 1u);
  EXPECT_EQ(bench_.loop().counts().damaged_records, 0u);
}

// Whatever is in the ring: through the queue it becomes the same batches as without one.
TEST(RingReader, ChangesNoBatch) {
  const TemporaryDirectory directory;
  TestClock clock;
  SampleStream stream(11, directory.File("."), &clock);
  LoopBench direct(clock, {}, std::nullopt), queued(clock, {}, std::nullopt);
  FakeRing ring;
  RingReader reader(ring, queued.walk());
  const auto take = [&](const TakenRecord& record) { queued.loop().Take(record); };
  uint64_t returned = 0;
  for (int i = 0; i < 2'000; ++i) {
    RecordBytes record = stream.Next();
    returned += direct.Take(record.bytes());
    ring.Put(std::move(record));
    // Together: a process may end before its samples are read, and names of it are gone then.
    reader.Take(0, take);
    if (i % 500 != 499) continue;
    direct.loop().Seal();
    queued.loop().Seal();
  }
  ASSERT_EQ(direct.batches().size(), queued.batches().size());
  ASSERT_GE(direct.batches().size(), 4u);
  for (size_t i = 0; i < direct.batches().size(); ++i)
    EXPECT_EQ(direct.batches()[i]->bytes, queued.batches()[i]->bytes) << i;
  EXPECT_EQ(ring.returned(), returned);
  EXPECT_GT(stream.counts().raw, 0u);
  EXPECT_GT(stream.counts().damaged, 0u);
}

}  // namespace
}  // namespace stackray::test
