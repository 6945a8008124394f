// The very first sample of a program, for which no table is loaded: user space finishes the walk,
// with the stack that the sample brought along, however large that is.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/sampling/markers.h"
#include "tests/live/raw_stacks.h"
#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr int kStopTimeoutMs = 10'000;
constexpr int kRuns = 3;
constexpr int kTurnMs = 200, kMostTurns = 300;
constexpr int kDescents = 12;  // deep_stack's frames of 50 KB.

// Of a program that has come to its work; nullopt when it could not be started or does not stop.
// Errors: as RawStacks::Start.
absl::StatusOr<std::optional<RawStack>> FirstSampleOf(
    const std::string& name, const std::vector<std::string>& arguments = {}) {
  std::vector<std::string> argv = {ProgramPath(name)};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  const TargetProgram program = TargetProgram::Start(argv);
  if (program.pid() == 0) return std::nullopt;
  usleep(100'000);
  const auto stacks = RawStacks::Start(kFrequencyHz, program.pid());
  if (!stacks.ok()) return stacks.status();
  return (*stacks)->StopAtSample(kStopTimeoutMs);
}

// The program's first sample is finished in user space, complete, and has these names in it. Skips
// the test where there is no BPF.
void ExpectWholeWith(const std::string& program, const std::vector<std::string>& arguments,
                     const std::vector<std::string>& names) {
  const absl::StatusOr<std::optional<RawStack>> sampled = FirstSampleOf(program, arguments);
  if (!sampled.ok()) GTEST_SKIP() << sampled.status();
  const std::optional<RawStack>& first = *sampled;
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(first->finished_here);
  EXPECT_TRUE(IsCompleteEnd(first->end)) << EndName(first->end);
  const std::string text = NativeText(*first);
  for (const std::string& name : names) EXPECT_NE(text.find(name), std::string::npos) << text;
}

class DeepStack : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(DeepStack, IsWholeInTheFirstSample) {
  for (int run = 0; run < kRuns; ++run) {
    const absl::StatusOr<std::optional<RawStack>> sampled = FirstSampleOf("deep_stack", GetParam());
    if (!sampled.ok()) GTEST_SKIP() << sampled.status();
    const std::optional<RawStack>& first = *sampled;
    ASSERT_TRUE(first.has_value());
    EXPECT_TRUE(first->finished_here) << "run " << run;
    EXPECT_TRUE(IsCompleteEnd(first->end)) << "run " << run << ": " << EndName(first->end);
    const auto descents = std::ranges::count_if(first->frames, [](const RawFrame& frame) {
      return frame.name.find("Descend") != std::string::npos;
    });
    EXPECT_EQ(descents, kDescents) << "run " << run;
  }
}

// A stack too large to be sent whole: the slice has its lower end, the caller is megabytes above
// it.
TEST(StackTakenAtOnce, IsWholeInTheFirstSample) {
  constexpr int kCallers = 4;
  const absl::StatusOr<std::optional<RawStack>> sampled = FirstSampleOf("alloca_stack");
  if (!sampled.ok()) GTEST_SKIP() << sampled.status();
  const std::optional<RawStack>& first = *sampled;
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(first->finished_here);
  EXPECT_TRUE(IsCompleteEnd(first->end)) << EndName(first->end);
  const auto callers = std::ranges::count_if(first->frames, [](const RawFrame& frame) {
    return frame.name.find("Begin") != std::string::npos;
  });
  EXPECT_EQ(callers, kCallers) << NativeText(*first);
}

// Interrupted where its unwind rules name a place below the stack pointer: behind a pop, and in a
// leaf that uses the red zone.
class RedZone : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(RedZone, IsWholeInTheFirstSample) {
  ExpectWholeWith("red_zone", GetParam(), {"CallLeaf", "main"});
}

INSTANTIATE_TEST_SUITE_P(FirstTouch, RedZone,
                         testing::Values(std::vector<std::string>{},
                                         std::vector<std::string>{"saved"}),
                         [](const auto& instance) {
                           return std::string(instance.param.empty() ? "popped" : "saved");
                         });

// libc's mapping is behind the 192 that a record names.
TEST(ManyMappings, AreKnownInTheFirstSample) {
  ExpectWholeWith("mapped_300_times", {}, {"Work", "_start"});
}

// As a goroutine's: its stack lies in a mapping of many megabytes, and what is above it is others'.
TEST(SliceOfASmallStack, EndsWithIt) {
  constexpr uint32_t kMostBytes = 1024;  // It is one call deep.
  const absl::StatusOr<std::optional<RawStack>> sampled = FirstSampleOf("arena_stack");
  if (!sampled.ok()) GTEST_SKIP() << sampled.status();
  const std::optional<RawStack>& first = *sampled;
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(first->finished_here);
  EXPECT_GT(first->slice_bytes, 0u);
  EXPECT_LE(first->slice_bytes, kMostBytes);
}

// What is new each time: copies, whose inodes nobody has seen.
class NeverSeen : public testing::Test {
 protected:
  // Samples a shell that runs `script` in the directory of copies, from before it begins until it
  // ends.
  void Run(const std::string& script) {
    TargetProgram shell = TargetProgram::Start(
        {"sh", "-c",
         fmt::format("cd {} && while ! test -e go; do sleep 0.05; done; {}; exit",
                     directory_.File(""), script)});
    auto run = SampledRun::Start(kFrequencyHz, {shell.pid()});
    if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
    directory_.Write("go", "");
    for (int i = 0; i < kMostTurns && !shell.Poll(); ++i) (*run)->Run(kTurnMs);
    run_ = *std::move(run);
    counts_ = run_->session().Counts();
    run_->Stop();
    for (const auto& [what, waits] : {std::pair{"exec", counts_.after_exec},
                                      std::pair{"a page's first touch", counts_.after_miss}})
      Measured(fmt::format("from {} to rows: {} times, {:.1f} ms on average, {:.1f} ms at most",
                           what, waits.count, MeanMs(waits),
                           static_cast<double>(waits.longest_ns) / 1e6));
  }
  static double MeanMs(const TableWaits& waits) {
    return static_cast<double>(waits.sum_ns) / 1e6 /
           static_cast<double>(std::max<uint64_t>(waits.count, 1));
  }

  TemporaryDirectory directory_;
  std::unique_ptr<SampledRun> run_;
  SessionCounts counts_;
};

// A library of 110 MB, in a compiler that has the frames of its passes all over it.
TEST_F(NeverSeen, LargeLibraryIsWholeInItsFirstBatch) {
  const std::vector<std::string> library = RunLines(
      "ldd \"$(readlink -f \"$(command -v clang++)\")\" | sed -n 's,.*libLLVM[^ ]* => \\([^ ]*\\) "
      ".*,\\1,p'");
  if (library.empty()) GTEST_SKIP() << "no clang++ with a shared LLVM here";
  const std::string name = std::filesystem::path(library[0]).filename(),
                    copy = directory_.File(name);
  std::error_code error;
  std::filesystem::copy_file(library[0], copy, error);
  ASSERT_FALSE(error) << error.message();
  directory_.Write(
      "a.cc",
      "#include <algorithm>\n#include <map>\n#include <regex>\n#include <string>\n"
      "bool Is(const std::string& s) { return std::regex_match(s, std::regex(\"a.*b\")); }\n");
  Run("LD_LIBRARY_PATH=. clang++ -std=c++17 -O2 -c a.cc -o a.o");
  if (run_ == nullptr) return;
  int first = -1;
  int64_t in_it = 0, whole = 0, first_in_it = 0, first_whole = 0;
  for (const SeenStack& stack : run_->stacks()) {
    if (!std::ranges::any_of(stack.user,
                             [&](const DecodedFrame& frame) { return frame.mapping_path == copy; }))
      continue;
    if (first < 0) first = stack.batch;
    const int64_t is_whole = stack.marker.empty() ? stack.count : 0;
    in_it += stack.count;
    whole += is_whole;
    if (stack.batch != first) continue;
    first_in_it += stack.count;
    first_whole += is_whole;
  }
  Measured(fmt::format("{} ({} MB): {} of {} stacks whole in its first batch, {} of {} in all",
                       name, std::filesystem::file_size(copy) / 1'000'000, first_whole, first_in_it,
                       whole, in_it));
  EXPECT_GE(in_it, 100) << "too few samples to say anything";
  EXPECT_EQ(first_whole, first_in_it);
}

TEST_F(NeverSeen, ProgramsHaveRowsSoonAfterTheirExec) {
  constexpr int kCopies = 4;
  std::string script = "true";
  int programs = 0;
  for (const std::string name : {"cmake", "gdb", "python3", "node", "git", "perl"}) {
    const std::vector<std::string> path = RunLines("readlink -f \"$(command -v " + name + ")\"");
    if (path.empty() || !std::filesystem::is_regular_file(path[0])) continue;
    for (int i = 0; i < kCopies; ++i, ++programs)
      script += fmt::format("; cp {} {}{} && ./{}{} --version >/dev/null 2>&1", path[0], name, i,
                            name, i);
  }
  Run(script);
  if (run_ == nullptr) return;
  EXPECT_GE(counts_.after_exec.count, static_cast<uint64_t>(programs));
  // A proof for a machine that does nothing else; above, it is a figure.
  if (const char* most_ms = std::getenv("STACKRAY_FIRST_TOUCH_MS"); most_ms != nullptr) {
    EXPECT_LE(MeanMs(counts_.after_exec), std::atof(most_ms));
  }
}

INSTANTIATE_TEST_SUITE_P(
    FirstTouch, DeepStack,
    testing::Values(std::vector<std::string>{}, std::vector<std::string>{"in a thread"},
                    std::vector<std::string>{"in a thread", "below other memory"}),
    [](const auto& instance) {
      const size_t words = instance.param.size();
      return std::string(words == 0 ? "main" : words == 1 ? "thread" : "below_memory");
    });

}  // namespace
}  // namespace stackray::test
