// Names of this process's own made-up JIT code, from each source that it may have: as it grows, is
// replaced, and is hostile.
#include "interpreters/jit/jit_names.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kernel/pid_namespace.h"
#include "kernel/process_info.h"
#include "kernel/unique_fd.h"
#include "kernel/wall_clock.h"
#include "tests/interpreters/jit/dump_bytes.h"
#include "tests/interpreters/jit/jit_elf.h"

// The list that gdb looks for, in this program.
struct GdbEntry {
  GdbEntry *next = nullptr, *before = nullptr;
  const void* elf = nullptr;
  uint64_t size = 0;
};
extern "C" {
struct {
  uint32_t version = 1, action = 0;
  GdbEntry *relevant = nullptr, *first = nullptr;
} __jit_debug_descriptor;  // NOLINT: a name that gdb prescribes.
}

namespace stackray {
namespace {

ProcessId Own() {
  const uint32_t pid = OwnPidInProc();
  const auto ticks_a_second = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  return {.pid = pid,
          .exec_id = 0,
          .start_time_ns = ReadProcStat(pid)->start_ticks * (1'000'000'000 / ticks_a_second)};
}

class JitNamesTest : public testing::Test {
 protected:
  JitNamesTest() : map_("/tmp/perf-" + std::to_string(getpid()) + ".map") {
    std::filesystem::remove(map_);
  }
  ~JitNamesTest() override {
    std::filesystem::remove(map_);
    __jit_debug_descriptor.first = nullptr;
  }
  void Write(std::string_view text) { std::ofstream(map_, std::ios::app) << text; }
  std::string At(uint64_t address) {
    const auto answer = names_.Find(own_, address, BootTimeNs());
    return answer ? answer->function->LineAt(address).function : "";
  }
  // Waits until the process is looked at again.
  std::string Later(uint64_t address) {
    usleep(100'000);
    return At(address);
  }

  const std::string map_;
  const ProcessId own_ = Own();
  ExecutableFiles files_{64};
  JitNames names_{files_};
};

TEST_F(JitNamesTest, ReadsAPerfMapOnAsItGrows) {
  Write("1000 10 first\n2000 10 ha");
  EXPECT_EQ(At(0x1008), "first");
  EXPECT_EQ(At(0x2000), "");
  Write("lf\n1008 10 second\n");
  EXPECT_EQ(At(0x2000), "half");
  EXPECT_EQ(At(0x1000), "");
  EXPECT_EQ(At(0x1008), "second");
  EXPECT_EQ(names_.counts().perf_maps, 1U);
  EXPECT_EQ(names_.counts().functions, 3U);
}

TEST_F(JitNamesTest, AnAnswerIsAsNewAsItsSample) {
  Write("1000 10 first\n");
  const uint64_t now = BootTimeNs();
  ASSERT_TRUE(names_.Find(own_, 0x1000, now));
  Write("1000 10 second\n");
  EXPECT_EQ(names_.Find(own_, 0x1000, now)->function->name, "first");
  EXPECT_EQ(names_.Find(own_, 0x1000, BootTimeNs())->function->name, "second");
}

TEST_F(JitNamesTest, AnotherFunctionHasAnotherKey) {
  Write("1000 10 first\n");
  const FrameKey first = names_.Find(own_, 0x1000, BootTimeNs())->key;
  EXPECT_EQ(names_.Find(own_, 0x100f, BootTimeNs())->key, first);
  Write("1000 10 second\n");
  EXPECT_NE(names_.Find(own_, 0x1000, BootTimeNs())->key, first);
}

TEST_F(JitNamesTest, AMapThatIsWrittenAnewIsReadAnew) {
  Write("1000 10 a_long_name_of_the_first_function\n");
  EXPECT_EQ(At(0x1000), "a_long_name_of_the_first_function");
  std::filesystem::remove(map_);
  Write("2000 10 second\n");
  EXPECT_EQ(At(0x2000), "");  // The old one was let go,
  EXPECT_EQ(Later(0x2000), "second");
  EXPECT_EQ(At(0x1000), "");
}

TEST_F(JitNamesTest, AMapThatComesLaterIsFound) {
  EXPECT_EQ(At(0x1000), "");
  Write("1000 10 late\n");
  EXPECT_EQ(Later(0x1000), "late");
}

TEST_F(JitNamesTest, RefusesAndCountsALink) {
  std::filesystem::create_symlink("/etc/passwd", map_);
  EXPECT_EQ(At(0x1000), "");
  EXPECT_EQ(Later(0x1000), "");
  EXPECT_EQ(names_.counts().refused.at("symbolic link"), 1U);
}

// 4 MiB without a line break, then a map of which the newest functions are kept.
TEST_F(JitNamesTest, AHugeMapIsBounded) {
  Write(std::string(4 << 20, 'x'));
  std::string lines = "\n";
  for (int i = 1; i <= 100'000; ++i) lines += std::to_string(10'000'000 + i * 16) + " 10 name\n";
  Write(lines);
  const std::string newest = std::to_string(10'000'000 + 100'000 * 16);
  std::string found;
  for (int i = 0; i < 600 && found.empty(); ++i) found = Later(std::stoull(newest, nullptr, 16));
  EXPECT_EQ(found, "name");
  EXPECT_LE(names_.bytes(), 2 * JitProcess::kMostSourceBytes);
  EXPECT_GT(names_.counts().forgotten, 0U);
  EXPECT_EQ(names_.counts().damaged, 1U);
}

TEST_F(JitNamesTest, ReadsAJitDump) {
  const std::string path = testing::TempDir() + "/jit-" + std::to_string(getpid()) + ".dump";
  test::DumpBytes dump;
  dump.Lines(0x1000, {{0x1000, 7, "f.py"}}).Load(0x1000, "py::f", "code");
  std::ofstream(path).write(reinterpret_cast<const char*>(dump.bytes().data()),
                            static_cast<std::streamsize>(dump.bytes().size()));
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  void* const mark = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd.get(), 0);
  ASSERT_NE(mark, MAP_FAILED);
  const auto answer = names_.Find(own_, 0x1002, BootTimeNs());
  ASSERT_TRUE(answer.has_value());
  const SourceLine line = answer->function->LineAt(0x1002);
  EXPECT_EQ(line.function + " " + line.file + ":" + std::to_string(line.line), "py::f f.py:7");
  munmap(mark, 4096);
  std::filesystem::remove(path);
}

TEST_F(JitNamesTest, ReadsGdbsList) {
  const std::vector<uint8_t> first = test::JitElf(ET_REL, 0x5000, 0x100, {{"f", 0, 16}});
  const std::vector<uint8_t> second = test::JitElf(ET_REL, 0x6000, 0x100, {{"g", 0, 16}});
  GdbEntry old{.elf = first.data(), .size = first.size()};
  GdbEntry added{.next = &old, .elf = second.data(), .size = second.size()};
  __jit_debug_descriptor.first = &old;
  EXPECT_EQ(At(0x5008), "f");
  EXPECT_EQ(At(0x6008), "");
  old.before = &added;
  __jit_debug_descriptor.first = &added;
  EXPECT_EQ(At(0x6008), "g");
  EXPECT_EQ(At(0x5008), "f");
  added.next = nullptr;  // Code that is gone.
  __jit_debug_descriptor.first = nullptr;
  EXPECT_EQ(At(0x5008), "");
}

TEST_F(JitNamesTest, ReadsAheadWhereThereIsCodeOfNoFile) {
  const std::vector<uint8_t> elf = test::JitElf(ET_REL, 0x5000, 0x100, {{"f", 0, 16}});
  GdbEntry entry{.elf = elf.data(), .size = elf.size()};
  __jit_debug_descriptor.first = &entry;
  names_.ReadAhead(own_);
  EXPECT_EQ(names_.counts().gdb_lists, 0);
  constexpr size_t kBytes = 4096;
  void* const code =
      mmap(nullptr, kBytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(code, MAP_FAILED);
  names_.ReadAhead(own_);
  munmap(code, kBytes);
  EXPECT_EQ(names_.counts().gdb_lists, 1);
  EXPECT_EQ(names_.counts().functions, 1);
}

TEST_F(JitNamesTest, ReadsAheadWhereCodeLiesInAMemoryFile) {
  Write("1000 10 f\n");
  names_.ReadAhead(own_);
  EXPECT_EQ(names_.counts().functions, 0);
  constexpr size_t kBytes = 4096;
  const UniqueFd fd(memfd_create("vmem", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(fd.get(), kBytes), 0);
  void* const code = mmap(nullptr, kBytes, PROT_READ | PROT_EXEC, MAP_SHARED, fd.get(), 0);
  ASSERT_NE(code, MAP_FAILED);
  names_.ReadAhead(own_);
  munmap(code, kBytes);
  EXPECT_EQ(names_.counts().functions, 1);
}

TEST_F(JitNamesTest, SaysTheSameAfterAWipe) {
  Write("1000 10 f\n");
  EXPECT_EQ(At(0x1000), "f");
  names_.Wipe();
  EXPECT_EQ(At(0x1000), "f");
}

// What was read of a child serves when it has ended, and nobody else's map does.
TEST_F(JitNamesTest, AProcessThatIsGoneKeepsItsNames) {
  int go[2];
  ASSERT_EQ(pipe2(go, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    _exit(read(go[0], &byte, 1) == 1 ? 0 : 1);
  }
  const uint32_t pid = ChildPidInProc(static_cast<uint32_t>(child));
  const ProcessId id{
      .pid = pid,
      .exec_id = 0,
      .start_time_ns = ReadProcStat(pid)->start_ticks *
                       (1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK)))};
  const std::string map = "/tmp/perf-" + std::to_string(child) + ".map";
  std::ofstream(map) << "1000 10 childs\n";
  EXPECT_TRUE(names_.Find(id, 0x1000, BootTimeNs()));
  ASSERT_EQ(write(go[1], "x", 1), 1);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  std::filesystem::remove(map);
  names_.Wipe();
  const auto answer = names_.Find(id, 0x1000, BootTimeNs());
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->function->name, "childs");
  EXPECT_FALSE(
      names_.Find({.pid = id.pid, .exec_id = 0, .start_time_ns = 1}, 0x1000, BootTimeNs()));
  close(go[0]);
  close(go[1]);
}

}  // namespace
}  // namespace stackray
