// The sampler stops a Python program where it sampled it, and Python's own faulthandler then prints
// the stack of the same moment: functions, files, lines and their order must be the same.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>

#include "agent/sampling/markers.h"
#include "tests/live/python_runs.h"
#include "tests/live/raw_stacks.h"
#include "tests/live/sampled_run.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr int kStopTimeoutMs = 10'000;
constexpr int kMostTries = 4;             // A stop.
constexpr size_t kFewestOfACutDump = 90;  // faulthandler shows about 100 frames.
constexpr size_t kDeepFrames = 900;
constexpr int kFirstWithJit = 14;  // That says so itself.

int Stops() {
  const char* asked = std::getenv("STACKRAY_PYTHON_STOPS");
  return asked != nullptr ? std::atoi(asked) : 15;
}

std::vector<PythonFrame> PythonFramesOf(const RawStack& stack) {
  std::vector<PythonFrame> frames;
  for (const RawFrame& frame : stack.frames)
    if (frame.is_runtime)
      frames.push_back({.function = PlainName(frame.name), .file = frame.file, .line = frame.line});
  return frames;
}

// faulthandler writes what is not ASCII as \xNN, \uNNNN and \UNNNNNNNN.
std::string Escaped(const std::string& utf8) {
  std::string text;
  for (size_t i = 0; i < utf8.size();) {
    const auto lead = static_cast<unsigned char>(utf8[i]);
    const size_t bytes = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    unsigned code = bytes == 1 ? lead : lead & (0x7f >> bytes);
    for (size_t k = 1; k < bytes && i + k < utf8.size(); ++k)
      code = code << 6 | (static_cast<unsigned char>(utf8[i + k]) & 63);
    text += code < 0x80      ? std::string(1, utf8[i])
            : code < 0x100   ? fmt::format("\\x{:02x}", code)
            : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                             : fmt::format("\\U{:08x}", code);
    i += bytes;
  }
  return text;
}

std::string Text(const std::vector<PythonFrame>& frames) {
  std::string text;
  for (const PythonFrame& frame : frames)
    text += fmt::format("  {} {}:{}\n", frame.function, frame.file, frame.line);
  return text;
}

struct Agreement {
  int stops = 0, equal = 0, whole = 0, unanswered = 0, out_of_order = 0;
  uint64_t frames = 0, native = 0;
  int made = 0;
  std::string first_problem, order_problem;
};

void Compare(const RawStack& ours, std::vector<PythonFrame> theirs, Agreement* sum) {
  ++sum->stops;
  std::vector<PythonFrame> frames = PythonFramesOf(ours);
  for (PythonFrame& frame : frames) {
    frame.function = Escaped(frame.function);
    frame.file = Escaped(frame.file);
  }
  sum->frames += frames.size();
  sum->native += ours.frames.size() - frames.size();
  sum->made += std::any_of(ours.frames.begin(), ours.frames.end(),
                           [](const RawFrame& frame) { return frame.is_made; });
  if (frames.size() > theirs.size() && theirs.size() >= kFewestOfACutDump)
    frames.resize(theirs.size());
  const bool whole = IsCompleteEnd(ours.end);
  sum->whole += whole ? 1 : 0;
  if (frames == theirs) {
    ++sum->equal;
  } else if (sum->first_problem.empty()) {
    sum->first_problem = fmt::format("stop {}, end {}: ours\n{}faulthandler's\n{}", sum->stops,
                                     EndName(ours.end), Text(frames), Text(theirs));
  }
}

// Python frames come right before the native frame that runs them, and every such native frame but
// the innermost, which may have begun or ended just now, has some.
std::string ProblemOfOrder(const RawStack& stack) {
  bool first = true;
  for (size_t i = 0; i < stack.frames.size(); ++i) {
    const RawFrame& frame = stack.frames[i];
    const bool after_python = i > 0 && stack.frames[i - 1].is_runtime;
    if (frame.is_runtime) {
      if (i + 1 == stack.frames.size()) return "a Python frame is the outermost one";
      continue;
    }
    if (after_python && !frame.is_loop)
      return fmt::format("frame {}, {}, follows Python frames", i, frame.name);
    if (!frame.name.starts_with("_PyEval_EvalFrameDefault")) continue;
    if (!after_python && !first) return fmt::format("loop at {} without Python frames", i);
    first = false;
  }
  return "";
}

// A variable of the environment, for as long as this lives.
class SwitchedOn {
 public:
  SwitchedOn(const char* name, bool on) : name_(name) {
    if (on) setenv(name_, "1", 1);
  }
  ~SwitchedOn() { unsetenv(name_); }

 private:
  const char* name_;
};

struct Case {
  PythonVersion version;
  const char* kind;
};

class PythonAgreement : public testing::TestWithParam<Case> {};

TEST_P(PythonAgreement, EveryFrameIsTheSame) {
  const std::vector<std::string> interpreter = FindPython(GetParam().version);
  if (interpreter.empty()) GTEST_SKIP() << "no Python " << GetParam().version.Name() << " here";
  const bool with_jit = std::string(GetParam().kind) == "jit";
  if (with_jit && !HasJit(interpreter)) GTEST_SKIP() << "built without its JIT";
  const SwitchedOn jit("PYTHON_JIT", with_jit);
  std::unique_ptr<PythonRun> run = PythonRun::Start(interpreter, GetParam().kind);
  ASSERT_NE(run, nullptr) << interpreter.back() << " did not start its program";
  auto stacks = RawStacks::Start(kFrequencyHz, run->pid());
  if (!stacks.ok()) GTEST_SKIP() << "no BPF here: " << stacks.status();
  (void)(*stacks)->StopAtSample(kStopTimeoutMs);  // The first samples meet files that are new.
  kill(static_cast<pid_t>(run->pid()), SIGCONT);
  int hung = 0;
  std::mt19937 random(20260101);
  Agreement sum, gone_on;  // Of threads that ran on is compared too, but neither side is wrong.
  // On a busy machine a thread of several that run at once may have gone on at most of the stops:
  // those are not compared.
  for (int i = 0; sum.stops < Stops() && i < kMostTries * Stops(); ++i) {
    usleep(static_cast<useconds_t>(random() % 30'000));
    const std::optional<RawStack> ours = (*stacks)->StopAtSample(kStopTimeoutMs);
    if (!ours.has_value()) {  // A program that hangs behind a signal is asked nothing more.
      ASSERT_LE(++hung, 1) << "the program does not run any more, stop " << i;
      run = PythonRun::Start(interpreter, GetParam().kind);
      ASSERT_NE(run, nullptr);
      stacks = RawStacks::Start(kFrequencyHz, run->pid());
      ASSERT_TRUE(stacks.ok()) << stacks.status();
      continue;
    }
    const auto theirs = run->ContinueAndAsk(ours->tid);
    if (!theirs.has_value() || (theirs->empty() && !PythonFramesOf(*ours).empty())) {
      ++sum.unanswered;
      continue;
    }
    if (!ours->is_where_it_stopped) {
      Compare(*ours, *theirs, &gone_on);
      continue;
    }
    Compare(*ours, *theirs, &sum);
    if (const std::string problem = ProblemOfOrder(*ours); !problem.empty()) {
      ++sum.out_of_order;
      sum.order_problem = problem;
    }
    if (std::string(GetParam().kind) == "deep") {
      EXPECT_GE(PythonFramesOf(*ours).size(), kDeepFrames);
    }
  }
  Measured(
      fmt::format("python {} {}: {} of {} stops agree with faulthandler, {} whole, {} unanswered, "
                  "{} of {} that have gone on; "
                  "{} Python frames among {} native ones; {} stops with code of no file",
                  GetParam().version.Name(), GetParam().kind, sum.equal, sum.stops, sum.whole,
                  sum.unanswered, gone_on.equal, gone_on.stops, sum.frames, sum.native, sum.made));
  if (!gone_on.first_problem.empty()) Measured("gone on: " + gone_on.first_problem);
  if (!sum.first_problem.empty()) Measured("the first other: " + sum.first_problem);
  if (with_jit) {
    EXPECT_GT(sum.made, 0) << "its JIT has made nothing";
  }
  EXPECT_GE(sum.stops, Stops() - Stops() / 5);
  // A stop may fall between two instructions that link a frame: neither side is wrong then.
  const int most_between = std::max(1, sum.stops / 50);
  EXPECT_GE(sum.equal, sum.stops - most_between) << sum.first_problem;
  EXPECT_GE(sum.whole, sum.stops - most_between);
  EXPECT_LE(sum.out_of_order, most_between) << sum.order_problem;
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const PythonVersion& version : PythonVersions())
    for (const char* kind : {"", "threads", "deep"}) cases.push_back({version, kind});
  for (int minor = kFirstWithJit; minor <= kNewestPython; ++minor)
    cases.push_back({{.minor = minor}, "jit"});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Versions, PythonAgreement, testing::ValuesIn(Cases()),
                         [](const auto& instance) {
                           return fmt::format(
                               "python{}_{}", instance.param.version.Word(),
                               *instance.param.kind == '\0' ? "shapes" : instance.param.kind);
                         });

}  // namespace
}  // namespace stackray::test
