// Ten kinds of load at once, on a host that has fewer CPUs than they want: what the samples say of
// each thread's time, beside the kernel's own account (/proc/PID/task/TID/schedstat) and the clock
// on the wall. A long proof: STACKRAY_BUSY_SECONDS.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel/wall_clock.h"
#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"
#include "tests/live/typed_run.h"
#include "tests/temporary_directory.h"

namespace stackray::test {
namespace {

namespace fs = std::filesystem;

constexpr double kMostOff = 0.05;
constexpr int kCompiledFunctions = 12'000;
constexpr char kPythonProgram[] =
    "import time\n"
    "while True:\n"
    "  sum(i * i for i in range(20000))\n"
    "  time.sleep(0.002)\n";

// Of one thread, since it began.
struct Account {
  double ran_ns = 0, run_queue_ns = 0;
};

using Accounts = std::map<uint32_t, Account>;  // By thread.

Accounts AccountsOf(uint32_t pid) {
  Accounts accounts;
  std::error_code error;
  for (const auto& task : fs::directory_iterator(fmt::format("/proc/{}/task", pid), error)) {
    std::ifstream file(task.path() / "schedstat");
    Account account;
    if (file >> account.ran_ns >> account.run_queue_ns)
      accounts[static_cast<uint32_t>(std::stoul(task.path().filename()))] = account;
  }
  return accounts;
}

std::string CompilerPath() {
  std::string path(1024, '\0');
  FILE* const answer = popen("gcc -print-prog-name=cc1", "r");
  if (answer == nullptr) return "";
  if (fgets(path.data(), static_cast<int>(path.size()), answer) == nullptr) path.clear();
  pclose(answer);
  path.resize(std::min(path.find('\n'), path.size()));
  return path.find('/') == std::string::npos ? "" : path;
}

// Takes a compiler minutes.
void WriteLongProgram(const std::string& path) {
  std::ofstream file(path);
  for (int i = 0; i < kCompiledFunctions; ++i)
    file << fmt::format(
        "int f{}(int *a, int n) {{ int s = {}; for (int i = 0; i < n; ++i) for (int j = i; j < n;"
        " ++j) {{ s += a[i] * a[j] ^ (s >> {}); if (s & {}) a[i] = s; }} return s; }}\n",
        i, i, i % 7 + 1, i % 13 + 1);
}

class BusyPrograms : public testing::Test {
 protected:
  void Start(const std::string& name, const std::vector<std::string>& argv) {
    programs_.emplace_back(name, TargetProgram::Start(argv));
  }
  void StartBusy(const std::string& kind, const std::string& path = "busy") {
    Start(kind, {ProgramPath("busy"), kind, path});
  }
  void StartAll() {
    const std::string meeting = fmt::format("stackray-busy-{}", getpid());
    for (const char* kind : {"sleepers", "mutexes", "pipes", "forker", "yielders", "nice"})
      StartBusy(kind);
    StartBusy("sync", directory_.File("synced"));
    StartBusy("server", meeting);
    StartBusy("client", meeting);
    Start("python", {"python3", "-c", kPythonProgram});
    WriteLongProgram(directory_.File("long.c"));
    if (const std::string compiler = CompilerPath(); !compiler.empty())
      Start("compiler", {compiler, "-quiet", "-O2", directory_.File("long.c"), "-o", "/dev/null"});
  }
  std::vector<uint32_t> Pids() const {
    std::vector<uint32_t> pids;
    for (const auto& [name, program] : programs_) pids.push_back(program.pid());
    return pids;
  }
  std::map<uint32_t, Accounts> AllAccounts() const {
    std::map<uint32_t, Accounts> all;
    for (const uint32_t pid : Pids()) all[pid] = AccountsOf(pid);
    return all;
  }

  const TemporaryDirectory directory_;
  std::vector<std::pair<std::string, TargetProgram>> programs_;
};

// Of the threads that lived all the time.
struct Sums {
  double wall = 0, ran = 0, queued = 0;                          // As the kernel says.
  double on_cpu = 0, blocked = 0, run_queue = 0, preempted = 0;  // As the samples say.
};

void AddSample(const TypedSample& sample, double period_ns, Sums* sums) {
  const auto value = static_cast<double>(sample.value);
  if (sample.type == "samples") sums->on_cpu += value * period_ns;
  if (sample.wait == "blocked") sums->blocked += value;
  if (sample.wait == "run_queue") sums->run_queue += value;
  if (sample.wait == "preempted") sums->preempted += value;
}

void Judge(const std::string& name, const Sums& sums) {
  const double waited = sums.blocked + sums.run_queue + sums.preempted;
  const double queued = sums.run_queue + sums.preempted;
  Measured(fmt::format(
      "{}: of {:.2f} s wall {:.3f}; ran {:.2f}, samples {:.2f}; run queue {:.2f}, "
      "samples {:.2f} + preempted {:.2f}; blocked {:.2f}",
      name, sums.wall / 1e9, (waited + sums.on_cpu) / sums.wall, sums.ran / 1e9, sums.on_cpu / 1e9,
      sums.queued / 1e9, sums.run_queue / 1e9, sums.preempted / 1e9, sums.blocked / 1e9));
  EXPECT_NEAR((waited + sums.on_cpu) / sums.wall, 1, kMostOff) << name;
  EXPECT_NEAR((sums.on_cpu + queued) / sums.wall, (sums.ran + sums.queued) / sums.wall, kMostOff)
      << name;
  EXPECT_NEAR(sums.on_cpu / sums.wall, sums.ran / sums.wall, kMostOff) << name;
  EXPECT_NEAR(queued / sums.wall, sums.queued / sums.wall, kMostOff) << name;
}

TEST_F(BusyPrograms, SumsAreTheKernelsOwn) {
  const char* const asked = std::getenv("STACKRAY_BUSY_SECONDS");
  if (asked == nullptr) GTEST_SKIP() << "a long proof: STACKRAY_BUSY_SECONDS is not set";
  StartAll();
  sleep(1);
  SessionSettings settings;
  settings.types = {SampleOrigin::kCpuClock, SampleOrigin::kOffCpu};
  if (const char* const rate = std::getenv("STACKRAY_OFF_CPU_RATE"); rate != nullptr)
    settings.off_cpu_rate = static_cast<uint32_t>(std::atoi(rate));
  settings.sampler.frequency_hz = 199;
  absl::StatusOr<std::unique_ptr<TypedRun>> run = TypedRun::Start(settings, Pids());
  if (absl::IsFailedPrecondition(run.status())) GTEST_SKIP() << run.status().message();
  ASSERT_TRUE(run.ok()) << run.status();
  // What was before the accounts were read is in batches of its own.
  (*run)->session().Seal();
  const size_t first = (*run)->samples().size();
  const uint64_t began = BootTimeNs();
  const std::map<uint32_t, Accounts> before = AllAccounts();
  const uint64_t end = began + static_cast<uint64_t>(std::atof(asked) * 1e9);
  ASSERT_TRUE((*run)->Until(1'000'000, [end] { return BootTimeNs() >= end; }));
  (*run)->session().Seal();
  const auto wall = static_cast<double>(BootTimeNs() - began);
  const std::map<uint32_t, Accounts> after = AllAccounts();
  (*run)->Stop();

  std::map<uint32_t, uint32_t> process_of;  // By thread.
  std::map<uint32_t, Sums> sums;            // By process.
  for (const auto& [pid, threads] : before)
    for (const auto& [tid, account] : threads) {
      const auto later = after.at(pid).find(tid);
      if (later == after.at(pid).end()) continue;
      process_of[tid] = pid;
      sums[pid].wall += wall;
      sums[pid].ran += later->second.ran_ns - account.ran_ns;
      sums[pid].queued += later->second.run_queue_ns - account.run_queue_ns;
    }
  const std::vector<TypedSample>& samples = (*run)->samples();
  for (size_t i = first; i < samples.size(); ++i)
    if (const auto found = process_of.find(samples[i].tid); found != process_of.end())
      AddSample(samples[i], 1e9 / settings.sampler.frequency_hz, &sums[found->second]);
  for (const auto& [name, program] : programs_) {
    ASSERT_TRUE(sums.contains(program.pid())) << name << " has ended";
    Judge(name, sums[program.pid()]);
  }
}

}  // namespace
}  // namespace stackray::test
