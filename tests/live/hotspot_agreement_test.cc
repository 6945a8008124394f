// A Java thread's frames beside the JVM's own answer (what it says to jstack): class, method, line
// and order of each frame, inlined ones too. The thread runs in a loop at the end of a chain of
// calls, another one at each stop: only the innermost frame's line may differ, for the JVM answers
// at a safepoint and we at a tick. Of a virtual thread the answer is Thread.getStackTrace()'s.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <string>
#include <vector>

#include "tests/live/java_runs.h"
#include "tests/live/sampled_run.h"
#include "tests/live/talking_program.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr int kTimeoutMs = 20'000, kStartMs = 60'000;
constexpr uint64_t kSamplesAStop = 3;
constexpr int kUsualStops = 4;

struct Mode {
  const char* name;
  std::vector<std::string> options;
  const char* warm_ups;
  bool is_virtual = false;
  int first_jdk = 8;  // That has the options.
};
const Mode kModes[] = {
    {"Interpreted", {"-Xint"}, "50"},
    {"C1", {"-XX:TieredStopAtLevel=1", "-XX:+UseParallelGC"}, "4000"},
    {"C2",
     {"-XX:-TieredCompilation", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"},
     "12000"},
    {"Tiered", {"-XX:+UseSerialGC"}, "6000"},
    {"Pointers", {"-XX:-UseCompressedOops", "-XX:ReservedCodeCacheSize=64m"}, "6000"},
    {"Zgc", {"-XX:+UseZGC", "-XX:+PreserveFramePointer"}, "6000", false, 17},
    {"Virtual", {"-XX:+UnlockDiagnosticVMOptions", "-XX:+ShowHiddenFrames"}, "6000", true, 21},
};

int StopsAsked() {
  const char* asked = std::getenv("STACKRAY_JAVA_STOPS");
  return asked == nullptr ? kUsualStops : std::atoi(asked);
}

// "Shapes.third:78", innermost first.
std::vector<std::string> JavaFrames(const SeenStack& stack) {
  std::vector<std::string> frames;
  for (const DecodedFrame& frame : stack.user) {
    if (frame.type != "jvm") continue;
    for (const DecodedLine& line : frame.lines)
      if (!line.system_name.empty())
        frames.push_back(fmt::format("{}:{}", line.function, line.line));
  }
  return frames;
}

// The method alone.
std::string MethodOf(const std::string& frame) { return frame.substr(0, frame.rfind(':')); }

// Frames of a virtual thread stand on its carrier's, which are not in its own answer.
bool Agree(std::vector<std::string> ours, const std::vector<std::string>& theirs, bool is_virtual) {
  if (is_virtual && ours.size() > theirs.size() &&
      MethodOf(ours[theirs.size()]).starts_with("jdk.internal.vm.Continuation."))
    ours.resize(theirs.size());
  if (ours.empty() || ours.size() != theirs.size() || MethodOf(ours[0]) != MethodOf(theirs[0]))
    return false;
  return std::equal(ours.begin() + 1, ours.end(), theirs.begin() + 1);
}

std::string Difference(const std::vector<std::string>& ours,
                       const std::vector<std::string>& theirs) {
  std::string text;
  for (size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
    const std::string left = i < ours.size() ? ours[i] : "-";
    const std::string right = i < theirs.size() ? theirs[i] : "-";
    text += fmt::format("{} {} | {}\n", left == right ? " " : "*", left, right);
  }
  return text;
}

// The number of a lambda's class is one run's; we leave it out.
std::string WithoutLambdaNumber(const std::string& frame) {
  static const std::regex kNumber(R"(\$\$Lambda\$\d+)");
  return std::regex_replace(frame, kNumber, "$$$$Lambda");
}

struct Tally {
  int stops = 0, agreed = 0;
  int64_t samples = 0, of_agreed = 0;
  size_t frames = 0;  // Of the JVM's answers.
  std::string first_difference;
  std::vector<std::string> before;  // The JVM's answer at the last stop.
};

// The main thread is in no other method of the program's classes.
bool IsOfWorker(const std::vector<std::string>& ours) {
  return std::ranges::any_of(ours, [](const std::string& frame) {
    return frame.starts_with("Stops") && !frame.starts_with("Stops.main:");
  });
}

void TakeStop(SampledRun& run, TalkingProgram& program, const Mode& mode, Tally& tally) {
  const auto heard = [&] { return program.Heard().size(); };
  size_t from = heard();
  program.Say("next");
  if (WaitForLine(program, from, "ready", kTimeoutMs).empty()) return;
  run.Run(1);  // What is older; on a busy host some of it comes later.
  const size_t first = run.stacks().size();
  run.Run(kTimeoutMs, run.session().loop().counts().samples + kSamplesAStop);
  std::vector<std::string> theirs;
  if (mode.is_virtual) {
    from = heard();
    program.Say("trace");
    theirs = FramesOfTrace(WaitForLine(program, from, "end", kTimeoutMs));
  } else {
    theirs = ThreadFrames(program.pid(), "worker");
  }
  std::ranges::transform(theirs, theirs.begin(), WithoutLambdaNumber);
  int64_t seen = 0, agreed = 0;
  for (size_t i = first; i < run.stacks().size(); ++i) {
    const SeenStack& stack = run.stacks()[i];
    const std::vector<std::string> ours = JavaFrames(stack);
    if (!IsOfWorker(ours) && !ours.empty()) continue;
    if (ours.empty() && stack.marker.empty()) continue;  // A thread of the JVM itself.
    if (!Agree(ours, theirs, mode.is_virtual) && Agree(ours, tally.before, mode.is_virtual))
      continue;  // Of the stop before, read late.
    seen += stack.count;
    if (Agree(ours, theirs, mode.is_virtual))
      agreed += stack.count;
    else if (tally.first_difference.empty())
      tally.first_difference = stack.marker + "\n" + Difference(ours, theirs);
  }
  tally.before = theirs;
  if (seen == 0) return;
  ++tally.stops;
  tally.agreed += seen == agreed ? 1 : 0;
  tally.samples += seen;
  tally.of_agreed += agreed;
  tally.frames += theirs.size();
}

class HotSpotAgreement : public testing::TestWithParam<Mode> {};

TEST_P(HotSpotAgreement, EachFrameIsTheJvmsOwn) {
  const std::string classes = CompileJava("Stops");
  if (classes.empty()) GTEST_SKIP() << "no JDK with javac here";
  const Mode& mode = GetParam();
  int jdks = 0;
  for (const Jdk& jdk : FindJdks()) {
    if (jdk.number() < mode.first_jdk) continue;
    SCOPED_TRACE(jdk.home);
    std::vector<std::string> options = mode.options;
    options.insert(options.end(), {"-cp", classes, "Stops", mode.warm_ups});
    if (mode.is_virtual) options.emplace_back("virtual");
    TalkingProgram program(jdk.Java(options));
    ASSERT_FALSE(WaitForLine(program, 0, "ready", kStartMs).empty());
    auto run = SampledRun::Start(kFrequencyHz, {program.pid()});
    if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
    ++jdks;
    (*run)->Run(kTimeoutMs, 20);  // Files that are new.
    Tally tally;
    TakeStop(**run, program, mode, tally);  // So that the stop before is known.
    tally = {.first_difference = "", .before = tally.before};
    for (int i = 0; i < StopsAsked(); ++i) TakeStop(**run, program, mode, tally);
    (*run)->Stop();
    Measured(fmt::format("java {} {}: {} of {} stops agree, {} of {} samples, {} frames",
                         jdk.version, mode.name, tally.agreed, tally.stops, tally.of_agreed,
                         tally.samples, tally.frames));
    EXPECT_GT(tally.stops, StopsAsked() / 2);
    EXPECT_EQ(tally.agreed, tally.stops) << tally.first_difference;
  }
  if (jdks == 0) GTEST_SKIP() << "no JDK from " << mode.first_jdk << " on here";
}

INSTANTIATE_TEST_SUITE_P(Modes, HotSpotAgreement, testing::ValuesIn(kModes),
                         [](const auto& mode) { return std::string(mode.param.name); });

}  // namespace
}  // namespace stackray::test
