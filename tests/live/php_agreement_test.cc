// The sampler stops a PHP program where it sampled it, and PHP's own debug_backtrace() then says
// the stack of the same moment: functions, files, lines and their order must be the same.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>

#include "agent/sampling/markers.h"
#include "tests/live/php_runs.h"
#include "tests/live/raw_stacks.h"
#include "tests/live/sampled_run.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr int kStopTimeoutMs = 10'000;
constexpr size_t kDeepFrames = 900;

int Stops() {
  const char* asked = std::getenv("STACKRAY_PHP_STOPS");
  return asked != nullptr ? std::atoi(asked) : 15;
}

std::vector<PhpFrame> PhpFramesOf(const RawStack& stack) {
  std::vector<PhpFrame> frames;
  for (const RawFrame& frame : stack.frames)
    if (frame.is_runtime)
      frames.push_back(
          {.function = PlainPhpName(frame.name), .file = frame.file, .line = frame.line});
  return frames;
}

std::string Text(const std::vector<PhpFrame>& frames) {
  std::string text;
  for (const PhpFrame& frame : frames)
    text += fmt::format("  {} {}:{}\n", frame.function, frame.file, frame.line);
  return text;
}

// A function behind a closure or __call() is told without its file, and trampolines have none.
bool IsSameFrame(const PhpFrame& ours, const PhpFrame& theirs) {
  return ours.function == theirs.function && ours.line == theirs.line &&
         (ours.file == theirs.file || ours.file.empty());
}

bool AreSame(const std::vector<PhpFrame>& ours, const std::vector<PhpFrame>& theirs) {
  return std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(), IsSameFrame);
}

// From 8.4 on a call of some internal functions, compiled, makes no frame; debug_backtrace() then
// puts one in by the instruction. Of such functions many_shapes.php calls this one.
bool IsFramelessCall(const PhpRelease& release, const std::vector<PhpFrame>& ours,
                     const std::vector<PhpFrame>& theirs) {
  const bool has_such_calls = release.major > 8 || (release.major == 8 && release.minor >= 4);
  return has_such_calls && !theirs.empty() && theirs.front().function == "max" &&
         theirs.front().line == 0 && AreSame(ours, {theirs.begin() + 1, theirs.end()});
}

// While a generator is being entered, or an include entered or left, debug_backtrace() has no place
// for it; a profile has.
bool IsWithoutPlace(const std::vector<PhpFrame>& ours, const std::vector<PhpFrame>& theirs) {
  if (ours.empty() || theirs.empty() || ours.front().function != theirs.front().function)
    return false;
  const PhpFrame& inner = theirs.front();
  return inner.line == 0 && (inner.file.empty() || inner.file == "unknown") &&
         AreSame({ours.begin() + 1, ours.end()}, {theirs.begin() + 1, theirs.end()});
}

struct Agreement {
  int stops = 0, equal = 0, frameless = 0, without_place = 0, whole = 0, unanswered = 0,
      gone_on = 0, out_of_order = 0;
  uint64_t frames = 0, native = 0;
  std::string problems, order_problem;
};

// The JIT's code tells nobody the instruction that it is at: with it, the innermost line is not
// compared.
void Compare(int number, const PhpRelease& release, bool is_jit, const RawStack& ours,
             std::vector<PhpFrame> theirs, Agreement* sum) {
  ++sum->stops;
  std::vector<PhpFrame> frames = PhpFramesOf(ours);
  if (is_jit && !frames.empty() && !theirs.empty()) frames[0].line = theirs[0].line = 0;
  sum->frames += frames.size();
  sum->native += ours.frames.size() - frames.size();
  const bool whole = IsCompleteEnd(ours.end);
  sum->whole += whole ? 1 : 0;
  if (!whole)
    sum->problems +=
        fmt::format("stop {}, end {}: {}\n", number, EndName(ours.end), NativeText(ours));
  if (AreSame(frames, theirs)) {
    ++sum->equal;
  } else if (IsFramelessCall(release, frames, theirs)) {
    ++sum->frameless;
  } else if (IsWithoutPlace(frames, theirs)) {
    ++sum->without_place;
  } else {
    sum->problems += fmt::format("stop {}, end {}: ours\n{}debug_backtrace's\n{}", number,
                                 EndName(ours.end), Text(frames), Text(theirs));
  }
}

// PHP's frames come right before the native frame of the loop that runs them, and every such native
// frame but the innermost, which may have begun or ended just now, has some. Of the innermost run
// it may be what is missing: PHP links a frame before it begins to run it. Then the loop that comes
// next is not the innermost any more.
std::string ProblemOfOrder(const RawStack& stack) {
  const bool has_loop = std::any_of(stack.frames.begin(), stack.frames.end(),
                                    [](const RawFrame& frame) { return frame.is_loop; });
  bool first = true;
  size_t top = 0;
  while (top < stack.frames.size() && stack.frames[top].is_runtime) ++top;
  for (size_t i = top; i < stack.frames.size(); ++i) {
    const RawFrame& frame = stack.frames[i];
    const bool after_php = i > 0 && stack.frames[i - 1].is_runtime;
    if (frame.is_runtime) continue;
    if (after_php && !frame.is_loop && (i != top || !has_loop))
      return fmt::format("frame {}, {}, follows PHP's frames", i, frame.name);
    if (after_php && !frame.is_loop) first = false;
    if (!frame.is_loop && frame.name != "execute_ex") continue;
    if (!after_php && !first) return fmt::format("loop at {} without PHP's frames", i);
    first = false;
  }
  return "";
}

struct Case {
  PhpRelease release;
  const char* kind;
};

std::string NameOf(const Case& c) {
  return fmt::format("php{}_{}", c.release.Word(), *c.kind == '\0' ? "shapes" : c.kind);
}

class PhpAgreement : public testing::TestWithParam<Case> {};

TEST_P(PhpAgreement, EveryFrameIsTheSame) {
  const auto& [release, kind_name] = GetParam();
  const std::string kind = kind_name;
  const std::vector<std::string> interpreter = FindPhp(release);
  if (interpreter.empty()) GTEST_SKIP() << "no PHP " << release.Name() << " here";
  const bool is_jit = kind == "function" || kind == "tracing";
  if (is_jit && release.major < 8) GTEST_SKIP() << "PHP 7 has no JIT";
  if (kind == "fibers" && !release.HasFibers()) GTEST_SKIP() << "fibers are new in PHP 8.1";
  if (is_jit && std::getenv("STACKRAY_PHP_STOPS") == nullptr)
    GTEST_SKIP() << "a long proof: STACKRAY_PHP_STOPS is not set";
  const auto run =
      PhpRun::Start(release, interpreter, JitOptions(is_jit || kind == "opcache" ? kind : ""),
                    kind == "deep" || kind == "fibers" || kind == "threads" ? kind : "");
  ASSERT_NE(run, nullptr) << interpreter.back() << " did not start its program";
  auto stacks = RawStacks::Start(kFrequencyHz, run->pid());
  if (!stacks.ok()) GTEST_SKIP() << "no BPF here: " << stacks.status();
  (void)(*stacks)->StopAtSample(kStopTimeoutMs);  // The first samples meet files that are new.
  kill(static_cast<pid_t>(run->pid()), SIGCONT);
  std::mt19937 random(20260101);
  Agreement sum;
  for (int i = 0; i < Stops(); ++i) {
    usleep(static_cast<useconds_t>(random() % 30'000));
    const std::optional<RawStack> ours = (*stacks)->StopAtSample(kStopTimeoutMs);
    ASSERT_TRUE(ours.has_value()) << "the program did not stop at a sample, stop " << i;
    const auto theirs = run->ContinueAndAsk(ours->tid);
    if (!ours->is_where_it_stopped) {
      ++sum.gone_on;
      continue;
    }
    if (!theirs.has_value()) {
      ++sum.unanswered;
      sum.problems += fmt::format("try {}: no answer; ours\n{}", i, Text(PhpFramesOf(*ours)));
      continue;
    }
    Compare(i, release, is_jit, *ours, *theirs, &sum);
    if (const std::string problem = ProblemOfOrder(*ours); !problem.empty()) {
      ++sum.out_of_order;
      sum.order_problem = problem + " of " + NativeText(*ours);
    }
    if (kind == "deep") {
      EXPECT_GE(PhpFramesOf(*ours).size(), kDeepFrames);
    }
  }
  Measured(fmt::format(
      "{}: {} of {} stops agree with debug_backtrace, {} in a frameless call, {} for "
      "which it has no place, {} whole, {} out of order, {} unanswered, "
      "{} gone on; {} PHP frames among {} native ones",
      NameOf(GetParam()), sum.equal, sum.stops, sum.frameless, sum.without_place, sum.whole,
      sum.out_of_order, sum.unanswered, sum.gone_on, sum.frames, sum.native));
  if (!sum.problems.empty()) Measured("the others: " + sum.problems);
  if (!sum.order_problem.empty()) Measured("order: " + sum.order_problem);
  // Where the JIT's code is at work, PHP does not know its own instruction and may crash when it is
  // asked.
  EXPECT_LE(sum.unanswered + sum.gone_on, Stops() / (is_jit ? 2 : 3));
  // A stop may fall between two instructions that link a frame: neither side is wrong then. A few
  // stops allow no percentage.
  const int most_between = std::max(2, sum.stops / 50);
  EXPECT_GE(sum.equal + sum.frameless + sum.without_place, sum.stops - most_between)
      << sum.problems;
  EXPECT_GE(sum.whole, sum.stops - most_between);
  EXPECT_LE(sum.out_of_order, most_between) << sum.order_problem;
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const PhpRelease& release : PhpReleases()) {
    for (const char* kind : {"", "deep", "fibers", "opcache", "function", "tracing"})
      cases.push_back({release, kind});
    if (release.is_thread_safe) cases.push_back({release, "threads"});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Versions, PhpAgreement, testing::ValuesIn(Cases()),
                         [](const auto& instance) { return NameOf(instance.param); });

}  // namespace
}  // namespace stackray::test
