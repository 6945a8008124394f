// What a history gives back, on disk and in memory.
#include "agent/history/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/agent/history/fake_batch.h"

namespace stackray {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

HistorySettings Settings(const std::string& state_dir) {
  HistorySettings settings;
  settings.state_dir = state_dir;
  settings.now_ms = [] { return kFirstMs + 100'000; };
  return settings;
}

OpenedHistory Open(const HistorySettings& settings) {
  auto opened = OpenHistory(settings);
  EXPECT_TRUE(opened.ok()) << opened.status();
  return opened.ok() ? *std::move(opened) : OpenedHistory{};
}

TEST(History, GivesBackWhatOverlaps) {
  const std::string memory_only = "/proc/no-directory-can-be-made-here";
  for (const std::string& directory : {FreshDirectory(), memory_only}) {
    const OpenedHistory opened = Open(Settings(directory));
    History& history = *opened.history;
    EXPECT_EQ(history.statistics().on_disk, directory != memory_only);
    for (uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(history.Append(FakeBatch(i)).ok());
    EXPECT_THAT(NumbersIn(history), ElementsAre(0, 1, 2, 3, 4));
    EXPECT_THAT(NumbersIn(history, kFirstMs + 2100, kFirstMs + 2900), ElementsAre(2));
    EXPECT_THAT(NumbersIn(history, kFirstMs + 2500, kFirstMs + 3500), ElementsAre(2, 3));
    EXPECT_THAT(NumbersIn(history, kFirstMs + 5001, INT64_MAX), IsEmpty());
    EXPECT_THAT(NumbersIn(history, 0, kFirstMs), IsEmpty());
    uint64_t visits = 0;
    EXPECT_EQ(history.Query(0, INT64_MAX, [&](std::string_view) { return ++visits < 2; }), 2u);
    const HistoryStatistics statistics = history.statistics();
    EXPECT_EQ(statistics.batches, 5u);
    EXPECT_EQ(statistics.appended_samples, 1u + 2 + 3 + 4 + 5);
    EXPECT_EQ(statistics.oldest_ms, kFirstMs);
    EXPECT_EQ(statistics.newest_ms, kFirstMs + 5000);
  }
}

TEST(History, SurvivesARestartAndGoesOnInTheSameFile) {
  const std::string directory = FreshDirectory();
  for (uint64_t i = 0; i < 6; ++i) {
    const OpenedHistory opened = Open(Settings(directory));
    EXPECT_THAT(opened.warnings, IsEmpty());
    EXPECT_EQ(opened.history->statistics().batches, i);
    ASSERT_TRUE(opened.history->Append(FakeBatch(i)).ok());
  }
  EXPECT_EQ(SegmentNames(directory).size(), 1u);
  EXPECT_THAT(NumbersIn(*Open(Settings(directory)).history), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(History, ASegmentIsAnOtlpFileOfItsOwn) {
  const std::string directory = FreshDirectory();
  std::string expected;
  {
    const OpenedHistory opened = Open(Settings(directory));
    for (uint64_t i = 0; i < 3; ++i) {
      const SealedBatchPtr batch = FakeBatch(i, 70'000 * i);
      ASSERT_TRUE(opened.history->Append(batch).ok());
      const auto size = static_cast<uint32_t>(batch->bytes.size());
      for (int shift : {24, 16, 8, 0}) expected.push_back(static_cast<char>(size >> shift));
      expected += batch->bytes;
    }
  }
  ASSERT_THAT(SegmentNames(directory), ElementsAre("000000000001-001790000000000.otlp"));
  EXPECT_EQ(ReadFile(directory + "/history/000000000001-001790000000000.otlp"), expected);
}

TEST(History, IsPrivate) {
  const std::string directory = FreshDirectory() + "/a/b";
  const mode_t mask = umask(0);
  ASSERT_TRUE(Open(Settings(directory)).history->Append(FakeBatch(1)).ok());
  umask(mask);
  struct stat facts;
  for (const std::string name : {"", "/history"}) {
    ASSERT_EQ(stat((directory + name).c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, 0700u) << name;
  }
  for (const std::string& name : {std::string("lock"), SegmentNames(directory).at(0)}) {
    ASSERT_EQ(stat((directory + "/history/" + name).c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, 0600u) << name;
  }
  ASSERT_EQ(chmod((directory + "/history").c_str(), 0755), 0);
  Open(Settings(directory));
  ASSERT_EQ(stat((directory + "/history").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0700u);
}

TEST(History, ASecondInstanceIsRefusedUntilTheFirstEnds) {
  const std::string directory = FreshDirectory();
  OpenedHistory first = Open(Settings(directory));
  const auto second = OpenHistory(Settings(directory));
  ASSERT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
  EXPECT_THAT(
      std::string(second.status().message()),
      HasSubstr("another stackray agent (pid " + std::to_string(getpid()) + ") uses " + directory));
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("--state-dir"));
  first.history.reset();
  EXPECT_TRUE(OpenHistory(Settings(directory)).ok());
}

TEST(History, NothingAcknowledgedIsLostBySigkill) {
  const std::string directory = FreshDirectory();
  int acknowledged[2];
  ASSERT_EQ(pipe(acknowledged), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto opened = OpenHistory(Settings(directory));
    for (uint64_t i = 0; opened.ok() && i < 4000; ++i) {
      if (!opened->history->Append(FakeBatch(i, 20'000)).ok()) _exit(1);
      if (write(acknowledged[1], "x", 1) != 1) _exit(1);
    }
    _exit(2);
  }
  close(acknowledged[1]);
  size_t count = 0;
  for (char byte; count < 300 && read(acknowledged[0], &byte, 1) == 1;) ++count;
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  for (char byte; read(acknowledged[0], &byte, 1) == 1;) ++count;
  close(acknowledged[0]);
  const std::vector<int64_t> numbers = NumbersIn(*Open(Settings(directory)).history);
  ASSERT_GE(numbers.size(), count);
  for (size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], static_cast<int64_t>(i));
}

TEST(History, QueriesSeeWholeBatchesWhileOthersAreDropped) {
  HistorySettings settings = Settings(FreshDirectory());
  settings.max_bytes = 1024 * 1024;
  const OpenedHistory opened = Open(settings);
  std::atomic<bool> done{false};
  std::atomic<uint64_t> seen{0}, wrong{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!done) {
        int64_t last = -1;
        for (int64_t number : NumbersIn(*opened.history)) {
          wrong += number > last ? 0 : 1;  // A torn one would be -1.
          last = number;
          ++seen;
        }
        (void)opened.history->statistics();
      }
    });
  }
  for (uint64_t i = 0; i < 600; ++i) EXPECT_TRUE(opened.history->Append(FakeBatch(i, 10'000)).ok());
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(opened.history->statistics().read_errors, 0u);
  EXPECT_GT(opened.history->statistics().evicted_batches, 400u);
  EXPECT_LE(opened.history->statistics().bytes, settings.max_bytes);
}

}  // namespace
}  // namespace stackray
