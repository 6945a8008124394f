// Frames of JIT code that a perf map names: in every batch, and with two functions at one address.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "kernel/pid_namespace.h"
#include "kernel/process_files.h"
#include "kernel/unique_fd.h"
#include "kernel/wall_clock.h"
#include "tests/agent/sampling/loop_bench.h"
#include "tests/agent/sampling/record_bytes.h"
#include "tests/agent/sampling/sampled_world.h"
#include "tests/reporter/decoded_batch.h"

namespace stackray::test {
namespace {

class JitFrames : public testing::Test {
 protected:
  JitFrames() { std::filesystem::remove(map_); }
  ~JitFrames() override { std::filesystem::remove(map_); }

  void Write(std::string_view name) {
    std::ofstream map(map_, std::ios::app);
    map << std::hex << JitRange().start << " 10 " << name << "\n";
  }
  // A sample with this one frame.
  void Sample(frame_kind kind, uint64_t distance) {
    SampleAt(kind, JitRange(), JitRange().start + distance);
  }
  void SampleAt(frame_kind kind, const code_range& range, uint64_t file_offset) {
    const uint32_t pid = OwnPidInProc();
    SampleParts parts{.process = {.pid = pid, .exec_id = 1, .start_time_ns = StartTimeOf(pid)},
                      .time_ns = BootTimeNs()};
    parts.ranges = {range};
    parts.user = {FrameWord(kind, 0, file_offset)};
    bench_.Take(MakeSample(parts).bytes());
  }
  // Of the samples in the batch, each of one frame.
  std::vector<std::string> Names(size_t batch) {
    bench_.loop().Seal();
    const DecodedBatch decoded = *DecodeBatch(bench_.batches().at(batch)->bytes);
    std::vector<std::string> names;
    for (const DecodedSample& sample : decoded.samples)
      for (const int32_t frame : sample.frames)
        names.push_back(decoded.frames[static_cast<size_t>(frame)].lines.at(0).function);
    std::ranges::sort(names);
    return names;
  }

  const std::string map_ = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  TestClock clock_;
  LoopBench bench_{clock_, {}, std::nullopt};
};

TEST_F(JitFrames, AreNamedInEveryBatch) {
  Write("first");
  for (size_t batch = 0; batch < 3; ++batch) {
    Sample(FRAME_EXACT, 0);
    EXPECT_EQ(Names(batch), std::vector<std::string>{"first"}) << batch;
    if (batch == 1) bench_.Wipe();
  }
}

TEST_F(JitFrames, TwoFunctionsAtOneAddressAreTwo) {
  Write("first");
  Sample(FRAME_EXACT, 4);
  Write("second");
  Sample(FRAME_EXACT, 4);
  EXPECT_EQ(Names(0), (std::vector<std::string>{"first", "second"}));
}

// A call that ends a function returns to the one behind it.
TEST_F(JitFrames, AReturnAddressIsBehindItsCall) {
  Write("first");
  Sample(FRAME_RETURN, 0x10);
  Sample(FRAME_EXACT, 0x10);
  EXPECT_EQ(Names(0), (std::vector<std::string>{"[unknown jit]", "first"}));
}

// Memory with a name that no folder has, as .NET keeps its code in: bytes that are no ELF file.
TEST_F(JitFrames, AMemoryFileThatIsNoElfIsJitCode) {
  const UniqueFd fd(memfd_create("doublemapper", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(fd.get(), 8192), 0);
  void* const code = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd.get(), 4096);
  ASSERT_NE(code, MAP_FAILED);
  const auto start = reinterpret_cast<uint64_t>(code);
  const auto ranges = ReadExecutableRanges(OwnPidInProc());
  ASSERT_TRUE(ranges.ok());
  const auto range = std::ranges::find(*ranges, start, &code_range::start);
  ASSERT_NE(range, ranges->end());
  ASSERT_EQ(range->kind, RANGE_FILE);
  std::ofstream(map_) << std::hex << start + 64 << " 10 named\n";
  SampleAt(FRAME_EXACT, *range, 4096 + 16);
  SampleAt(FRAME_EXACT, *range, 4096 + 64);
  EXPECT_EQ(Names(0), (std::vector<std::string>{"[unknown jit]", "named"}));
  munmap(code, 4096);
}

}  // namespace
}  // namespace stackray::test
