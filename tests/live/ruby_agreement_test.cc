// The sampler stops a Ruby program where it sampled it, and Ruby's own backtrace of the same moment
// is asked for: labels, files, lines and their order must be the same.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>

#include "agent/sampling/markers.h"
#include "interpreters/ruby/ruby_code.h"
#include "kernel/wall_clock.h"
#include "tests/live/raw_stacks.h"
#include "tests/live/ruby_runs.h"
#include "tests/live/sampled_run.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr int kStopTimeoutMs = 10'000;
constexpr size_t kDeepFrames = 900;
constexpr uint64_t kMostTimeNs = 100'000'000'000;  // A busy machine has fewer stops.

int Stops() {
  const char* asked = std::getenv("STACKRAY_RUBY_STOPS");
  return asked != nullptr ? std::atoi(asked) : 15;
}

bool SaysClasses(const std::string& version) { return version >= "3.4"; }

// Ruby gives a C function the place of its caller. From 3.4 on it gives a rescue's frame the name
// of what it belongs to, and leaves that one out.
std::vector<RubyFrame> AsRubySaysIt(const RawStack& stack, const std::string& version) {
  std::vector<RubyFrame> frames;
  bool skip = false;
  for (const RawFrame& frame : stack.frames) {
    if (!frame.is_runtime || frame.name == kRubyCollector) continue;
    RubyFrame said{.label = frame.name, .file = frame.file, .line = frame.line};
    if (SaysClasses(version)) {
      if (std::exchange(skip, false)) continue;
      for (const char* part : {"rescue in ", "ensure in "})
        if (said.label.starts_with(part)) {
          said.label.erase(0, 10);
          skip = true;
        }
    } else {
      said.label = PlainLabel(said.label);
    }
    frames.push_back(std::move(said));
  }
  for (size_t i = frames.size(); i-- > 0;)
    if (frames[i].file.empty() && i + 1 < frames.size()) {
      frames[i].file = frames[i + 1].file;
      frames[i].line = frames[i + 1].line;
    }
  return frames;
}

std::string Text(const std::vector<RubyFrame>& frames) {
  std::string text;
  for (const RubyFrame& frame : frames)
    text += fmt::format("  {} {}:{}\n", frame.label, frame.file, frame.line);
  return text;
}

// Each method of the program itself by its full name.
std::string ProblemOfNames(const RawStack& stack, const std::set<std::string>& names) {
  std::set<std::string> plain;
  for (const std::string& name : names) plain.insert(PlainLabel(name));
  for (const RawFrame& frame : stack.frames) {
    if (!frame.is_runtime || !frame.file.ends_with("many_shapes.rb")) continue;
    const size_t in = frame.name.rfind(" in ");
    const std::string name = in == std::string::npos ? frame.name : frame.name.substr(in + 4);
    if (plain.contains(PlainLabel(name)) && !names.contains(name)) return frame.name;
  }
  return "";
}

// Ruby frames come right before the native frame that runs them. Of the innermost ones it may not
// be there yet: Ruby pushes its frame first.
std::string ProblemOfOrder(const RawStack& stack) {
  size_t i = 0;
  while (i < stack.frames.size() && stack.frames[i].is_runtime) ++i;
  for (; i + 1 < stack.frames.size(); ++i)
    if (stack.frames[i].is_runtime && !stack.frames[i + 1].is_runtime &&
        !stack.frames[i + 1].is_loop)
      return fmt::format("frame {}, {}, follows Ruby frames", i + 1, stack.frames[i + 1].name);
  if (!stack.frames.empty() && stack.frames.back().is_runtime) return "a Ruby frame is outermost";
  return "";
}

bool HasCollector(const RawStack& stack) {
  return std::any_of(stack.frames.begin(), stack.frames.end(), [](const RawFrame& frame) {
    return frame.is_runtime && frame.name == kRubyCollector;
  });
}

struct Agreement {
  int stops = 0, equal = 0, whole = 0, unanswered = 0, elsewhere = 0, out_of_order = 0,
      misnamed = 0;
  int collecting = 0, collector_agreed = 0;
  uint64_t frames = 0, native = 0;
  std::string first_problem, order_problem, name_problem;
};

// The place of the innermost frame of Ruby code, and of the C functions that it has called.
void ForgetInnermostPlace(const RawStack& stack, std::vector<RubyFrame>* frames) {
  size_t i = 0;
  for (const RawFrame& frame : stack.frames) {
    if (!frame.is_runtime || frame.name == kRubyCollector || i == frames->size()) continue;
    (*frames)[i].file = "";
    (*frames)[i++].line = 0;
    if (!frame.file.empty()) return;
  }
}

void Compare(const RawStack& ours, RubyAnswer answer, const std::string& version, bool has_jit,
             Agreement* sum) {
  std::vector<RubyFrame> frames = AsRubySaysIt(ours, version);
  if (has_jit) {
    ForgetInnermostPlace(ours, &frames);
    ForgetInnermostPlace(ours, &answer.frames);
  }
  if (answer.is_collecting) {
    ++sum->collecting;
    sum->collector_agreed += HasCollector(ours) ? 1 : 0;
    return;
  }
  ++sum->stops;
  sum->frames += frames.size();
  sum->native += ours.frames.size() - frames.size();
  sum->whole += IsCompleteEnd(ours.end) ? 1 : 0;
  if (frames == answer.frames) {
    ++sum->equal;
  } else if (sum->first_problem.empty()) {
    sum->first_problem = fmt::format("stop {}, end {}: ours\n{}Ruby's\n{}", sum->stops,
                                     EndName(ours.end), Text(frames), Text(answer.frames));
  }
}

struct Case {
  std::string version, kind;
};

class RubyAgreement : public testing::TestWithParam<Case> {};

TEST_P(RubyAgreement, EveryFrameIsTheSame) {
  const auto& [version, kind] = GetParam();
  const std::vector<std::string> interpreter = FindRuby(version);
  if (interpreter.empty()) GTEST_SKIP() << "no Ruby " << version << " here";
  if (kind == "ractors" && std::getenv("STACKRAY_RUBY_STOPS") == nullptr)
    GTEST_SKIP() << "Ruby often cannot be asked while several ractors run: only in a long proof";
  const std::set<std::string> names = NamesOfShapes(interpreter);
  ASSERT_GT(names.size(), 20u) << "it does not run its program";
  const std::unique_ptr<RubyRun> run = RubyRun::Start(interpreter, kind);
  ASSERT_NE(run, nullptr) << interpreter.back() << " did not start its program";
  auto stacks = RawStacks::Start(kFrequencyHz, run->pid());
  if (!stacks.ok()) GTEST_SKIP() << "no BPF here: " << stacks.status();
  for (int i = 0; i < 3;
       ++i) {  // The first samples meet files that are new, and the program's start.
    (void)(*stacks)->StopAtSample(kStopTimeoutMs);
    kill(static_cast<pid_t>(run->pid()), SIGCONT);
    usleep(200'000);
  }
  std::mt19937 random(20260101);
  Agreement sum;
  const uint64_t end = BootTimeNs() + kMostTimeNs;
  for (int i = 0; sum.stops < Stops() && i < 2 * Stops() && BootTimeNs() < end; ++i) {
    usleep(static_cast<useconds_t>(random() % 30'000));
    const std::optional<RawStack> ours = (*stacks)->StopAtSample(kStopTimeoutMs);
    if (!ours.has_value()) {  // A stop that came late, on a busy machine.
      ++sum.unanswered;
      kill(static_cast<pid_t>(run->pid()), SIGCONT);
      continue;
    }
    const auto answer = run->ContinueAndAsk(ours->tid);
    if (!ours->is_where_it_stopped) {
      ++sum.elsewhere;
      continue;
    }
    if (!answer.has_value()) {
      ++sum.unanswered;
      continue;
    }
    Compare(*ours, *answer, version, HasRubyJit(interpreter), &sum);
    if (const std::string problem = ProblemOfOrder(*ours); !problem.empty()) {
      ++sum.out_of_order;
      sum.order_problem = problem;
    }
    if (const std::string problem = ProblemOfNames(*ours, names); !problem.empty()) {
      ++sum.misnamed;
      sum.name_problem = problem;
    }
    if (kind == "deep" && !answer->is_collecting) {
      EXPECT_GE(AsRubySaysIt(*ours, version).size(), kDeepFrames);
    }
  }
  Measured(
      fmt::format("ruby {} {}: {} of {} stops agree with its own backtrace, {} whole, {} "
                  "unanswered, {} gone on, {} of {} "
                  "while collecting have the collector's frame, {} out of order, {} misnamed; {} "
                  "Ruby frames among {} "
                  "native ones",
                  version, kind.empty() ? "shapes" : kind, sum.equal, sum.stops, sum.whole,
                  sum.unanswered, sum.elsewhere, sum.collector_agreed, sum.collecting,
                  sum.out_of_order, sum.misnamed, sum.frames, sum.native));
  ASSERT_GT(sum.stops, 0) << "the program was never stopped at a sample";
  // A stop may fall between two instructions that push a frame: neither side is wrong then.
  const int most_between = std::max(1, sum.stops / 50);
  if (!sum.first_problem.empty()) Measured("the first that differs: " + sum.first_problem);
  EXPECT_GE(sum.equal, sum.stops - most_between) << sum.first_problem;
  EXPECT_GE(sum.whole, sum.stops - most_between);
  EXPECT_LE(sum.out_of_order, most_between) << sum.order_problem;
  EXPECT_EQ(sum.misnamed, 0) << sum.name_problem;
  EXPECT_GE(sum.collector_agreed, sum.collecting - most_between);
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const std::string& version : RubyVersions()) {
    for (const char* kind : {"", "threads", "deep", "fibers"}) cases.push_back({version, kind});
    if (version >= "3.0") cases.push_back({version, "ractors"});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Versions, RubyAgreement, testing::ValuesIn(Cases()),
                         [](const auto& instance) {
                           const Case& param = instance.param;
                           return fmt::format("ruby{}_{}", RubyTestName(param.version),
                                              param.kind.empty() ? "shapes" : param.kind);
                         });

}  // namespace
}  // namespace stackray::test
