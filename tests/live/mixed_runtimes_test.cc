// Several runtimes on one stack: each frame in the place that the C stack gives it, none lost below
// the first runtime's, and each runtime's frames as it says itself.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernel/wall_clock.h"
#include "tests/live/python_runs.h"
#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr uint64_t kStartTimeoutNs = 30'000'000'000;
constexpr int kTimeoutMs = 60'000;
constexpr uint64_t kWarmUpSamples = 50, kSamples = 400;
constexpr int64_t kLineOfEval = 1;  // Of the texts that the embedder evaluates.
constexpr int kMissing = 77;        // The programs' exit code.

// A name in /tmp that is free and goes with the test.
class FreeName {
 public:
  FreeName() {
    const int fd = mkstemp(name_);
    if (fd >= 0) close(fd);
    unlink(name_);
  }
  ~FreeName() { unlink(name_); }
  const char* get() const { return name_; }

 private:
  char name_[32] = "/tmp/stackray-mixed-XXXXXX";
};

std::vector<std::string> Lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

const DecodedLine* LineOf(const DecodedFrame& frame) {
  return frame.lines.empty() ? nullptr : &frame.lines.back();
}

struct StepFrame {
  char language;  // As in the pattern.
  std::string function;
  int64_t line;
};

// The embedder's own functions, and what calls the next runtime: leaf first.
struct Steps {
  std::vector<StepFrame> frames;
  std::vector<size_t> at, bridges;  // Their places in the stack.
  bool is_at_bottom = false;
};

Steps StepsOf(const SeenStack& stack) {
  static const std::map<std::string, char> kLanguages = {
      {"cpython", 'p'}, {"perl", 'l'}, {"ruby", 'r'}};
  Steps steps;
  for (size_t i = 0; i < stack.user.size(); ++i) {
    const DecodedLine* line = LineOf(stack.user[i]);
    if (line == nullptr) continue;
    steps.is_at_bottom |= line->function == "Bottom";
    if (line->function == "Bridge") steps.bridges.push_back(i);
    const auto language = kLanguages.find(stack.user[i].type);
    if (language == kLanguages.end() || !line->function.ends_with("_step")) continue;
    // Ruby gives the text that its eval runs the name of the method around it.
    if (language->second == 'r' && line->line == kLineOfEval) continue;
    const size_t method = line->function.find('#');
    steps.frames.push_back({language->second,
                            line->function.substr(method == std::string::npos ? 0 : method + 1),
                            line->line});
    steps.at.push_back(i);
  }
  return steps;
}

// Outermost first, with exactly one call into C between two of them.
std::string ProblemOfOrder(const Steps& steps, const std::string& pattern) {
  std::string seen;
  for (const StepFrame& frame : steps.frames) seen.insert(seen.begin(), frame.language);
  if (!pattern.starts_with(seen)) return fmt::format("'{}' of '{}'", seen, pattern);
  if (steps.is_at_bottom && seen != pattern) return fmt::format("'{}' at the bottom", seen);
  for (size_t i = 0; i + 1 < steps.at.size(); ++i) {
    const auto between = std::count_if(steps.bridges.begin(), steps.bridges.end(), [&](size_t at) {
      return at > steps.at[i] && at < steps.at[i + 1];
    });
    if (between != 1) return fmt::format("{} calls between steps {} and {}", between, i, i + 1);
  }
  return "";
}

// "FUNCTION LINE" of the frames of a language, innermost first.
std::vector<std::string> Own(const Steps& steps, char language) {
  std::vector<std::string> own;
  for (const StepFrame& frame : steps.frames)
    if (frame.language == language) own.push_back(fmt::format("{} {}", frame.function, frame.line));
  return own;
}

std::vector<std::string> Theirs(const std::vector<std::string>& answers, char language) {
  const std::string name = language == 'p'   ? "python_step "
                           : language == 'l' ? "perl_step "
                                             : "ruby_step ";
  std::vector<std::string> theirs;
  for (const std::string& line : answers)
    if (line.find(name) != std::string::npos && line != fmt::format("ruby_step {}", kLineOfEval))
      theirs.push_back(line);
  return theirs;
}

// Samples until a stack that is `right` was seen, which takes all files being known, and then
// kSamples more. Where the stacks of the latter begin; nullopt: there was none in time.
template <typename IsRight>
std::optional<size_t> Sample(SampledRun* run, const IsRight& is_right) {
  size_t seen = 0;
  uint64_t samples = 0;
  for (const uint64_t end = BootTimeNs() + kTimeoutMs * uint64_t{1'000'000}; BootTimeNs() < end;) {
    run->Run(kTimeoutMs / 10, samples += kWarmUpSamples);
    const auto first =
        run->stacks().begin() + static_cast<ptrdiff_t>(std::exchange(seen, run->stacks().size()));
    if (!std::any_of(first, run->stacks().end(), is_right)) continue;
    run->Run(kTimeoutMs, samples + kSamples);
    run->Stop();
    return seen;
  }
  return std::nullopt;
}

class EmbeddedRuntimes : public testing::TestWithParam<const char*> {};

TEST_P(EmbeddedRuntimes, EveryFrameIsInItsPlace) {
  const std::string pattern = GetParam();
  const FreeName answers_file;
  TargetProgram program =
      TargetProgram::Start({ProgramPath("embedder"), answers_file.get(), pattern});
  std::vector<std::string> answers;
  for (const uint64_t end = BootTimeNs() + kStartTimeoutNs;
       answers.empty() || answers.back() != "end";) {
    if (program.Poll() == kMissing) GTEST_SKIP() << "no library for one of " << pattern;
    ASSERT_LT(BootTimeNs(), end) << "the embedder has not reached its innermost call";
    usleep(20'000);
    answers = Lines(answers_file.get());
  }
  auto run = SampledRun::Start(kFrequencyHz, {program.pid()});
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  const auto begin = Sample(run->get(), [&](const SeenStack& stack) {
    const Steps steps = StepsOf(stack);
    return steps.is_at_bottom && ProblemOfOrder(steps, pattern).empty();
  });
  ASSERT_TRUE(begin.has_value()) << "no stack is right";
  int64_t samples = 0, whole = 0, ordered = 0, bottom = 0, equal = 0;
  std::string problem, difference;
  for (const SeenStack& stack : std::span((*run)->stacks()).subspan(*begin)) {
    if (stack.user.empty()) continue;
    samples += stack.count;
    if (!stack.marker.empty()) continue;
    whole += stack.count;
    const Steps steps = StepsOf(stack);
    const std::string wrong = ProblemOfOrder(steps, pattern);
    if (!wrong.empty()) {
      problem = fmt::format("{}: {}", wrong, fmt::join(stack.UserNames(), " "));
      continue;
    }
    ordered += stack.count;
    if (!steps.is_at_bottom) continue;
    bottom += stack.count;
    bool is_equal = true;
    for (const char language : {'p', 'l', 'r'}) {
      if (Own(steps, language) == Theirs(answers, language)) continue;
      is_equal = false;
      difference = fmt::format("ours {}, theirs {}", fmt::join(Own(steps, language), ", "),
                               fmt::join(Theirs(answers, language), ", "));
    }
    equal += is_equal ? stack.count : 0;
  }
  Measured(fmt::format(
      "{}: {} samples, {} whole, {} in order, {} at the bottom, {} of them as the runtimes say",
      pattern, samples, whole, ordered, bottom, equal));
  EXPECT_GE(samples, static_cast<int64_t>(kSamples / 2));
  // A call that is just being made or left may lack a frame: one in a hundred, of which there are
  // few in a stack that stays.
  EXPECT_GE(whole * 100, samples * 99);
  EXPECT_GE(ordered * 100, whole * 99) << problem;
  EXPECT_GE(bottom * 4, samples);
  EXPECT_EQ(equal, bottom) << difference;
}

INSTANTIATE_TEST_SUITE_P(Patterns, EmbeddedRuntimes,
                         testing::Values("r", "pl", "lp", "plpl", "prpr", "rprp", "rrllpp",
                                         "lrplrplrp"),
                         [](const auto& instance) { return std::string(instance.param); });

struct Case {
  int minor;
  bool threads;
};

// All three interpreters' functions in their order, with C code between two of them.
bool IsNested(const SeenStack& stack) {
  std::vector<std::string> expected = {"outer_call", "middle_call",
                                       "innermost_spin"};  // The outermost first.
  bool native_since = true;
  for (const DecodedFrame& frame : stack.user) {
    const DecodedLine* line = LineOf(frame);
    native_since |= frame.type != "cpython";
    if (line == nullptr ||
        !(line->function.ends_with("_call") || line->function == "innermost_spin") ||
        frame.type != "cpython")
      continue;
    if (expected.empty() || line->function != expected.back() || !native_since) return false;
    expected.pop_back();
    native_since = false;
  }
  return expected.empty() && stack.marker.empty();
}

class SubInterpreters : public testing::TestWithParam<Case> {};

TEST_P(SubInterpreters, TheOuterOnesFramesAreThere) {
  const std::vector<std::string> interpreter = FindPython({.minor = GetParam().minor});
  if (interpreter.empty()) GTEST_SKIP() << "no Python 3." << GetParam().minor << " here";
  const FreeName ready;
  std::vector<std::string> command = interpreter;
  command.insert(command.end(), {std::string(STACKRAY_SOURCE_DIR) +
                                     "/tests/live/programs/mixed/sub_interpreters.py",
                                 ready.get()});
  if (GetParam().threads) command.emplace_back("threads");
  TargetProgram program = TargetProgram::Start(command);
  for (const uint64_t end = BootTimeNs() + kStartTimeoutNs; access(ready.get(), F_OK) != 0;) {
    ASSERT_FALSE(program.Poll().has_value()) << "the program has ended";
    ASSERT_LT(BootTimeNs(), end) << "the program has not begun";
    usleep(20'000);
  }
  auto run = SampledRun::Start(kFrequencyHz, {program.pid()});
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  const auto begin = Sample(run->get(), IsNested);
  ASSERT_TRUE(begin.has_value()) << "no stack has all three interpreters' frames";
  int64_t spinning = 0, right = 0;
  std::string problem;
  for (const SeenStack& stack : std::span((*run)->stacks()).subspan(*begin)) {
    if (!stack.Has("innermost_spin")) continue;
    spinning += stack.count;
    if (IsNested(stack))
      right += stack.count;
    else
      problem = fmt::format("{} {}", stack.marker, fmt::join(stack.UserNames(), " "));
  }
  Measured(fmt::format("python 3.{} {}: {} of {} samples have all three interpreters' frames",
                       GetParam().minor, GetParam().threads ? "threads" : "alone", right,
                       spinning));
  EXPECT_GE(spinning, static_cast<int64_t>(kSamples / 2));
  EXPECT_GE(right * 100, spinning * 99) << problem;
}

constexpr int kFirstWithSubInterpreters = 8;

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (int minor = kFirstWithSubInterpreters; minor <= kNewestPython; ++minor)
    for (const bool threads : {false, true}) cases.push_back({minor, threads});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Versions, SubInterpreters, testing::ValuesIn(Cases()),
                         [](const auto& instance) {
                           return fmt::format("python3_{}{}", instance.param.minor,
                                              instance.param.threads ? "_threads" : "");
                         });

}  // namespace
}  // namespace stackray::test
