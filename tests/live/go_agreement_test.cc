// Go's stacks against Go's own traceback: BPF stops the program at a sample, and the very thread
// gets SIGQUIT there. With GOTRACEBACK=system the runtime then prints every frame's pc: of the
// stack that it was on, and of the goroutine that it worked for. Each stop ends the program.
//   STACKRAY_GO_STOPS=N                stops a program; 2 without it
//   STACKRAY_GO_VERSIONS=1.18.10,…     programs built by these too (Go fetches the toolchains
//   itself)
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <sstream>

#include "agent/sampling/markers.h"
#include "tests/live/gallery_cases.h"
#include "tests/live/raw_stacks.h"
#include "tests/live/sampled_run.h"
#include "tests/temporary_directory.h"

namespace stackray::test {
namespace {

namespace fs = std::filesystem;

constexpr double kFrequencyHz = 499;
constexpr int kTimeoutMs = 20'000;
constexpr int kUsualStops = 2;
constexpr int kMostCutSlices = 20;

int Stops() {
  const char* asked = std::getenv("STACKRAY_GO_STOPS");
  return asked != nullptr ? std::atoi(asked) : kUsualStops;
}

// A Go program whose standard error is in a file.
class GoProgram {
 public:
  GoProgram(const std::string& file, const std::string& log) : log_(log) {
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int null = open("/dev/null", O_RDWR);
    const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(null, 0);
    dup2(null, 1);
    dup2(out, 2);
    setenv("GOTRACEBACK", "system", 1);
    execl(file.c_str(), file.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  ~GoProgram() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    std::error_code ignored;
    fs::remove(log_, ignored);
  }
  uint32_t pid() const { return static_cast<uint32_t>(pid_); }

  // Lets the thread print where it is; the text, or "".
  std::string Quit(uint32_t tid) {
    syscall(SYS_tgkill, pid_, tid, SIGQUIT);
    kill(pid_, SIGCONT);
    for (int waited = 0; waited < kTimeoutMs; waited += 10) {
      siginfo_t info = {};
      if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
          info.si_pid == pid_) {
        std::ifstream file(log_);
        return {std::istreambuf_iterator<char>(file), {}};
      }
      usleep(10'000);
    }
    return "";
  }

 private:
  pid_t pid_ = 0;
  const std::string log_;
};

struct GoFrame {
  std::string function;
  uint64_t pc = 0;
};
struct GoTrace {
  bool is_runtimes = false;  // Of the thread's own stack: goroutine 0.
  bool is_running = false;   // Or in a system call: it has a thread.
  std::vector<GoFrame> frames;
};

// The goroutines of a traceback, each innermost frame first. Inlined functions have no pc and are
// left out.
std::vector<GoTrace> ParseTraceback(const std::string& text) {
  std::vector<GoTrace> traces;
  std::istringstream lines(text);
  std::string function;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("goroutine ")) {
      const auto says = [&line](const char* words) {
        return line.find(words) != std::string::npos;
      };
      const bool is_running = says("[running") || says("[syscall") || says("[copystack") ||
                              (says(" m=") && !says(" m=nil"));
      traces.push_back({line.starts_with("goroutine 0 "), is_running, {}});
    }
    if (traces.empty() || line.empty()) continue;
    if (line[0] != '\t') {
      function = line.substr(0, line.rfind('('));
      continue;
    }
    const size_t pc = line.find(" pc=0x");
    if (pc != std::string::npos && !function.starts_with("created by"))
      traces.back().frames.push_back({function, std::strtoull(line.c_str() + pc + 4, nullptr, 16)});
  }
  return traces;
}

// "PC=0x…"; 0: not there.
uint64_t InterruptedAt(const std::string& text) {
  const size_t at = text.find("PC=0x");
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + 3, nullptr, 16);
}

struct GoAnswer {
  std::vector<GoFrame> frames;
  bool is_cut =
      // Interrupted in a function that changes stacks by itself, it does not know the caller.
      false;
};

// What Go says: the interrupted stack and, where that is the runtime's own, the goroutine that it
// worked for.
GoAnswer Expected(const std::vector<GoTrace>& traces) {
  if (traces.empty() || traces[0].frames.empty()) return {};
  GoAnswer expected{.frames = traces[0].frames};
  const std::string last = expected.frames.back().function;
  expected.is_cut = expected.frames.size() == 1 && last != "runtime.goexit";
  if (!traces[0].is_runtimes) return expected;
  // Without a goroutine of its own, the thread has given that up.
  if ((last != "runtime.systemstack" && last != "runtime.morestack") || traces.size() < 2 ||
      !traces[1].is_running)
    return expected;
  expected.is_cut = false;
  for (const GoFrame& frame : traces[1].frames)
    if (frame.function != "runtime.systemstack_switch") expected.frames.push_back(frame);
  return expected;
}

// Go ends a thread's stack at mstart, whom clone() or C called, and begins above the vDSO and its
// caller; a signal to preempt the goroutine may have come in before ours.
void LeaveOutWhatGoDoes(RawStack* ours, GoAnswer* theirs) {
  if (theirs->frames.size() > 1 && theirs->frames[0].function == "runtime.asyncPreempt" &&
      ours->frames[0].pc != theirs->frames[0].pc)
    theirs->frames.erase(theirs->frames.begin());
  const auto is_called_by_clone = [](const RawFrame& frame) {
    return frame.name.starts_with("runtime.mstart.") || frame.name == "runtime.mstart";
  };
  if (theirs->frames.back().function == "runtime.mstart") {
    const auto start = std::ranges::find_if(ours->frames, is_called_by_clone);
    if (start != ours->frames.end()) ours->frames.erase(start + 1, ours->frames.end());
  }
  constexpr size_t kMaxBelow = 4;
  for (size_t i = 1; i < std::min(kMaxBelow, ours->frames.size()); ++i) {
    const std::string& below = ours->frames[i - 1].name;
    const bool asks_vdso = below.starts_with("runtime.nanotime1") ||
                           below.starts_with("time.now") || below.starts_with("runtime.walltime");
    if (asks_vdso && ours->frames[i].pc == theirs->frames[0].pc)
      ours->frames.erase(ours->frames.begin(), ours->frames.begin() + static_cast<ptrdiff_t>(i));
  }
}

std::string Print(const RawStack& ours, const GoAnswer& theirs, const std::string& text) {
  std::string out = fmt::format("our end: {}\n", EndName(ours.end));
  for (const RawFrame& frame : ours.frames) out += fmt::format("  {:x} {}\n", frame.pc, frame.name);
  out += "Go:\n";
  for (const GoFrame& frame : theirs.frames)
    out += fmt::format("  {:x} {}\n", frame.pc, frame.function);
  return out + text.substr(0, 3000);
}

// Every frame of Go's is ours, in its order, up to the end; ours between them are C's, or of the
// runtime below C. Go knows nothing of C's frames, and has its own word for a goroutine that waits
// for C (systemstack_switch). Interrupted in C, it begins in runtime.cgocall where that told the
// scheduler, and not where it called C.
bool AgreesAroundC(const RawStack& ours, const GoAnswer& theirs) {
  size_t at = 0, matched = 0;
  for (const GoFrame& frame : theirs.frames) {
    const auto found =
        std::find_if(ours.frames.begin() + static_cast<ptrdiff_t>(at), ours.frames.end(),
                     [&](const RawFrame& own) { return own.pc == frame.pc; });
    if (found == ours.frames.end()) {
      if (frame.function == "runtime.systemstack_switch" ||
          frame.function.starts_with("runtime.asmcgocall") ||
          (frame.function == "runtime.cgocall" && &frame == theirs.frames.data()))
        continue;
      return false;
    }
    at = static_cast<size_t>(found - ours.frames.begin()) + 1;
    ++matched;
  }
  return matched >= 2 && at == ours.frames.size();
}

bool Agrees(const RawStack& ours, const GoAnswer& theirs) {
  const size_t count = theirs.is_cut ? std::min<size_t>(1, ours.frames.size()) : ours.frames.size();
  return std::ranges::equal(std::span(ours.frames).first(count), theirs.frames, {}, &RawFrame::pc,
                            &GoFrame::pc);
}

class GoAgreement : public testing::Test {
 protected:
  // Stops the program again and again; the number of stops that were compared.
  void Compare(const std::string& label, const std::string& file, bool has_c) {
    int equal = 0, followed = 0, first_touches = 0;
    for (int stop = 0; stop < Stops();) {
      GoProgram program(file, fmt::format("{}/go_agreement_{}", testing::TempDir(), getpid()));
      usleep(100'000 + static_cast<useconds_t>(random_() % 50'000));
      if (stacks_ == nullptr) {
        auto started = RawStacks::Start(kFrequencyHz, program.pid());
        if (!started.ok()) GTEST_SKIP() << "no BPF here: " << started.status();
        stacks_ = *std::move(started);
      } else {
        ASSERT_TRUE(stacks_->Target(program.pid()).ok());
      }
      std::optional<RawStack> ours = stacks_->StopAtSample(kTimeoutMs);
      ASSERT_TRUE(ours.has_value()) << label << " did not stop";
      if (ours->finished_here && !IsCompleteEnd(ours->end)) {
        ASSERT_LT(++first_touches, kMostCutSlices);
        continue;
      }
      const std::string text = program.Quit(ours->tid);
      GoAnswer theirs = Expected(ParseTraceback(text));
      // Nothing was printed, or the thread had gone on for an instruction or two.
      if (theirs.frames.empty() || InterruptedAt(text) != ours->frames[0].pc) {
        ASSERT_LT(++first_touches, kMostCutSlices) << label << " printed:\n" << text;
        continue;
      }
      ++stop;
      LeaveOutWhatGoDoes(&*ours, &theirs);
      const bool agrees = Agrees(*ours, theirs) || (has_c && AgreesAroundC(*ours, theirs));
      equal += agrees && IsCompleteEnd(ours->end) ? 1 : 0;
      followed += std::ranges::any_of(ours->frames, [](const RawFrame& frame) {
        return frame.name.starts_with("runtime.systemstack") ||
               frame.name.starts_with("runtime.morestack") ||
               frame.name.starts_with("runtime.asmcgocall");
      });
      EXPECT_TRUE(agrees) << label << "\n" << Print(*ours, theirs, text);
      EXPECT_TRUE(IsCompleteEnd(ours->end)) << label << "\n" << Print(*ours, theirs, text);
    }
    Measured(fmt::format("{}: {} of {} stops as Go's traceback, complete; {} on two stacks", label,
                         equal, Stops(), followed));
  }

  std::unique_ptr<RawStacks> stacks_;
  std::mt19937 random_{20261122};
};

TEST_F(GoAgreement, StacksAreGosOwn) {
  int programs = 0;
  for (const char* name :
       {"go_runtime", "go_systemstack", "go_pie", "go_stripped", "go_cgo", "go_nested_cgo"}) {
    const std::string file = GalleryFile(name);
    if (file.empty()) continue;
    ++programs;
    Compare(name, file, std::string_view(name).find("cgo") != std::string_view::npos);
    if (IsSkipped() || HasFatalFailure()) return;
  }
  if (programs == 0) GTEST_SKIP() << "no Go here";
}

// Built by Go `version`, which it says itself; empty where that toolchain cannot be had.
// GOTOOLCHAIN holds in a module only, so the program becomes one.
std::string BuiltByGo(const std::string& version, const std::string& name,
                      const TemporaryDirectory& directory) {
  const std::string folder = directory.File(name), file = folder + "/program";
  fs::create_directory(folder);
  directory.Write(name + "/go.mod", "module example.test/program\n\ngo 1.18\n");
  const std::string command = fmt::format(
      "cd {} && cp {}/tests/fixtures/native/{}/program.go . && export GO111MODULE=on "
      "GOTOOLCHAIN=go{} CGO_ENABLED=1 GOFLAGS=-buildvcs=false && go build -o program . "
      ">/dev/null 2>&1 && go version program | grep -q ': go{}$'",
      folder, STACKRAY_SOURCE_DIR, name, version, version);
  return std::system(command.c_str()) == 0 ? file : "";
}

TEST_F(GoAgreement, OfOtherVersions) {
  const char* asked = std::getenv("STACKRAY_GO_VERSIONS");
  if (asked == nullptr) GTEST_SKIP() << "STACKRAY_GO_VERSIONS names none";
  std::istringstream versions(asked);
  std::string missing;
  int programs = 0;
  for (std::string version; std::getline(versions, version, ',');) {
    for (const char* name : {"go_runtime", "go_systemstack", "go_nested_cgo"}) {
      const TemporaryDirectory directory;
      const std::string file = BuiltByGo(version, name, directory);
      if (file.empty()) {
        missing += fmt::format("{}{} by Go {}", missing.empty() ? "" : ", ", name, version);
        continue;
      }
      ++programs;
      Compare(fmt::format("Go {} {}", version, name), file,
              std::string_view(name).find("cgo") != std::string_view::npos);
      if (IsSkipped() || HasFatalFailure()) return;
    }
  }
  if (!missing.empty()) Measured(fmt::format("not built, no such toolchain here: {}", missing));
  if (programs == 0) GTEST_SKIP() << "not built, no such toolchain here: " << missing;
}

}  // namespace
}  // namespace stackray::test
