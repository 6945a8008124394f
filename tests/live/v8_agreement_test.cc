// A thread's frames in Node or Deno beside the engine's own answer (the CallSites of an Error):
// function, file, line, column and order of each frame that has a script, inlined ones too. The
// thread spins at the end of a chain of calls, another one at each stop: of the innermost function,
// which goes on meanwhile, the place may differ, and what it calls is left out. So are functions
// that await those of the stack, where they are asked for.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "tests/live/java_runs.h"
#include "tests/live/node_runs.h"
#include "tests/live/sampled_run.h"
#include "tests/live/talking_program.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr int kTimeoutMs = 20'000;
// Those of the engine's other threads and of the warm-ups' end count, too.
constexpr uint64_t kSamplesAStop = 30;
constexpr int kSampledMs = 2000;  // At most, on a machine that has no CPU for it.
constexpr int kUsualStops = 4;
constexpr const char* kSpinMs = "300";
constexpr std::string_view kInnermost = "spin", kWarmUp = "warmUp", kAsync = "async ";

struct Mode {
  const char* name;
  std::vector<std::string> options;
  const char* warm_ups;
  int first_node = 14;  // That has the options.
  // Of Deno: its optimized code says neither lines nor what is inlined.
  bool is_for_deno = false;
};
const Mode kModes[] = {
    {"Ignition", {"--no-opt"}, "3", 14, true},
    {"Sparkplug", {"--sparkplug", "--always-sparkplug", "--no-opt"}, "50", 16, true},
    {"Maglev", {"--maglev", "--no-turbofan"}, "3000", 24},
    {"Turbofan", {}, "20000"},
    {"Tiered", {}, "900"},
};

int StopsAsked() {
  const char* asked = std::getenv("STACKRAY_NODE_STOPS");
  return asked == nullptr ? kUsualStops : std::atoi(asked);
}

// Those with a script, innermost first.
std::vector<ScriptFrame> ScriptFrames(const SeenStack& stack) {
  std::vector<ScriptFrame> frames;
  for (const DecodedFrame& frame : stack.user) {
    if (frame.type != "v8js") continue;
    for (const DecodedLine& line : frame.lines)
      if (!line.file.empty()) frames.push_back({line.function, line.file, line.line, line.column});
  }
  return frames;
}

bool IsAwaiting(const ScriptFrame& frame) { return frame.function.starts_with(kAsync); }

// From the innermost function of the chain outwards; those that await come last, as in an Error.
std::vector<ScriptFrame> FromSpin(std::vector<ScriptFrame> frames) {
  const auto spin = std::ranges::find(frames, kInnermost, &ScriptFrame::function);
  frames.erase(frames.begin(), spin);
  std::stable_partition(frames.begin(), frames.end(), std::not_fn(IsAwaiting));
  return frames;
}

std::vector<ScriptFrame> WithoutAwaiting(std::vector<ScriptFrame> frames) {
  std::erase_if(frames, IsAwaiting);
  return frames;
}

// Of those that await: are ours the engine's, or the inner ones of them?
bool AreParentsOf(std::vector<ScriptFrame> ours, std::vector<ScriptFrame> theirs) {
  std::erase_if(ours, std::not_fn(IsAwaiting));
  std::erase_if(theirs, std::not_fn(IsAwaiting));
  return ours.size() <= theirs.size() &&
         std::equal(ours.begin(), ours.end(), theirs.begin(),
                    [](const auto& one, const auto& other) { return one.IsEqual(other); });
}

int64_t CountAwaiting(const std::vector<ScriptFrame>& frames) {
  return std::ranges::count_if(frames, IsAwaiting);
}

bool IsWarmUp(const ScriptFrame& frame) {
  return frame.function == kWarmUp || frame.function == std::string(kAsync) + std::string(kWarmUp);
}

bool Agree(const std::vector<ScriptFrame>& ours, const std::vector<ScriptFrame>& theirs) {
  return !ours.empty() && !theirs.empty() &&
         std::equal(ours.begin() + 1, ours.end(), theirs.begin() + 1, theirs.end(),
                    [](const auto& one, const auto& other) { return one.IsEqual(other); });
}

std::string Difference(const std::vector<ScriptFrame>& ours,
                       const std::vector<ScriptFrame>& theirs) {
  std::string text;
  for (size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
    const std::string left = i < ours.size() ? ours[i].Text() : "-";
    const std::string right = i < theirs.size() ? theirs[i].Text() : "-";
    text += fmt::format("{} {} | {}\n", left == right ? " " : "*", left, right);
  }
  return text;
}

struct Tally {
  int stops = 0, agreed = 0;
  int64_t samples = 0, of_agreed = 0;
  int64_t without = 0;                      // Samples that have none of the functions that await.
  size_t frames = 0, awaiting = 0;          // Of the engine's answers.
  int64_t with_all = 0, false_parents = 0;  // Samples, by the functions that await alone.
  std::string first_difference;
  std::vector<ScriptFrame> before;  // The engine's answer at the stop before.
};

void TakeStop(SampledRun& run, TalkingProgram& program, Tally& tally) {
  const size_t from = program.Heard().size();
  run.Run(1);  // What is older.
  const size_t first = run.stacks().size();
  program.Say("next");
  const std::vector<ScriptFrame> theirs =
      FromSpin(FramesOfCallSites(WaitForLine(program, from, "ready", kTimeoutMs)));
  if (theirs.empty()) return;
  run.Run(kSampledMs, run.session().loop().counts().samples + kSamplesAStop);
  int64_t seen = 0, agreed = 0;
  for (size_t i = first; i < run.stacks().size(); ++i) {
    const SeenStack& stack = run.stacks()[i];
    const std::vector<ScriptFrame> all = ScriptFrames(stack), ours = FromSpin(all);
    // Before the loop: the way there. A thread of the engine has no such frames at all.
    if (ours.empty() && !stack.Has("work")) continue;
    if (std::ranges::any_of(all, IsWarmUp)) continue;
    if (!Agree(ours, theirs) && Agree(ours, tally.before)) continue;  // Read late.
    if (std::ranges::any_of(theirs, IsAwaiting) && Agree(ours, WithoutAwaiting(theirs))) {
      tally.without += stack.count;  // User space has ended its walk.
      continue;
    }
    seen += stack.count;
    if (!AreParentsOf(ours, theirs) && !AreParentsOf(ours, tally.before))
      tally.false_parents += stack.count;
    else if (CountAwaiting(ours) == CountAwaiting(theirs))
      tally.with_all += stack.count;
    if (Agree(ours, theirs))
      agreed += stack.count;
    else if (tally.first_difference.empty())
      tally.first_difference = stack.marker + "\n" + Difference(ours, theirs);
  }
  WaitForLine(program, from, "spun", kTimeoutMs);
  tally.before = theirs;
  if (seen == 0) return;
  ++tally.stops;
  tally.agreed += seen == agreed ? 1 : 0;
  tally.samples += seen;
  tally.of_agreed += agreed;
  tally.frames += theirs.size();
  tally.awaiting += static_cast<size_t>(CountAwaiting(theirs));
}

std::vector<std::string> OptionsOf(const Mode& mode, const Node& node) {
  std::vector<std::string> options = mode.options;
  if (node.is_deno) options.emplace_back("--no-maglev");  // Which --no-opt leaves on there.
  return options;
}

Tally TakeStops(SampledRun& run, TalkingProgram& program) {
  Tally tally;
  TakeStop(run, program, tally);  // Files that are new.
  tally = {.first_difference = "", .before = tally.before};
  for (int i = 0; i < StopsAsked(); ++i) TakeStop(run, program, tally);
  return tally;
}

class V8Agreement : public testing::TestWithParam<Mode> {};

TEST_P(V8Agreement, EachFrameIsTheEnginesOwn) {
  const Mode& mode = GetParam();
  int nodes = 0;
  for (const Node& node : FindNodes()) {
    if (node.is_deno ? !mode.is_for_deno : node.major < mode.first_node) continue;
    SCOPED_TRACE(node.version);
    TalkingProgram program(node.Run(OptionsOf(mode, node), "stops.cjs", {mode.warm_ups, kSpinMs}));
    auto run = SampledRun::Start(kFrequencyHz, {program.pid()});
    if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
    ++nodes;
    const Tally tally = TakeStops(**run, program);
    (*run)->Stop();
    Measured(fmt::format("{} {}: {} of {} stops agree, {} of {} samples, {} frames", node.Name(),
                         mode.name, tally.agreed, tally.stops, tally.of_agreed, tally.samples,
                         tally.frames));
    EXPECT_GT(tally.stops, StopsAsked() / 2);
    EXPECT_EQ(tally.agreed, tally.stops) << tally.first_difference;
  }
  if (nodes == 0) GTEST_SKIP() << "no Node from " << mode.first_node << " on here";
}

INSTANTIATE_TEST_SUITE_P(Modes, V8Agreement, testing::ValuesIn(kModes),
                         [](const auto& mode) { return std::string(mode.param.name); });

class V8AsyncParents : public testing::TestWithParam<Mode> {};

TEST_P(V8AsyncParents, AreTheEnginesOwn) {
  int nodes = 0;
  for (const Node& node : FindNodes()) {
    if (node.is_deno || node.major < GetParam().first_node) continue;
    SCOPED_TRACE(node.version);
    TalkingProgram program(
        node.Run(GetParam().options, "awaits.cjs", {GetParam().warm_ups, kSpinMs}));
    auto run = SampledRun::Start(kFrequencyHz, {program.pid()}, true);
    if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
    ++nodes;
    const Tally tally = TakeStops(**run, program);
    (*run)->Stop();
    Measured(fmt::format(
        "{} {}: async parents at {} of {} stops agree, {} of {} samples, {} "
        "frames that await of {}; {} samples have all of these, {} false ones, {} none",
        node.Name(), GetParam().name, tally.agreed, tally.stops, tally.of_agreed, tally.samples,
        tally.awaiting, tally.frames, tally.with_all, tally.false_parents, tally.without));
    EXPECT_GT(tally.stops, StopsAsked() / 2);
    EXPECT_GT(tally.awaiting, static_cast<size_t>(tally.stops));
    EXPECT_EQ(tally.false_parents, 0) << tally.first_difference;
    // Of the others something was in motion, or user space has ended the walk.
    EXPECT_GE(tally.with_all, (tally.samples + tally.without) * 8 / 10) << tally.first_difference;
  }
  if (nodes == 0) GTEST_SKIP() << "no Node from " << GetParam().first_node << " on here";
}

const Mode kAwaitModes[] = {{"Interpreted", {"--no-opt"}, "3", 16}, {"Tiered", {}, "500", 16}};
INSTANTIATE_TEST_SUITE_P(Modes, V8AsyncParents, testing::ValuesIn(kAwaitModes),
                         [](const auto& mode) { return std::string(mode.param.name); });

// Nobody has asked: the frames are those of the stack.
TEST(V8AsyncParentsUnasked, AreNotThere) {
  int nodes = 0;
  for (const Node& node : FindNodes()) {
    if (node.is_deno) continue;
    SCOPED_TRACE(node.version);
    TalkingProgram program(node.Run({}, "awaits.cjs", {"3", kSpinMs}));
    auto run = SampledRun::Start(kFrequencyHz, {program.pid()});
    if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
    ++nodes;
    const Tally tally = TakeStops(**run, program);
    (*run)->Stop();
    int64_t awaiting = 0;
    for (const SeenStack& stack : (*run)->stacks()) awaiting += CountAwaiting(ScriptFrames(stack));
    EXPECT_GT(tally.without, tally.samples);  // All of the engine's frames but those.
    EXPECT_EQ(awaiting, 0);
  }
  if (nodes == 0) GTEST_SKIP() << "no Node here";
}

}  // namespace
}  // namespace stackray::test
