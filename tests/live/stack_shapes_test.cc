// One program a shape of stack or of executable: complete, and with the right functions in the
// right order. The programs are in tests/live/programs.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr uint64_t kSamples = 300;
constexpr int kTimeoutMs = 20'000;

// Share of the samples with user frames for which `is_right` holds.
double Share(const SampledRun& run, const std::function<bool(const SeenStack&)>& is_right) {
  double right = 0, all = 0;
  for (const SeenStack& stack : run.stacks()) {
    if (stack.user.empty()) continue;
    all += static_cast<double>(stack.count);
    if (is_right(stack)) right += static_cast<double>(stack.count);
  }
  return all == 0 ? 0 : 100 * right / all;
}

std::string Worst(const SampledRun& run, const std::function<bool(const SeenStack&)>& is_right) {
  for (const SeenStack& stack : run.stacks()) {
    if (stack.user.empty() || is_right(stack)) continue;
    std::string text = stack.marker;
    for (const DecodedFrame& frame : stack.user)
      text += fmt::format("\n  {}+0x{:x} {}", frame.mapping_path, frame.address,
                          frame.lines.empty() ? "" : frame.lines.back().function);
    return text;
  }
  return "";
}

// Samples of one program, judged: nearly all stacks that go through user code must be as expected;
// the rest are those of the program's start.
class StackShapes : public testing::Test {
 protected:
  void Sample(const std::vector<std::string>& argv, uint64_t samples = kSamples) {
    program_.emplace(TargetProgram::Start(argv));
    ASSERT_NE(program_->pid(), 0u);
    absl::StatusOr<std::unique_ptr<SampledRun>> run =
        SampledRun::Start(kFrequencyHz, {program_->pid()});
    if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
    run_ = *std::move(run);
    kill(static_cast<pid_t>(program_->pid()), SIGCONT);  // For programs that wait for us.
    run_->Run(kTimeoutMs, samples);
    run_->Stop();
  }

  void Expect(const std::string& what, const std::function<bool(const SeenStack&)>& is_right,
              double at_least_percent = 99) {
    if (run_ == nullptr) return;
    const double share = Share(*run_, is_right);
    Measured(fmt::format("{}: {} samples, {:.2f} % complete, {:.2f} % as expected; ends: {}", what,
                         run_->with_user_stack(), run_->complete_percent(), share, run_->Ends()));
    EXPECT_GE(run_->with_user_stack(), kSamples / 3) << "too few samples to say anything";
    EXPECT_GE(run_->complete_percent(), 99);
    EXPECT_GE(share, at_least_percent) << Worst(*run_, is_right);
  }

  std::optional<TargetProgram> program_;
  std::unique_ptr<SampledRun> run_;
};

bool IsSpin(const SeenStack& stack) {
  return stack.Calls("SpinOuter", "SpinLeaf") && stack.Calls("main", "SpinOuter") &&
         stack.UserNames().back() == "_start";
}

TEST_F(StackShapes, Dynamic) {
  Sample({ProgramPath("spin")});
  Expect("dynamic", IsSpin);
}

// A thread's first samples are in the call that made it: 1.4 in 100 were cut there.
TEST_F(StackShapes, ThreadsThatBegin) {
  constexpr uint64_t kMany = 2'000;
  Sample({ProgramPath("thread_starts")}, kMany);
  Expect(
      "threads that begin", [](const SeenStack& stack) { return stack.marker.empty(); }, 99.4);
}

TEST_F(StackShapes, Static) {
  Sample({ProgramPath("spin_static")});
  Expect("static", IsSpin);
}

TEST_F(StackShapes, StaticPie) {
  Sample({ProgramPath("spin_static_pie")});
  Expect("static-PIE", IsSpin);
}

TEST_F(StackShapes, Stripped) {
  Sample({ProgramPath("spin_stripped")});
  Expect("stripped", [](const SeenStack& stack) {
    return stack.user.size() == 6 && stack.Has("__libc_start_main") &&
           stack.UserNames().front().empty() &&
           stack.user.front().mapping_path == ProgramPath("spin_stripped");
  });
}

TEST_F(StackShapes, LibraryOpenedWhileRunning) {
  Sample({ProgramPath("plugin_host"), ProgramPath("libplugin.so")});
  Expect("dlopen", [](const SeenStack& stack) {
    return stack.Calls("PluginWork", "PluginLeaf") && stack.Calls("CallPlugin", "PluginWork") &&
           stack.Calls("main", "CallPlugin") && stack.UserNames().back() == "_start";
  });
}

TEST_F(StackShapes, ExecutableDeletedWhileRunning) {
  const TemporaryDirectory directory;
  const std::string copy = directory.File("deleted_spin");
  std::filesystem::copy_file(ProgramPath("spin"), copy);
  program_.emplace(TargetProgram::Start({copy}));
  ASSERT_NE(program_->pid(), 0u);
  usleep(200'000);  // It runs by then: exec needs the name.
  std::filesystem::remove(copy);
  absl::StatusOr<std::unique_ptr<SampledRun>> run =
      SampledRun::Start(kFrequencyHz, {program_->pid()});
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  run_ = *std::move(run);
  run_->Run(kTimeoutMs, kSamples);
  Expect("deleted executable", IsSpin);
}

TEST_F(StackShapes, FramePointersWithoutTables) {
  Sample({ProgramPath("frame_pointers")});
  Expect("frame pointers only", [](const SeenStack& stack) {
    return stack.Calls("FrameOuter", "FrameLeaf") && stack.Calls("main", "FrameOuter") &&
           stack.UserNames().back() == "_start";
  });
}

TEST_F(StackShapes, SignalHandler) {
  Sample({ProgramPath("signal_handler")}, 600);
  Expect("signal handler", [](const SeenStack& stack) {
    if (!stack.Has("HandlerWork")) return stack.UserNames().back() == "_start";
    // Below the handler lies the kernel's trampoline (in libc), below that what was interrupted.
    const std::vector<std::string> names = stack.UserNames();
    const auto handler = std::find(names.begin(), names.end(), "OnAlarm");
    return handler != names.end() && names.end() - handler >= 4 &&
           (handler[2] == "InterruptedLeaf" || handler[2] == "main") && names.back() == "_start";
  });
  if (run_ == nullptr) return;
  const double in_handler = Share(
      *run_, [](const SeenStack& stack) { return stack.Has("HandlerWork") && stack.Has("main"); });
  Measured(
      fmt::format("signal handler: {:.1f} % of the stacks go through the handler", in_handler));
  EXPECT_GE(in_handler, 20);
}

TEST_F(StackShapes, Vdso) {
  Sample({ProgramPath("clock_reader")});
  Expect("vDSO", [](const SeenStack& stack) {
    return stack.Calls("main", "ReadClock") && stack.UserNames().back() == "_start";
  });
  if (run_ == nullptr) return;
  const double in_vdso = Share(*run_, [](const SeenStack& stack) {
    return stack.user.front().mapping_path.find("vdso") != std::string::npos &&
           !stack.UserNames().front().empty();
  });
  Measured(fmt::format("vDSO: {:.1f} % of the leaves are named functions of the vDSO", in_vdso));
  EXPECT_GE(in_vdso, 30);
}

TEST_F(StackShapes, ReturnAddressInRegister) {
  Sample({ProgramPath("register_return")});
  Expect("return address in a register", [](const SeenStack& stack) {
    return stack.Calls("CallRegisterReturn", "RegisterReturnLeaf") &&
           stack.Calls("main", "CallRegisterReturn") && stack.UserNames().back() == "_start";
  });
}

TEST_F(StackShapes, ThreadsThatNeverReturn) {
  Sample({ProgramPath("threads")}, 600);
  Expect("threads", [](const SeenStack& stack) {
    return stack.Calls("ThreadForever", "ThreadLeaf") && stack.UserNames().size() >= 4;
  });
  if (run_ == nullptr) return;
  EXPECT_GE(Share(*run_, [](const SeenStack& stack) { return stack.Has("PosixThread"); }), 20);
  EXPECT_GE(Share(*run_, [](const SeenStack& stack) { return !stack.Has("PosixThread"); }), 20);
}

TEST_F(StackShapes, ForkWithoutExec) {
  Sample({ProgramPath("fork_only")});
  Expect("fork without exec", [this](const SeenStack& stack) {
    return stack.pid == program_->pid() ||
           (stack.Calls("ChildWork", "ChildLeaf") && stack.Calls("main", "ChildWork") &&
            stack.UserNames().back() == "_start");
  });
  if (run_ == nullptr) return;
  EXPECT_GE(Share(*run_, [this](const SeenStack& stack) { return stack.pid != program_->pid(); }),
            90);
}

// Programs that live for milliseconds spend them in the dynamic loader, which binds each function
// at its first call through a frame that is kept in rbx. What remains is cut in code without any
// rules: a library's _init, and clone3 behind its system call.
TEST_F(StackShapes, ProgramsOfMilliseconds) {
  Sample({"sh", "-c", "while :; do gdb --version; clang++ --version; ls /; done"}, 2000);
  if (run_ == nullptr) return;
  const uint64_t unsupported = run_->session().loop().counts().ends[END_UNSUPPORTED_RULE];
  Measured(fmt::format("programs of milliseconds: {} samples, {:.2f} % complete; ends: {}",
                       run_->with_user_stack(), run_->complete_percent(), run_->Ends()));
  for (const std::string& cut : run_->CutStacks()) Measured("programs of milliseconds: cut " + cut);
  EXPECT_GE(run_->with_user_stack(), 500u) << "too few samples to say anything";
  EXPECT_EQ(unsupported, 0u);
  EXPECT_GE(run_->complete_percent(), 98);
}

}  // namespace
}  // namespace stackray::test
