// Foreign readers with jobs that behave like hostile memory and files.
#include "kernel/foreign/foreign_reads.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "kernel/foreign/local_file.h"

namespace stackray {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

void WaitForEver(ForeignJob& /*job*/) {
  for (;;) pause();
}
void End(ForeignJob& /*job*/) { _exit(3); }
void SayWho(ForeignJob& job) { job.AppendValue(getpid()); }
void Repeat(ForeignJob& job) {
  const auto count = job.Input<uint32_t>();
  for (uint32_t i = 0; i < count; ++i) job.AppendText(job.InputText(sizeof(count)));
}
void OpenNamed(ForeignJob& job) {
  UniqueFd fd = job.Open(job.InputText(0));
  if (!fd.valid()) return job.Fail(errno);
  AnswerFile facts;
  if (ReturnForReading(job, std::move(fd), 1 << 20, &facts)) job.AppendValue(facts);
}
// Each step takes a while, and all together longer than a reader may stand still.
void ComeForwardSlowly(ForeignJob& job) {
  for (int i = 0; i < 4; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    job.ComeForward();
  }
  job.AppendText("done");
}

ForeignAnswer CallWithText(uint32_t pid, ForeignWork work, std::string_view text) {
  return CallForeign(pid, work, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

// A child that sleeps: somebody to read.
class Sleeper {
 public:
  explicit Sleeper(uid_t uid = 0) {
    int ready[2];
    if (pipe(ready) != 0) abort();
    pid_ = fork();
    if (pid_ == 0) {
      if (uid != 0 && setresuid(uid, uid, uid) != 0) _exit(1);
      close(ready[0]);
      close(ready[1]);
      for (;;) pause();
    }
    close(ready[1]);
    char byte;
    (void)!read(ready[0], &byte, 1);  // Its end, once the child is whose it is to be.
    close(ready[0]);
  }
  ~Sleeper() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  uint32_t pid() const { return static_cast<uint32_t>(pid_); }

 private:
  pid_t pid_;
};

// Sleepers are made before there are readers' threads; the readers' parent is one for all tests.
class ForeignReads : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(StartForeignReaders({}).ok()); }
};

TEST_F(ForeignReads, AReaderIsAnotherProcess) {
  const ForeignAnswer answer = CallForeign(0, &SayWho, {});
  EXPECT_EQ(answer.error, 0);
  EXPECT_NE(AnswerValue<pid_t>(answer), getpid());
  EXPECT_EQ(AnswerValue<pid_t>(CallForeign(0, &SayWho, {})), AnswerValue<pid_t>(answer));
}

TEST_F(ForeignReads, AnswersOfAnySizeComeWhole) {
  for (const uint32_t count : {0u, 1u, 1000u, 100'000u}) {
    std::string expected;
    for (uint32_t i = 0; i < count; ++i) expected += "twelve bytes";
    EXPECT_EQ(CallForeign(0, &Repeat, count, "twelve bytes").bytes, expected);
  }
}

TEST_F(ForeignReads, AQuestionHasABound) {
  EXPECT_EQ(CallWithText(0, &SayWho, std::string(9000, 'x')).error, ENAMETOOLONG);
}

TEST_F(ForeignReads, AFileComesAlong) {
  const ForeignAnswer answer = CallWithText(0, &OpenNamed, "/proc/self/exe");
  ASSERT_EQ(answer.error, 0);
  char magic[4] = {};
  EXPECT_EQ(pread(answer.file.get(), magic, 4, 0), 4);
  EXPECT_EQ(std::string(magic, 4),
            "\x7f"
            "ELF");
  EXPECT_EQ(CallWithText(0, &OpenNamed, "/no/such/file").error, ENOENT);
  EXPECT_EQ(CallWithText(0, &OpenNamed, "/dev/null").error, EINVAL);
}

TEST_F(ForeignReads, AFifoIsNotWaitedFor) {
  const std::string path = testing::TempDir() + "foreign-fifo";
  unlink(path.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const Clock::time_point began = Clock::now();
  EXPECT_EQ(CallWithText(0, &OpenNamed, path).error, EINVAL);
  EXPECT_LT(SecondsSince(began), 0.9);
  unlink(path.c_str());
}

TEST_F(ForeignReads, MemoryIsReadAsTheKernelReadsIt) {
  constexpr size_t kBytes = 300 << 10;
  auto* const memory = static_cast<uint8_t*>(
      mmap(nullptr, kBytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::iota(memory, memory + kBytes, uint8_t{0});
  munmap(memory + kBytes, 4096);
  const auto own = static_cast<uint32_t>(getpid());
  std::vector<uint8_t> read(kBytes + 1);
  const iovec whole[] = {{memory, kBytes}};
  EXPECT_EQ(ReadForeignMemory(own, whole, {read.data(), kBytes}), ssize_t{kBytes});
  EXPECT_TRUE(std::equal(memory, memory + kBytes, read.begin()));
  // In pieces, the last of which ends where nothing is.
  const iovec pieces[] = {{memory + 1, 3}, {memory + 70'000, 70'000}, {memory + kBytes - 5, 6}};
  std::vector<uint8_t> expected(70'009), got(70'009);
  const iovec local = {expected.data(), expected.size()};
  const ssize_t as_kernel = process_vm_readv(getpid(), &local, 1, pieces, 3, 0);
  EXPECT_EQ(ReadForeignMemory(own, pieces, got), as_kernel);
  EXPECT_EQ(got, expected);
  const iovec nowhere[] = {{memory + kBytes, 8}};
  EXPECT_EQ(ReadForeignMemory(own, nowhere, {read.data(), 8}), -1);
  EXPECT_EQ(errno, EFAULT);
  munmap(memory, kBytes);
}

TEST_F(ForeignReads, AProcessThatIsGoneSaysSo) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  uint8_t byte;
  const iovec one[] = {{&byte, 1}};
  EXPECT_EQ(ReadForeignMemory(static_cast<uint32_t>(child), one, {&byte, 1}), -1);
  EXPECT_EQ(errno, ESRCH);
  EXPECT_EQ(ReadForeignText(static_cast<uint32_t>(child), "maps", 100), "");
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(ForeignReads, TextsAreBounded) {
  const auto own = static_cast<uint32_t>(getpid());
  EXPECT_EQ(ReadForeignText(own, "maps", 10).size(), 10u);
  EXPECT_EQ(ReadForeignLink(own, "exe"),
            std::string(std::filesystem::read_symlink("/proc/self/exe")));
}

TEST_F(ForeignReads, AReaderThatDiesIsReplaced) {
  const Clock::time_point began = Clock::now();
  EXPECT_NE(CallForeign(0, &End, {}).error, 0);
  EXPECT_LT(SecondsSince(began), 0.9);
  EXPECT_EQ(CallForeign(0, &SayWho, {}).error, 0);
}

TEST_F(ForeignReads, WhoComesForwardMayTakeLonger) {
  EXPECT_EQ(CallForeign(0, &ComeForwardSlowly, {}).bytes, "done");
}

TEST_F(ForeignReads, WhoDoesNotReturnIsLeftAlone) {
  const Sleeper silent(12345), other(12345), another_users(12346), of_root;
  const uint64_t hangs = CountForeignReads().left_alone.hangs;
  Clock::time_point began = Clock::now();
  EXPECT_EQ(CallForeign(silent.pid(), &WaitForEver, {}).error, ETIMEDOUT);
  EXPECT_GT(SecondsSince(began), 0.9);
  EXPECT_LT(SecondsSince(began), 3);
  EXPECT_EQ(CountForeignReads().left_alone.hangs, hangs + 1);
  EXPECT_TRUE(IsLeftAlone(silent.pid()));
  // From now on nobody waits for it, and others are read as before, those of its user too.
  began = Clock::now();
  EXPECT_EQ(CallForeign(silent.pid(), &SayWho, {}).error, ETIMEDOUT);
  EXPECT_EQ(CallForeign(other.pid(), &SayWho, {}).error, 0);
  EXPECT_LT(SecondsSince(began), 0.5);
  // A second process of the user: now nothing of that user is read.
  EXPECT_EQ(CallForeign(other.pid(), &WaitForEver, {}).error, ETIMEDOUT);
  const Sleeper third(12345);
  EXPECT_TRUE(IsLeftAlone(third.pid()));
  EXPECT_FALSE(IsLeftAlone(another_users.pid()));
  EXPECT_FALSE(IsLeftAlone(of_root.pid()));
  EXPECT_EQ(CallForeign(another_users.pid(), &SayWho, {}).error, 0);
}

TEST_F(ForeignReads, RootIsNeverLeftAloneAsAWhole) {
  const Sleeper one, two, three;
  EXPECT_EQ(CallForeign(one.pid(), &WaitForEver, {}).error, ETIMEDOUT);
  EXPECT_EQ(CallForeign(two.pid(), &WaitForEver, {}).error, ETIMEDOUT);
  EXPECT_TRUE(IsLeftAlone(two.pid()));
  EXPECT_EQ(CallForeign(three.pid(), &SayWho, {}).error, 0);
}

TEST_F(ForeignReads, OthersAreAnsweredMeanwhile) {
  const Sleeper silent, other;
  std::thread waits([&] { CallForeign(silent.pid(), &WaitForEver, {}); });
  const Clock::time_point began = Clock::now();
  int answered = 0;
  while (SecondsSince(began) < 0.5) answered += CallForeign(other.pid(), &SayWho, {}).error == 0;
  EXPECT_GT(answered, 100);
  waits.join();
}

TEST_F(ForeignReads, AReaderThatWasGivenUpIsGone) {
  const Sleeper silent;
  EXPECT_EQ(CallForeign(silent.pid(), &WaitForEver, {}).error, ETIMEDOUT);
  for (int i = 0; i < 200 && CountForeignReads().readers_hanging > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(CountForeignReads().readers_hanging, 0u);
}

}  // namespace
}  // namespace stackray
