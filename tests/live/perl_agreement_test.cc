// The sampler stops a Perl program where it sampled it, and Perl's own caller() then says the stack
// of the same moment: subs, evals, files, lines and their order must be the same.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>

#include "agent/sampling/markers.h"
#include "tests/live/perl_runs.h"
#include "tests/live/raw_stacks.h"
#include "tests/live/sampled_run.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr int kStopTimeoutMs = 10'000;
constexpr size_t kDeepFrames = 900;
const std::string kLoop = "Perl_runops_standard", kRequire = "require ";

int Stops() {
  const char* asked = std::getenv("STACKRAY_PERL_STOPS");
  return asked != nullptr ? std::atoi(asked) : 15;
}

// Code that caller() takes for a part of the sub around it.
bool IsHiddenBlock(const std::string& function) {
  return function == "sort {...}" || function == "(?{...})" || function == "defer {...}";
}

// Our frames as caller() has them: subs in C are no frames to it, and the place of a hidden block
// is that of what is around it.
std::vector<PerlFrame> PerlFramesOf(const RawStack& stack) {
  std::vector<PerlFrame> frames;
  const RawFrame* hidden = nullptr;
  for (const RawFrame& frame : stack.frames) {
    if (!frame.is_runtime || (frame.file.empty() && frame.line == 0)) continue;
    const RawFrame& place = hidden != nullptr ? *hidden : frame;
    const bool is_hidden = IsHiddenBlock(frame.name);
    if (!is_hidden)
      frames.push_back({.function = frame.name.starts_with(kRequire) ? "require" : frame.name,
                        .file = place.file,
                        .line = place.line});
    if (!is_hidden)
      hidden = nullptr;
    else if (hidden == nullptr)
      hidden = &frame;
  }
  return frames;
}

std::string Text(const PerlFrame& frame) {
  return fmt::format("{} {}:{}", frame.function, frame.file, frame.line);
}

// Where they differ first, and what is around it.
std::string Difference(const std::vector<PerlFrame>& ours, const std::vector<PerlFrame>& theirs) {
  constexpr size_t kAround = 4;
  const auto at = static_cast<size_t>(
      std::mismatch(ours.begin(), ours.end(), theirs.begin(), theirs.end()).first - ours.begin());
  std::string text = fmt::format("{} frames of ours, {} of caller()'s, from {} on:\n", ours.size(),
                                 theirs.size(), at);
  for (size_t i = at < kAround ? 0 : at - kAround; i < at + kAround; ++i)
    text += fmt::format("  {} | {}\n", i < ours.size() ? Text(ours[i]) : "",
                        i < theirs.size() ? Text(theirs[i]) : "");
  return text;
}

struct Agreement {
  int stops = 0, equal = 0, between = 0, whole = 0, unanswered = 0, gone_on = 0, out_of_order = 0;
  uint64_t frames = 0, native = 0, native_subs = 0;
  std::string first_problem, order_problem;
};

// A callback that is not running (its caller, C code, is between two calls of it) is a frame to
// caller(), where it was last.
bool IsBetweenCalls(const std::vector<PerlFrame>& ours, const std::vector<PerlFrame>& theirs) {
  if (ours.empty()) return false;
  if (theirs.size() == ours.size() + 1)
    return std::equal(ours.begin(), ours.end(), theirs.begin() + 1);
  // A hidden block: its place is the last one in it.
  return theirs.size() == ours.size() && theirs.front().function == ours.front().function &&
         theirs.front().file == ours.front().file &&
         std::equal(ours.begin() + 1, ours.end(), theirs.begin() + 1);
}

// A native frame of what calls callbacks is the innermost but its own helpers.
bool IsInCallersCode(const RawStack& stack) {
  for (const RawFrame& frame : stack.frames) {
    if (frame.is_runtime) return false;
    if (frame.name == "Perl_pp_sort" || frame.name == "Perl_pp_entersub" ||
        frame.name == "Perl_regexec_flags")
      return true;
  }
  return false;
}

void Compare(const RawStack& ours, std::vector<PerlFrame> theirs, Agreement* sum) {
  ++sum->stops;
  const std::vector<PerlFrame> frames = PerlFramesOf(ours);
  // While Perl compiles, its place is in the compiler, which the question sets back.
  if (!frames.empty() && !theirs.empty() && theirs.front().line == 0)
    theirs.front().line = frames.front().line;
  // A thread runs no main program, and caller() ends at what called its sub.
  if (!frames.empty() && frames.back().function != "{main}" && !theirs.empty()) theirs.pop_back();
  for (const RawFrame& frame : ours.frames) {
    if (!frame.is_runtime)
      ++sum->native;
    else if (frame.file.empty())
      ++sum->native_subs;
  }
  sum->frames += frames.size();
  sum->whole += IsCompleteEnd(ours.end) ? 1 : 0;
  if (frames == theirs) {
    ++sum->equal;
  } else if (IsInCallersCode(ours) && IsBetweenCalls(frames, theirs)) {
    ++sum->between;
  } else if (sum->first_problem.empty()) {
    sum->first_problem = fmt::format("stop {}, end {}: {}of {}\n", sum->stops, EndName(ours.end),
                                     Difference(frames, theirs), NativeText(ours));
  }
}

// Perl's frames come right before the native frame of the loop that runs them, and every such
// native frame but the innermost, which may have begun or ended just now, has some.
std::string ProblemOfOrder(const RawStack& stack) {
  bool first = true;
  for (size_t i = 0; i < stack.frames.size(); ++i) {
    const RawFrame& frame = stack.frames[i];
    const bool after_perl = i > 0 && stack.frames[i - 1].is_runtime;
    if (frame.is_runtime) continue;
    if (after_perl && !frame.is_loop)
      return fmt::format("frame {}, {}, follows Perl's frames", i, frame.name);
    if (frame.name != kLoop) continue;
    // Where it goes on with what another one has begun, it is marked, without frames.
    if (!after_perl && !first && !frame.is_loop)
      return fmt::format("loop at {} without Perl's frames", i);
    first = false;
  }
  return "";
}

struct Case {
  int minor;
  const char* kind;
};

std::string NameOf(const Case& c) {
  return fmt::format("perl5_{}_{}", c.minor, *c.kind == '\0' ? "shapes" : c.kind);
}

class PerlAgreement : public testing::TestWithParam<Case> {};

TEST_P(PerlAgreement, EveryFrameIsTheSame) {
  const auto& [minor, kind_name] = GetParam();
  const std::string kind = kind_name;
  const std::vector<std::string> interpreter = FindPerl(minor);
  if (interpreter.empty()) GTEST_SKIP() << "no Perl 5." << minor << " here";
  const auto run = PerlRun::Start(interpreter, kind);
  ASSERT_NE(run, nullptr) << interpreter.back() << " did not start its program";
  auto stacks = RawStacks::Start(kFrequencyHz, run->pid());
  if (!stacks.ok()) GTEST_SKIP() << "no BPF here: " << stacks.status();
  for (int i = 0; i < 3; ++i) {  // The first samples meet files that are new.
    (void)(*stacks)->StopAtSample(kStopTimeoutMs);
    kill(static_cast<pid_t>(run->pid()), SIGCONT);
    usleep(50'000);
  }
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
      continue;
    }
    Compare(*ours, *theirs, &sum);
    if (const std::string problem = ProblemOfOrder(*ours); !problem.empty()) {
      ++sum.out_of_order;
      sum.order_problem = problem + " of " + NativeText(*ours);
    }
    if (kind == "deep") {
      EXPECT_GE(PerlFramesOf(*ours).size(), kDeepFrames);
    }
  }
  Measured(fmt::format(
      "{}: {} of {} stops agree with caller(), {} between calls of a callback, {} whole, {} out of "
      "order, {} unanswered, {} gone on; {} Perl frames and {} subs in C among {} native ones",
      NameOf(GetParam()), sum.equal, sum.stops, sum.between, sum.whole, sum.out_of_order,
      sum.unanswered, sum.gone_on, sum.frames, sum.native_subs, sum.native));
  EXPECT_LE(sum.unanswered + sum.gone_on, Stops() / 3);
  // A stop may fall between two instructions that link a frame: neither side is wrong then. A few
  // stops allow no percentage.
  const int most_between = std::max(3, sum.stops / 50);
  EXPECT_GE(sum.equal + sum.between, sum.stops - most_between) << sum.first_problem;
  EXPECT_GE(sum.whole, sum.stops - most_between);
  EXPECT_LE(sum.out_of_order, most_between) << sum.order_problem;
  if (std::getenv("STACKRAY_PERL_PROBLEMS") != nullptr)
    fmt::print("{}{}\n", sum.first_problem, sum.order_problem);
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const int minor : PerlReleases())
    for (const char* kind : {"", "deep", "threads"}) cases.push_back({minor, kind});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Versions, PerlAgreement, testing::ValuesIn(Cases()),
                         [](const auto& instance) { return NameOf(instance.param); });

}  // namespace
}  // namespace stackray::test
