#include "kernel/process_info.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace stackray {
namespace {

// Start of a process as /proc says it, read here in another way: by the stat of its folder's
// fields.
uint64_t StartTimeOf(pid_t pid) {
  FILE* file = fopen(("/proc/" + std::to_string(pid) + "/stat").c_str(), "r");
  unsigned long long ticks = 0;
  if (file == nullptr) return 0;
  // The command of this test holds neither blanks nor brackets.
  if (fscanf(file,
             "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
             "%*d %*d %llu",
             &ticks) != 1)
    ticks = 0;
  fclose(file);
  return ticks * (1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK)));
}

ProcessId Self() {
  return {.pid = static_cast<uint32_t>(getpid()), .start_time_ns = StartTimeOf(getpid())};
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(ReadProcProcess, OfOurselves) {
  ASSERT_NE(Self().start_time_ns, 0u);
  const std::optional<ProcProcess> process = ReadProcProcess(Self());
  ASSERT_TRUE(process.has_value());
  EXPECT_EQ(process->executable_path, std::filesystem::read_symlink("/proc/self/exe").string());
  EXPECT_EQ(process->cgroup_text, ReadText("/proc/self/cgroup"));
  EXPECT_TRUE(IsSameProcess(Self()));
  EXPECT_TRUE(HasExecutable(Self().pid));
}

TEST(ReadProcProcess, AnotherProcessUnderThePidTellsNothing) {
  ProcessId id = Self();
  id.start_time_ns += 1'000'000'000;
  EXPECT_FALSE(ReadProcProcess(id).has_value());
  EXPECT_FALSE(IsSameProcess(id));
}

TEST(ReadProcProcess, AProcessThatIsGoneTellsNothing) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(HasExecutable(static_cast<uint32_t>(child))) << "a zombie";
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  const ProcessId id{.pid = static_cast<uint32_t>(child), .start_time_ns = 5};
  EXPECT_FALSE(ReadProcProcess(id).has_value());
  EXPECT_FALSE(HasExecutable(id.pid));
}

}  // namespace
}  // namespace stackray
