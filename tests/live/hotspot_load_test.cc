// A Java program under load, seen as a receiver sees it: whole stacks from the leaf to the thread's
// start, all Java frames named, whatever kind of code they are.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/live/java_runs.h"
#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499, kOftenHz = 4999;
constexpr double kMostInNoMethod = 0.02;  // 5 % before entries were named by their methods.
constexpr int kLives = 3;
constexpr size_t kShownOfCut = 8;   // Frames.
constexpr int kTimeoutMs = 60'000;  // A busy machine; else a second or two.
constexpr uint64_t kWarmUpSamples = 800, kUsualSamples = 2000;

struct Seen {
  int64_t stacks = 0, rooted = 0;      // With Java frames; with main or a thread's run() as root.
  int64_t frames = 0, unnamed = 0;     // Java frames.
  int64_t inlined = 0, with_line = 0;  // Places with several functions; with a line.
  int64_t unknown = 0;                 // Stacks with [unknown jit].
};

bool IsNamed(const DecodedFrame& frame) {
  return !frame.lines.empty() && !frame.lines.back().function.starts_with("[");
}

Seen Look(const std::vector<SeenStack>& stacks, size_t first) {
  Seen seen;
  for (size_t i = first; i < stacks.size(); ++i) {
    const SeenStack& stack = stacks[i];
    std::string root;
    for (const DecodedFrame& frame : stack.user) {
      if (frame.type != "jvm") continue;
      seen.frames += stack.count;
      seen.unnamed += IsNamed(frame) ? 0 : stack.count;
      if (!IsNamed(frame)) continue;
      if (!frame.lines.back().system_name.empty()) root = frame.lines.back().function;
      seen.inlined += frame.lines.size() > 1 ? stack.count : 0;
      seen.with_line += frame.lines.back().line != 0 ? stack.count : 0;
    }
    seen.unknown += stack.marker == "[unknown jit]" ? stack.count : 0;
    if (root.empty()) continue;
    seen.stacks += stack.count;
    seen.rooted += root == "Shapes.main" || root == "java.lang.Thread.run" ? stack.count : 0;
  }
  return seen;
}

// "3 times [truncated: …]: leaf < caller < …", the kinds of cut stacks.
std::vector<std::string> CutStacks(const std::vector<SeenStack>& stacks) {
  std::map<std::string, int64_t> kinds;
  for (const SeenStack& stack : stacks) {
    if (stack.marker.empty()) continue;
    std::string text = stack.marker + ":";
    const std::vector<std::string> names = stack.UserNames();
    for (size_t i = 0; i < std::min(names.size(), kShownOfCut); ++i) text += " < " + names[i];
    kinds[text] += stack.count;
  }
  std::vector<std::string> texts;
  texts.reserve(kinds.size());
  for (const auto& [kind, count] : kinds) texts.push_back(fmt::format("{} times {}", count, kind));
  return texts;
}

struct LoadRun {
  double complete = 0, all = 0;
  Seen seen;
  std::vector<SeenStack> stacks;
  std::string ends;
  std::vector<std::string> cuts;
};

// Samples the program, once it has run for a while. Empty: no BPF here, as `why` says.
std::optional<LoadRun> RunLoad(const std::vector<std::string>& command, uint64_t samples,
                               std::string* why, double frequency_hz = kFrequencyHz) {
  const TargetProgram program = TargetProgram::Start(command);
  auto run = SampledRun::Start(frequency_hz, {program.pid()});
  if (!run.ok()) {
    *why = run.status().ToString();
    return std::nullopt;
  }
  (*run)->Run(kTimeoutMs, kWarmUpSamples);  // The start, and files that are new.
  const uint64_t complete = (*run)->complete(), all = (*run)->with_user_stack();
  const size_t warm_up = (*run)->stacks().size();
  (*run)->Run(kTimeoutMs, samples);
  (*run)->Stop();
  return LoadRun{.complete = static_cast<double>((*run)->complete() - complete),
                 .all = static_cast<double>((*run)->with_user_stack() - all),
                 .seen = Look((*run)->stacks(), warm_up),
                 .stacks = {(*run)->stacks().begin() + static_cast<std::ptrdiff_t>(warm_up),
                            (*run)->stacks().end()},
                 .ends = (*run)->Ends(),
                 .cuts = CutStacks((*run)->stacks())};
}

void Report(const std::string& name, const LoadRun& run) {
  const Seen& seen = run.seen;
  Measured(fmt::format(
      "java {} under load: {} of {} whole, {} of {} with main or run as root, of {} frames {} "
      "unnamed, {} with a line, {} with inlined ones, {} stacks with unknown code; {}",
      name, run.complete, run.all, seen.rooted, seen.stacks, seen.frames, seen.unnamed,
      seen.with_line, seen.inlined, seen.unknown, run.ends));
  for (const std::string& cut : run.cuts) Measured(cut);
}

TEST(HotSpotLoad, StacksAreWholeAndNamed) {
  const LoadBounds bounds = LoadBoundsFor(kUsualSamples);
  const std::string classes = CompileJava("Shapes");
  if (classes.empty()) GTEST_SKIP() << "no JDK with javac here";
  for (const Jdk& jdk : FindJdks()) {
    SCOPED_TRACE(jdk.home);
    std::string why;
    const std::optional<LoadRun> run =
        RunLoad(jdk.Java({"-Xmx256m", "-cp", classes, "Shapes"}), bounds.samples, &why);
    if (!run) GTEST_SKIP() << "no BPF here: " << why;
    Report(jdk.version, *run);
    const Seen& seen = run->seen;
    ASSERT_GT(run->all, static_cast<double>(bounds.samples - kWarmUpSamples) / 2);
    EXPECT_GE(run->complete, bounds.least_whole * run->all);
    EXPECT_GE(static_cast<double>(seen.stacks), 0.5 * run->all);
    EXPECT_GE(static_cast<double>(seen.rooted), 0.99 * static_cast<double>(seen.stacks));
    EXPECT_LE(static_cast<double>(seen.unnamed),
              bounds.most_stale * static_cast<double>(seen.frames));
    EXPECT_GT(seen.inlined, 0);
    EXPECT_EQ(seen.unknown, 0);
  }
}

constexpr const char* kUnnamed = "?";

// Methods of `program`.java, outermost first. One that has lost its name may be any.
std::vector<std::string> MethodsOf(const std::string& program, const SeenStack& stack) {
  std::vector<std::string> methods;
  for (const DecodedFrame& frame : stack.user) {
    if (frame.type == "jvm" && !IsNamed(frame)) methods.emplace_back(kUnnamed);
    for (const auto& line : frame.lines)
      if (line.function.starts_with(program + "."))
        methods.push_back(line.function.substr(program.size() + 1));
  }
  std::reverse(methods.begin(), methods.end());
  return methods;
}

// Callers that a program's methods have by its source; "": the thread's start.
using Callers = std::multimap<std::string, std::string>;
bool HasPossibleCallers(const std::vector<std::string>& methods, const Callers& callers) {
  std::string caller;
  for (const std::string& method : methods) {
    const auto [begin, end] = callers.equal_range(method);
    if (method != kUnnamed && caller != kUnnamed &&
        std::none_of(begin, end, [&](const auto& one) { return one.second == caller; }))
      return false;
    caller = method;
  }
  return true;
}

// Of whole stacks with such methods, how many have a caller that is impossible.
struct Checked {
  int64_t stacks = 0, wrong = 0;
  std::set<std::string> wrongs;
};
Checked CheckCallers(const LoadRun& run, const std::string& program, const Callers& callers) {
  Checked checked;
  for (const SeenStack& stack : run.stacks) {
    const std::vector<std::string> methods = MethodsOf(program, stack);
    if (!stack.marker.empty() || methods.empty()) continue;
    checked.stacks += stack.count;
    if (HasPossibleCallers(methods, callers)) continue;
    checked.wrong += stack.count;
    checked.wrongs.insert(fmt::format("{}", fmt::join(methods, " > ")));
  }
  return checked;
}

// Samples whose leaf is in the interpreter, and in no method.
int64_t InterpretersLeaves(const LoadRun& run) {
  int64_t count = 0;
  for (const SeenStack& stack : run.stacks)
    if (!stack.user.empty() && !stack.user.front().lines.empty() &&
        stack.user.front().lines.back().function == "interpreter")
      count += stack.count;
  return count;
}

// Leaves in adapters and in the interpreter's entries and exits; with "handles" also in what
// MethodHandle's methods run.
TEST(HotSpotLoad, MethodsBetweenCompiledAndInterpretedHaveTheirCallers) {
  const LoadBounds bounds = LoadBoundsFor(kUsualSamples);
  const std::string classes = CompileJava("Adapters");
  if (classes.empty()) GTEST_SKIP() << "no JDK with javac here";
  const Callers callers = {{"main", ""},
                           {"quickFirst", "main"},
                           {"slowFirst", "quickFirst"},
                           {"quickSecond", "slowFirst"},
                           {"slowSecond", "quickSecond"},
                           {"quickLeaf", "slowSecond"},
                           {"slowHandles", "main"},
                           {"quickHandles", "slowHandles"},
                           {"quickOfHandle", "slowHandles"},
                           {"quickOfHandle", "quickHandles"},
                           {"slowOfHandle", "quickHandles"},
                           {"quickTwice", "slowOfHandle"},
                           {"slowFew", "quickTwice"},
                           {"quickFew", "slowFew"}};
  for (const Jdk& jdk : FindJdks()) {
    for (const char* const mode : {"", "handles"}) {
      SCOPED_TRACE(jdk.home + " " + mode);
      std::vector<std::string> options = {"-Xmx256m",
                                          "-XX:+UseSerialGC",
                                          "-XX:CompileCommand=exclude,Adapters::slow*",
                                          "-XX:CompileCommand=dontinline,Adapters::*",
                                          "-cp",
                                          classes,
                                          "Adapters"};
      if (*mode != 0) options.emplace_back(mode);
      std::string why;
      const std::optional<LoadRun> run =
          RunLoad(jdk.Java(options), 4 * bounds.samples, &why, kOftenHz);
      if (!run) GTEST_SKIP() << "no BPF here: " << why;
      Report(fmt::format("{} in adapters {}", jdk.version, mode), *run);
      const Checked checked = CheckCallers(*run, "Adapters", callers);
      Measured(fmt::format("of {} whole stacks {} have an impossible caller: {}", checked.stacks,
                           checked.wrong, fmt::join(checked.wrongs, "; ")));
      const int64_t in_no_method = InterpretersLeaves(*run);
      Measured(
          fmt::format("of {} samples {} in the interpreter, in no method", run->all, in_no_method));
      ASSERT_GT(static_cast<double>(checked.stacks), 0.5 * run->all);
      EXPECT_GE(run->complete, bounds.least_whole * run->all);
      EXPECT_EQ(checked.wrong, 0);
      // Handles have entries of their own.
      if (*mode == 0) EXPECT_LE(static_cast<double>(in_no_method), kMostInNoMethod * run->all);
    }
  }
}

// Methods that are deoptimised all the time, while they are on the stack.
TEST(HotSpotLoad, DeoptimisedMethodsHaveTheirCallers) {
  const LoadBounds bounds = LoadBoundsFor(kUsualSamples);
  const std::string classes = CompileJava("Deopts");
  if (classes.empty()) GTEST_SKIP() << "no JDK with javac here";
  const Callers callers = {{"<init>", ""},     {"<init>", "load"}, {"call", ""},
                           {"deep", "call"},   {"deep", "deep"},   {"first", "deep"},
                           {"second", "deep"}, {"third", "deep"},  {"bottom", "deep"},
                           {"load", "bottom"}, {"rare", "bottom"}, {"trapped", "rare"}};
  for (const Jdk& jdk : FindJdks()) {
    SCOPED_TRACE(jdk.home);
    std::string why;
    const std::optional<LoadRun> run =
        RunLoad(jdk.Java({"-Xmx256m", "-XX:+UseSerialGC", "-cp", classes, "Deopts"}),
                4 * bounds.samples, &why, kOftenHz);
    if (!run) GTEST_SKIP() << "no BPF here: " << why;
    Report(fmt::format("{}, deoptimised", jdk.version), *run);
    const Checked checked = CheckCallers(*run, "Deopts$Unit", callers);
    int64_t unfilled = 0;
    for (const SeenStack& stack : run->stacks)
      unfilled += stack.Has("deoptimised frame") ? stack.count : 0;
    Measured(
        fmt::format("of {} whole stacks {} have an impossible caller: {}; {} with frames "
                    "that have no method yet",
                    checked.stacks, checked.wrong, fmt::join(checked.wrongs, "; "), unfilled));
    ASSERT_GT(static_cast<double>(checked.stacks), 0.2 * run->all);
    EXPECT_GE(run->complete, bounds.least_whole * run->all);
    EXPECT_LE(static_cast<double>(run->seen.unnamed),
              bounds.most_stale * static_cast<double>(run->seen.frames));
    EXPECT_EQ(checked.wrong, 0);
    EXPECT_GT(unfilled, 0);
  }
}

// What STACKRAY_JAVA_PROGRAM says, words with spaces between them: a compiler, a server.
TEST(HotSpotLoad, ProgramOfOtherMakers) {
  const char* const asked = std::getenv("STACKRAY_JAVA_PROGRAM");
  if (asked == nullptr) GTEST_SKIP() << "no STACKRAY_JAVA_PROGRAM";
  std::istringstream words(asked);
  const std::vector<std::string> command{std::istream_iterator<std::string>(words), {}};
  const LoadBounds bounds = LoadBoundsFor(kUsualSamples);
  std::string why;
  const std::optional<LoadRun> run = RunLoad(command, bounds.samples, &why);
  if (!run) GTEST_SKIP() << "no BPF here: " << why;
  Report(asked, *run);
  EXPECT_GE(run->complete, bounds.least_whole * run->all);
  EXPECT_LE(static_cast<double>(run->seen.unnamed), 0.002 * static_cast<double>(run->seen.frames));
}

// Programs that begin after the sampler and live for 300 ms: no frame of theirs is unknown.
TEST(HotSpotShort, LivesOf300MsAreNamed) {
  const std::string classes = CompileJava("Brief");
  if (classes.empty()) GTEST_SKIP() << "no JDK with javac here";
  auto run = SampledRun::Start(kFrequencyHz, {static_cast<uint32_t>(getpid())});
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  for (const Jdk& jdk : FindJdks()) {
    SCOPED_TRACE(jdk.home);
    const size_t before = (*run)->stacks().size();
    for (int life = 0; life < kLives; ++life) {
      TargetProgram program = TargetProgram::Start(jdk.Java({"-cp", classes, "Brief"}));
      while (!program.Poll()) (*run)->Run(20);
    }
    int64_t samples = 0, frames = 0, unknown = 0, cut = 0;
    std::set<std::string> functions;
    for (size_t i = before; i < (*run)->stacks().size(); ++i) {
      const SeenStack& stack = (*run)->stacks()[i];
      if (stack.command != "java") continue;
      samples += stack.count;
      cut += stack.marker.empty() ? 0 : stack.count;
      for (const DecodedFrame& frame : stack.user) {
        frames += stack.count;
        const std::string name = frame.lines.empty() ? "" : frame.lines.back().function;
        unknown += name == "[gone]" || name == "[stale]" ? stack.count : 0;
        if (name.starts_with("Brief.")) functions.insert(name);
      }
    }
    Measured(
        fmt::format("java {}, {} lives of 300 ms: {} samples, {} cut or through unknown code, "
                    "{} of {} frames [gone] or [stale], {} of its methods",
                    jdk.version, kLives, samples, cut, unknown, frames, functions.size()));
    EXPECT_GE(functions.size(), 3u);
    EXPECT_LE(static_cast<double>(cut + unknown), 0.01 * static_cast<double>(samples));
  }
  (*run)->Stop();
}

struct Collector {
  const char* name;
  int first_jdk;
};
class HotSpotChurn : public testing::TestWithParam<Collector> {};

// Classes are unloaded, code is thrown away and compiled anew, with each collector.
TEST_P(HotSpotChurn, CodeThatComesAndGoesIsNamedOrStale) {
  const LoadBounds bounds = LoadBoundsFor(kUsualSamples);
  const std::string classes = CompileJava("Churn");
  if (classes.empty()) GTEST_SKIP() << "no JDK with javac here";
  int ran = 0;
  for (const Jdk& jdk : FindJdks()) {
    if (jdk.number() < GetParam().first_jdk) continue;
    SCOPED_TRACE(jdk.home);
    std::string why;
    const std::optional<LoadRun> run =
        RunLoad(jdk.Java({fmt::format("-XX:+Use{}GC", GetParam().name), "-Xmx256m", "-cp", classes,
                          "Churn"}),
                bounds.samples, &why);
    if (!run) GTEST_SKIP() << "no BPF here: " << why;
    Report(fmt::format("{} {}, comes and goes", jdk.version, GetParam().name), *run);
    if (run->all == 0) continue;  // Shenandoah is not in each build.
    ++ran;
    EXPECT_GE(run->complete, bounds.least_whole * run->all);
    EXPECT_LE(static_cast<double>(run->seen.unnamed),
              bounds.most_stale * static_cast<double>(run->seen.frames));
    EXPECT_EQ(run->seen.unknown, 0);
  }
  if (ran == 0) GTEST_SKIP() << "no JDK with this collector here";
}

INSTANTIATE_TEST_SUITE_P(Collectors, HotSpotChurn,
                         testing::Values(Collector{"G1", 8}, Collector{"Serial", 8},
                                         Collector{"Parallel", 8}, Collector{"Z", 17},
                                         Collector{"Shenandoah", 17}),
                         [](const auto& collector) { return std::string(collector.param.name); });

}  // namespace
}  // namespace stackray::test
