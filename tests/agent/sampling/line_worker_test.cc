// The thread that looks lines up: what it may spend, and that a batch never waits for it longer
// than its deadline.
#include "agent/sampling/line_worker.h"

#include <gtest/gtest.h>

#include <functional>

#include "absl/time/clock.h"
#include "agent/sampling/native_lines.h"
#include "tests/symbolizer/oracle.h"

namespace stackray {
namespace {

// This test's own file, which has debug information.
ExecutableFilePtr OwnExecutable(uint64_t handle = 1) {
  auto opened = test::OpenFile(test::OwnFile());
  auto file = std::make_shared<ExecutableFile>();
  file->handle = file->identity.inode = handle;
  file->info = *DescribeExecutable(*opened->source, test::OwnFile());
  file->fd = std::move(opened->fd);
  file->source = std::move(opened->source);
  return file;
}

std::vector<uint64_t> CodeAddresses(const ExecutableFile& file, size_t count) {
  std::vector<uint64_t> addresses;
  for (const ElfSegment& segment : file.info.segments)
    for (size_t i = 0; segment.executable && i < count; ++i)
      addresses.push_back(segment.address + segment.memory_bytes / count * i);
  return addresses;
}

std::vector<LineQuestion> Questions(const ExecutableFilePtr& file, size_t count) {
  std::vector<LineQuestion> questions;
  for (const uint64_t address : CodeAddresses(*file, count))
    questions.push_back({file, static_cast<uint32_t>(getpid()), address});
  return questions;
}

// A share that is used up at once: the worker sleeps after its first question for longer than any
// test.
LineWorkerSettings Spent() { return {.cpu_share = 1e-9, .burst_seconds = 0}; }

TEST(LineWorker, KeepsToItsShareOfOneCpu) {
  constexpr double kShare = 0.2, kBurst = 0.02, kWanted = 0.2;
  LineWorker worker({.cpu_share = kShare, .burst_seconds = kBurst});
  const ExecutableFilePtr file = OwnExecutable();
  const absl::Time start = absl::Now();
  double spent = 0, dearest = 0;
  size_t answers = 0;
  while (spent < kWanted) {
    ASSERT_LT(absl::Now() - start, absl::Seconds(200)) << answers << " answers cost " << spent;
    worker.Wipe();  // So that answers are not cheap.
    auto questions = Questions(file, 1);
    worker.Ask(questions);
    ASSERT_TRUE(worker.WaitForAnswer(absl::Now() + absl::Seconds(100)));
    answers += worker.TakeAnswers().size();
    const double now = static_cast<double>(worker.cpu_ns()) * 1e-9;
    dearest = std::max(dearest, now - spent);
    spent = now;
    // What is over the share is slept off before the next question is taken, so one may be over.
    const double elapsed = absl::ToDoubleSeconds(absl::Now() - start);
    ASSERT_LE(spent, elapsed * kShare + kBurst + 2 * dearest + 0.01);
  }
  EXPECT_GT(absl::ToDoubleSeconds(absl::Now() - start), (kWanted - kBurst - 2 * dearest) / kShare);
}

bool Eventually(const std::function<bool()>& holds) {
  const absl::Time end = absl::Now() + absl::Seconds(100);
  while (!holds() && absl::Now() < end) absl::SleepFor(absl::Milliseconds(1));
  return holds();
}

TEST(LineWorker, ALowerBoundOfItsCacheClosesWhatIsOpen) {
  constexpr size_t kLess = 1 << 10;
  LineWorker worker({.lines = {.cache_bytes = 64 << 20}, .cpu_share = 1});
  const auto ask = [&worker] {
    auto questions = Questions(OwnExecutable(), 10);
    EXPECT_EQ(worker.Ask(questions), 10u);
    size_t answers = 0;
    EXPECT_TRUE(Eventually([&] { return (answers += worker.TakeAnswers().size()) == 10; }));
  };
  ask();
  EXPECT_TRUE(Eventually([&] { return worker.cache_bytes() > kLess; }));
  worker.SetCacheBytes(kLess);
  EXPECT_TRUE(Eventually([&] { return worker.cache_bytes() <= kLess; }));
  ask();
}

TEST(LineWorker, EndsAtOnceThoughItHasToSleep) {
  const auto worker = std::make_unique<LineWorker>(Spent());
  auto questions = Questions(OwnExecutable(), 10);
  EXPECT_EQ(worker->Ask(questions), 10u);
  EXPECT_TRUE(worker->WaitForAnswer(absl::Now() + absl::Seconds(100)));
  EXPECT_FALSE(worker->TakeAnswers().empty());
}  // It would sleep for years.

TEST(LineWorker, TakesNoMoreThanItsQueueHolds) {
  LineWorker worker(Spent());
  auto questions = Questions(OwnExecutable(), LineWorker::kMaxQuestions + 100);
  const size_t wanted = questions.size();
  ASSERT_GE(wanted, LineWorker::kMaxQuestions + 100);
  const size_t taken = worker.Ask(questions);
  EXPECT_GE(taken, LineWorker::kMaxQuestions);
  EXPECT_LE(taken, LineWorker::kMaxQuestions + 2);
}

// Asked for the lines of many addresses, of which none or one come: the batch goes out at its
// deadline, all of its frames are there, and the missing ones are counted.
TEST(NativeLines, ABatchDoesNotWaitBeyondItsDeadline) {
  constexpr size_t kFrames = 50;
  const absl::Duration deadline = absl::Milliseconds(200);
  NativeLines lines({.worker = Spent(), .seal_deadline = deadline});
  const ExecutableFilePtr file = OwnExecutable();
  OpenBatch batch({});
  OpenBatch* const open[] = {&batch};
  for (const uint64_t address : CodeAddresses(*file, kFrames)) {
    const MappingKey mapping = 1;
    if (batch.NeedsMapping(mapping)) batch.DefineMapping(mapping, MappingOf(file->info, address));
    const FrameSymbols symbols{.type = FrameType::kNative,
                               .mapping = mapping,
                               .address = address,
                               .lines = {{.function = "by symbol"}}};
    lines.Define(FrameKey::Make(FrameType::kNative, file->handle, address), symbols,
                 static_cast<uint32_t>(getpid()), file, batch);
  }
  const absl::Time start = absl::Now();
  lines.Finish(batch, open);
  EXPECT_GE(absl::Now() - start, deadline - absl::Milliseconds(1));
  EXPECT_GE(lines.counts().deferred, kFrames - 2);
  EXPECT_EQ(lines.counts().deferred + lines.counts().answered, kFrames);
  // The next batch asks the same again, and waits no longer.
  OpenBatch next({});
  OpenBatch* const next_open[] = {&next};
  lines.Finish(next, next_open);
  EXPECT_EQ(lines.counts().deferred + lines.counts().answered, kFrames);
}

}  // namespace
}  // namespace stackray
