#include "tests/live/runtime_load.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "kernel/wall_clock.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr int kTimeoutMs = 60'000;  // A busy machine; else a second or two.

void AddFrame(const DecodedLine& line, int64_t count, const RuntimeTrait& runtime,
              RuntimeFrames* seen) {
  seen->frames += count;
  seen->names[line.function] += count;
  seen->stale += line.function == "[stale]" ? count : 0;
  seen->unnamed += line.function.empty() || line.function == "[gone]" ? count : 0;
  const bool needs_line = runtime.all_have_files || !line.file.empty();
  seen->without_line += needs_line && (line.line <= 0 || line.file.empty()) ? count : 0;
}

}  // namespace

bool IsNoName(const std::string& function) {
  return function.empty() || function == "[stale]" || function == "[gone]";
}

int64_t RuntimeFrames::SamplesOf(const std::string& function) const {
  const auto found = functions.find(function);
  return found == functions.end() ? 0 : found->second;
}

int64_t RuntimeFrames::OthersThan(const std::function<bool(const std::string&)>& is_known) const {
  int64_t others = 0;
  for (const auto& [name, count] : names) others += IsNoName(name) || is_known(name) ? 0 : count;
  return others;
}

RuntimeFrames FramesOf(const std::vector<SeenStack>& stacks, const RuntimeTrait& runtime) {
  RuntimeFrames seen;
  for (const SeenStack& stack : stacks) {
    std::string root;
    std::set<std::string> names;
    for (const DecodedFrame& frame : stack.user) {
      if (frame.type != runtime.frame_type) continue;
      const DecodedLine line = frame.lines.empty() ? DecodedLine{} : frame.lines.back();
      root = line.function;
      names.insert(line.function);
      AddFrame(line, stack.count, runtime, &seen);
    }
    if (names.empty()) continue;
    seen.stacks += stack.count;
    for (const std::string& name : names) seen.functions[name] += stack.count;
    seen.rooted += runtime.is_root(root) ? stack.count : 0;
  }
  return seen;
}

absl::StatusOr<LoadRun> SampleUnderLoad(uint32_t pid, uint64_t warm_up, uint64_t samples,
                                        const RuntimeTrait& runtime) {
  auto run = SampledRun::Start(kFrequencyHz, {pid});
  if (!run.ok()) return run.status();
  SampledRun& sampled = **run;
  sampled.Run(kTimeoutMs, warm_up);
  const uint64_t complete = sampled.complete(), all = sampled.with_user_stack();
  sampled.Run(kTimeoutMs, samples);
  sampled.Stop();
  return LoadRun{.complete = sampled.complete() - complete,
                 .all = sampled.with_user_stack() - all,
                 .seen = FramesOf(sampled.stacks(), runtime),
                 .ends = sampled.Ends()};
}

absl::StatusOr<RuntimeFrames> SampleFiveShortPrograms(const std::vector<std::string>& command,
                                                      const RuntimeTrait& runtime) {
  std::string line = "sleep 1; for i in 1 2 3 4 5; do";
  for (const std::string& word : command) line += " '" + word + "'";
  TargetProgram shell = TargetProgram::Start({"sh", "-c", line + "; done"});
  auto run = SampledRun::Start(kFrequencyHz, {shell.pid()});
  if (!run.ok()) return run.status();
  const uint64_t end = BootTimeNs() + uint64_t{kTimeoutMs} * 1'000'000;
  while (!shell.Poll() && BootTimeNs() < end) (*run)->Run(200);
  (*run)->Stop();
  return FramesOf((*run)->stacks(), runtime);
}

void ExpectWholeAndNamed(const LoadRun& run, const LoadBounds& bounds, uint64_t warm_up,
                         const LoadShares& shares) {
  const auto all = static_cast<double>(run.all), stacks = static_cast<double>(run.seen.stacks);
  ASSERT_GT(run.all, (bounds.samples - warm_up) / 2) << "too few samples in a minute";
  EXPECT_GE(static_cast<double>(run.complete), bounds.least_whole * all);
  EXPECT_GE(static_cast<double>(run.seen.rooted), shares.rooted * stacks);
  EXPECT_GE(stacks, shares.stacks * all);
  EXPECT_LE(static_cast<double>(run.seen.without_name()),
            shares.unnamed.value_or(bounds.most_stale) * static_cast<double>(run.seen.frames));
}

void ExpectNamesOfNewCode(const std::string& version, const RuntimeFrames& seen,
                          const LoadBounds& bounds,
                          const std::function<bool(const std::string&)>& is_known) {
  const int64_t others = seen.OthersThan(is_known);
  Measured(fmt::format(
      "{} with code that comes and goes: {} frames, {} [stale], {} unnamed, {} of other names",
      version, seen.frames, seen.stale, seen.unnamed, others));
  ASSERT_GT(seen.frames, static_cast<int64_t>(bounds.samples) / 2) << "too few samples in a minute";
  EXPECT_LT(others, seen.frames / 10);
  EXPECT_LE(static_cast<double>(seen.without_name()),
            bounds.most_stale * static_cast<double>(seen.frames));
}

void ExpectFirstMiddleAndLast(const std::string& version, const RuntimeFrames& seen,
                              const std::string& class_name, int64_t most_unnamed) {
  const int64_t first = seen.SamplesOf(class_name + "first");
  const int64_t middle = seen.SamplesOf(class_name + "middle");
  const int64_t last = seen.SamplesOf(class_name + "last");
  const int64_t unnamed = seen.SamplesOf("[gone]") + seen.SamplesOf("[stale]");
  Measured(fmt::format(
      "{}, programs of 300 ms: first {}, middle {}, last {} samples; {} without a name of {} "
      "stacks",
      version, first, middle, last, unnamed, seen.stacks));
  EXPECT_GT(first, 0);
  EXPECT_GT(middle, 0);
  EXPECT_GT(last, 0);
  EXPECT_LE(unnamed, most_unnamed);
}

std::string LoadText(const std::string& version, const LoadRun& run) {
  return fmt::format(
      "{} under load: {} of {} whole, {} of {} with its root, of {} frames {} [stale], {} unnamed, "
      "{} without line; {}",
      version, run.complete, run.all, run.seen.rooted, run.seen.stacks, run.seen.frames,
      run.seen.stale, run.seen.unnamed, run.seen.without_line, run.ends);
}

}  // namespace stackray::test
