// A history whose disk or directory fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/history/history.h"
#include "tests/agent/history/fake_batch.h"

namespace stackray {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

HistorySettings Settings(const std::string& state_dir) {
  HistorySettings settings;
  settings.state_dir = state_dir;
  settings.now_ms = [] { return kFirstMs + 100'000; };
  return settings;
}

TEST(HistoryFailure, NoDirectoryMeansMemoryOnlyWithAWarning) {
  const std::string file = FreshDirectory() + "/file";
  WriteFile(file, "x");
  for (const std::string& directory : {file, file + "/below", std::string("/proc/nothing")}) {
    const auto opened = OpenHistory(Settings(directory));
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_FALSE(opened->history->statistics().on_disk);
    EXPECT_THAT(opened->warnings, ElementsAre(HasSubstr("kept in memory only")));
    EXPECT_THAT(opened->warnings, ElementsAre(HasSubstr(directory.substr(0, 5))));
    EXPECT_TRUE(opened->history->Append(FakeBatch(1)).ok());
    EXPECT_THAT(NumbersIn(*opened->history), ElementsAre(1));
  }
}

TEST(HistoryFailure, ASymbolicLinkIsNotFollowed) {
  const std::string directory = FreshDirectory(), elsewhere = FreshDirectory();
  ASSERT_EQ(symlink(elsewhere.c_str(), (directory + "/history").c_str()), 0);
  const auto opened = OpenHistory(Settings(directory));
  ASSERT_TRUE(opened.ok());
  EXPECT_FALSE(opened->history->statistics().on_disk);
}

TEST(HistoryFailure, AnotherUsersDirectoryIsNotUsed) {
  if (geteuid() != 0) GTEST_SKIP() << "giving a directory to another user needs root";
  const std::string directory = FreshDirectory();
  ASSERT_EQ(mkdir((directory + "/history").c_str(), 0777), 0);
  ASSERT_EQ(chown((directory + "/history").c_str(), 12345, 12345), 0);
  const auto opened = OpenHistory(Settings(directory));
  ASSERT_TRUE(opened.ok());
  EXPECT_THAT(opened->warnings, ElementsAre(HasSubstr("belongs to user 12345")));
}

// The kernel stops a file's growth in the middle of a frame, as a full disk does.
TEST(HistoryFailure, AWriteCutShortLeavesNoTornFrame) {
  const std::string directory = FreshDirectory();
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  {
    const auto opened = OpenHistory(Settings(directory));
    History& history = *opened->history;
    ASSERT_TRUE(history.Append(FakeBatch(0, 20'000)).ok());
    const rlimit tight{30'000, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
    EXPECT_TRUE(history.Append(FakeBatch(1, 20'000)).ok());
    const std::string cut_short = history.failing_with();
    EXPECT_TRUE(
        history.Append(FakeBatch(2, 40'000)).ok());  // The one before has a file of its own.
    EXPECT_TRUE(history.Append(FakeBatch(3, 20'000)).ok());
    const std::string too_large = history.failing_with();
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_THAT(cut_short, HasSubstr("File too large"));
    EXPECT_THAT(too_large, HasSubstr("File too large"));
    EXPECT_GT(history.statistics().memory_bytes, 60'000u);
    EXPECT_THAT(NumbersIn(history), ElementsAre(0, 1, 2, 3));
    EXPECT_TRUE(history.Append(FakeBatch(4, 20'000)).ok());
    EXPECT_THAT(NumbersIn(history), ElementsAre(0, 1, 2, 3, 4));
    EXPECT_EQ(history.statistics().memory_bytes, 0u);
    EXPECT_EQ(history.failing_with(), "");
    EXPECT_EQ(history.statistics().failed_batches, 0u);
  }
  signal(SIGXFSZ, handler);
  const auto reopened = OpenHistory(Settings(directory));
  EXPECT_EQ(reopened->history->statistics().damaged_bytes, 0u);
  EXPECT_THAT(NumbersIn(*reopened->history), ElementsAre(0, 1, 2, 3, 4));
}

// Runs in a child with a 1 MiB file system of its own. Exit code: 0 right, 77 not allowed here,
// else the line.
int RunOnAFullDisk(const std::string& directory) {
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return 77;
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
  if (mount("tmpfs", directory.c_str(), "tmpfs", 0, "size=1m") != 0) return 77;
  HistorySettings settings = Settings(directory);
  settings.memory_bytes = 400'000;
  const auto opened = OpenHistory(settings);
  if (!opened.ok() || !opened->history->statistics().on_disk) return 1;
  History& history = *opened->history;
  for (uint64_t i = 0; i < 20; ++i)
    if (!history.Append(FakeBatch(i, 10'000)).ok()) return 2;
  // Somebody else takes all that is left, now and later.
  const std::string other(2 << 20, 'x');
  int full = 0;
  for (uint64_t i = 20; i < 220; ++i) {
    WriteFile(directory + "/other" + std::to_string(i), other);
    if (!history.Append(FakeBatch(i, 10'000)).ok()) return 3;
    const std::vector<int64_t> numbers = NumbersIn(history);
    for (size_t n = 0; n < numbers.size(); ++n)
      if (numbers[n] < 0 || (n > 0 && numbers[n] <= numbers[n - 1])) return 4;
    if (numbers.size() < 10 || numbers.back() != static_cast<int64_t>(i)) return 5;
    const HistoryStatistics now = history.statistics();
    if (now.memory_bytes > settings.memory_bytes / 2) return 6;
    if (now.appended_batches != i + 1 || now.failed_batches != 0) return 7;
    full += history.failing_with().find("No space left") != std::string::npos ? 1 : 0;
  }
  if (full == 0) return 8;
  if (history.statistics().evicted_batches == 0) return 9;  // Room was made for newer ones.
  const std::vector<int64_t> kept = NumbersIn(history);
  for (uint64_t i = 20; i < 220; ++i) unlink((directory + "/other" + std::to_string(i)).c_str());
  if (!history.Append(FakeBatch(300, 10'000)).ok()) return 10;
  if (!history.failing_with().empty() || history.statistics().memory_bytes != 0) return 11;
  std::vector<int64_t> all = kept;
  all.push_back(300);
  return NumbersIn(history) == all ? 0 : 12;
}

// What does not fit the disk is in memory, and what waits there is written when it can be.
TEST(HistoryFailure, AFullDiskNeverEmptiesIt) {
  const std::string directory = FreshDirectory();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(RunOnAFullDisk(directory));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no file system can be mounted here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace stackray
