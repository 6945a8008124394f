// Waiting time against what the waiting threads say of themselves (tests/live/programs/waits.cc).
//
// STACKRAY_OFF_CPU_SECONDS=60 STACKRAY_OFF_CPU_PERCENT=5 STACKRAY_OFF_CPU_RATE=200 makes the long
// proof of it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kernel/wall_clock.h"
#include "tests/live/sampled_run.h"
#include "tests/live/talking_program.h"
#include "tests/live/target_program.h"
#include "tests/live/typed_run.h"

namespace stackray::test {
namespace {

constexpr int kTimeoutMs = 20'000;

double Number(const char* variable, double otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atof(text);
}

// Of all threads of one function.
struct Truth {
  double waited_ns = 0, run_queue_ns = 0;
};

std::map<std::string, Truth> TruthsOf(const std::string& heard) {
  std::map<std::string, Truth> truths;
  std::istringstream lines(heard);
  std::string name;
  double wall = 0, cpu = 0, run_queue = 0;
  while (lines >> name && name != "end" && lines >> wall >> cpu >> run_queue) {
    truths[name].waited_ns += wall - cpu;
    truths[name].run_queue_ns += run_queue;
  }
  return truths;
}

SessionSettings AtRate(uint32_t rate) {
  SessionSettings settings;
  settings.types = {SampleOrigin::kCpuClock, SampleOrigin::kOffCpu};
  settings.off_cpu_rate = rate;
  return settings;
}

class OffCpu : public testing::Test {
 protected:
  void Start(const std::vector<std::string>& arguments, SessionSettings settings) {
    std::vector<std::string> argv = {ProgramPath("waits")};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    program_ = std::make_unique<TalkingProgram>(argv);
    StartSampling(std::move(settings));
  }
  void StartSampling(SessionSettings settings) {
    ASSERT_NE(program_->pid(), 0u);
    absl::StatusOr<std::unique_ptr<TypedRun>> run =
        TypedRun::Start(std::move(settings), {program_->pid()});
    if (absl::IsFailedPrecondition(run.status())) GTEST_SKIP() << run.status().message();
    ASSERT_TRUE(run.ok()) << run.status();
    run_ = *std::move(run);
    for (const std::string& warning : run_->session().warnings())
      if (warning.find("waits") != std::string::npos) GTEST_SKIP() << warning;
  }
  double WaitsOf(const std::string& function, const std::string& kind = "") const {
    return static_cast<double>(run_->Sum([&](const TypedSample& sample) {
      return sample.type == "off_cpu" && sample.Has(function) &&
             (kind.empty() || sample.wait == kind);
    }));
  }

  std::unique_ptr<TalkingProgram> program_;
  std::unique_ptr<TypedRun> run_;
};

TEST_F(OffCpu, SharesAreThoseOfTheThreadsThemselves) {
  const double seconds = Number("STACKRAY_OFF_CPU_SECONDS", 2);
  const double most = Number("STACKRAY_OFF_CPU_PERCENT", 10) / 100;
  // A higher rate than usual, because in a few seconds one rare wait that stands for many would be
  // half of a sum.
  Start({fmt::format("{:.0f}", seconds * 1000)},
        AtRate(static_cast<uint32_t>(Number("STACKRAY_OFF_CPU_RATE", 2000))));
  if (IsSkipped()) return;
  program_->Say("go");
  const auto ended = [this] { return program_->HasEnded(); };
  ASSERT_TRUE(run_->Until(kTimeoutMs + static_cast<int>(seconds * 1000), ended));
  run_->Stop();
  const std::map<std::string, Truth> truths = TruthsOf(program_->Heard());
  ASSERT_EQ(truths.size(), 5u) << program_->Heard();
  for (const auto& [function, truth] : truths) {
    const double seen = WaitsOf(function), queued = WaitsOf(function, "run_queue"),
                 preempted = WaitsOf(function, "preempted"), blocked = WaitsOf(function, "blocked");
    Measured(fmt::format(
        "{}: {:.3f} s of {:.3f} s waited; run queue and preempted {:.3f} of {:.3f} s", function,
        seen / 1e9, truth.waited_ns / 1e9, (queued + preempted) / 1e9, truth.run_queue_ns / 1e9));
    EXPECT_NEAR(seen / truth.waited_ns, 1, most) << function;
    EXPECT_NEAR((queued + preempted) / truth.waited_ns, truth.run_queue_ns / truth.waited_ns, most);
    if (function == "lose_the_cpu") {
      EXPECT_GT(preempted, 0.8 * seen);
    } else {
      EXPECT_NEAR(blocked / truth.waited_ns, 1 - truth.run_queue_ns / truth.waited_ns, most);
    }
  }
}

// A batch every 300 ms: the wait is in each, and their sum is the time that passed.
TEST_F(OffCpu, DeadlockedThreadShowsItsWholeWait) {
  Start({"1500", "deadlock"}, AtRate(200));
  if (IsSkipped()) return;
  program_->Say("go");
  const uint64_t began = BootTimeNs();
  const auto ended = [this] { return program_->HasEnded(); };
  ASSERT_TRUE(run_->Until(kTimeoutMs, ended, 1 / 0.3));
  run_->Stop();
  const auto waited = static_cast<double>(BootTimeNs() - began);
  std::set<int> batches;
  for (const TypedSample& sample : run_->samples())
    if (sample.Has("wait_for_ever")) batches.insert(sample.batch);
  EXPECT_GE(batches.size(), 3u);
  EXPECT_EQ(batches.size(), static_cast<size_t>(*batches.rbegin() - *batches.begin()) + 1);
  EXPECT_NEAR(WaitsOf("wait_for_ever") / waited, 1, 0.1);
  EXPECT_EQ(WaitsOf("wait_for_ever"), WaitsOf("wait_for_ever", "blocked"));
}

TEST_F(OffCpu, FiveThousandIdleThreadsTakeFewBytes) {
  Start({"1500", "idle"}, AtRate(1'000'000));
  if (IsSkipped()) return;
  program_->Say("go");
  const auto ended = [this] { return program_->HasEnded(); };
  ASSERT_TRUE(run_->Until(kTimeoutMs, ended, 2));
  const OffCpuWaits& waits = run_->session().loop().waits();
  Measured(fmt::format("{} open waits take {} bytes, {} each", waits.size(), waits.bytes(),
                       waits.bytes() / std::max<size_t>(waits.size(), 1)));
  EXPECT_GE(waits.size(), 4990u);
  EXPECT_LE(waits.bytes(), 1000 * waits.size());
}

// With so low a rate most waits have no stack. The rate is kept, and the sum is right within what
// its own values say of its error.
TEST_F(OffCpu, EstimateIsUnbiasedBelowTheRate) {
  constexpr uint32_t kRate = 40;
  Start({"2000", "pipe", "sleep"}, AtRate(kRate));
  if (IsSkipped()) return;
  program_->Say("go");
  const auto ended = [this] { return program_->HasEnded(); };
  ASSERT_TRUE(run_->Until(kTimeoutMs, ended));
  run_->Stop();
  const counters kernel = run_->session().sampler().Counters();
  const uint64_t stacks = kernel.value[COUNT_WAIT_STACKS], waits = kernel.value[COUNT_WAITS];
  double seen = 0, truth = 0, squares = 0;
  for (const auto& [function, of] : TruthsOf(program_->Heard())) {
    seen += WaitsOf(function);
    truth += of.waited_ns;
    for (const TypedSample& sample : run_->samples())
      if (sample.type == "off_cpu" && sample.Has(function)) squares += sample.squares;
  }
  const double error = std::sqrt(squares);
  Measured(fmt::format("{} stacks of {} waits; {:.3f} s ± {:.3f} of {:.3f}", stacks, waits,
                       seen / 1e9, error / 1e9, truth / 1e9));
  const double seconds = truth / 1e9;  // More than passed, because threads wait at once.
  EXPECT_LT(static_cast<double>(stacks), 3 * seconds * kRate);
  EXPECT_LT(stacks, waits / 2);
  EXPECT_NEAR(seen, truth, 4 * error + 0.02 * truth);
  EXPECT_LT(error, 0.5 * truth);
}

// As a budget does it: a sixteenth, and all of it again.
TEST_F(OffCpu, TheRateMayChange) {
  constexpr int kTries = 20;  // The blocks of waits that were drawn at the low rate end first.
  Start({"30000", "pipe", "sleep"}, AtRate(800));
  if (IsSkipped()) return;
  SamplingSession& session = run_->session();
  const auto stacks_in = [&](uint64_t ns) {
    const uint64_t before = session.sampler().Counters().value[COUNT_WAIT_STACKS];
    const uint64_t end = BootTimeNs() + ns;
    EXPECT_TRUE(run_->Until(kTimeoutMs, [end] { return BootTimeNs() >= end; }));
    return session.sampler().Counters().value[COUNT_WAIT_STACKS] - before;
  };
  const auto limit = [&](uint32_t rate) {
    SessionLimits limits = session.limits();
    limits.off_cpu_rate = rate;
    EXPECT_TRUE(session.Limit(limits).ok());
    stacks_in(200'000'000);  // Two windows, in which it is found.
  };
  program_->Say("go");
  const uint64_t full = stacks_in(600'000'000);
  limit(50);
  const uint64_t low = stacks_in(600'000'000);
  limit(800);
  uint64_t again = 0;
  for (int i = 0; i < kTries && again <= 2 * low; ++i) again = stacks_in(600'000'000);
  Measured(fmt::format("{} stacks, {} at a sixteenth of the rate, {} again", full, low, again));
  EXPECT_LT(low, full / 3);
  EXPECT_GT(again, 2 * low);
}

// As a tracer's stacks begin, and as deep; but for threads that were blocked before the start: the
// kernel leaves the scheduler's functions out of another task's stack.
TEST_F(OffCpu, KernelStacksBeginAtTheScheduler) {
  Start({"500", "pipe"}, AtRate(1000));
  if (IsSkipped()) return;
  program_->Say("go");
  const auto ended = [this] { return program_->HasEnded(); };
  ASSERT_TRUE(run_->Until(kTimeoutMs, ended));
  run_->Stop();
  size_t reads = 0, earlier = 0;
  for (const TypedSample& sample : run_->samples()) {
    if (sample.type != "off_cpu" || sample.kernel.empty()) continue;
    if (sample.kernel.front().starts_with("[")) GTEST_SKIP() << "kernel functions have no names";
    if (sample.kernel.front() != "__schedule") {
      EXPECT_FALSE(sample.Has("schedule")) << fmt::format("{}", fmt::join(sample.kernel, " "));
      earlier += sample.events;
      continue;
    }
    if (!sample.Has("wait_in_read") || sample.wait != "blocked") continue;
    ++reads;
    EXPECT_TRUE(sample.Has("pipe_read") || sample.Has("anon_pipe_read"))
        << fmt::format("{}", fmt::join(sample.kernel, " "));
    EXPECT_TRUE(sample.Has("schedule"));
  }
  EXPECT_GT(reads, 0u);
  constexpr size_t kThreads = 3, kBatches = 2, kPartsOfAnEnd = 2;
  EXPECT_LE(earlier, kThreads * (kBatches + kPartsOfAnEnd));
}

// They were blocked before the first of our programs ran, and count from then on, in every batch
// once. One of them is woken in the middle.
TEST_F(OffCpu, ThreadsThatWaitedBeforeShowTheirWholeTime) {
  program_ = std::make_unique<TalkingProgram>(
      std::vector<std::string>{ProgramPath("waits"), "2000", "early"});
  const uint64_t limit = BootTimeNs() + 5'000'000'000;
  while (program_->Heard() != "waiting\n" && BootTimeNs() < limit) usleep(1000);
  StartSampling(AtRate(200));
  if (IsSkipped()) return;
  // When the kernel listed them.
  const uint64_t began =
      run_->session().sampler().WaitsSince(program_->pid()).value_or(BootTimeNs());
  EXPECT_LT(BootTimeNs() - began, 5'000'000'000);
  program_->Say("go");
  const auto ended = [this] { return program_->HasEnded(); };
  ASSERT_TRUE(run_->Until(kTimeoutMs, ended, 1 / 0.3));
  run_->Stop();
  const auto window = static_cast<double>(BootTimeNs() - began);
  const std::string heard = program_->Heard();
  const size_t written = heard.find("written ");
  ASSERT_NE(written, std::string::npos) << heard;
  const auto woken = static_cast<double>(std::strtoull(&heard[written + 8], nullptr, 10) - began);
  const std::map<std::string, double> expected = {{"early_in_mutex", window},
                                                  {"early_in_read", window},
                                                  {"early_in_sleep", window},
                                                  {"early_until_written", woken}};
  for (const auto& [function, truth] : expected) {
    Measured(
        fmt::format("{}: {:.3f} s of {:.3f} s", function, WaitsOf(function) / 1e9, truth / 1e9));
    EXPECT_NEAR(WaitsOf(function) / truth, 1, 0.05) << function;
    EXPECT_GE(WaitsOf(function, "blocked") / WaitsOf(function), 0.95) << function;
  }
  for (const TypedSample& sample : run_->samples())
    EXPECT_TRUE(!sample.Has("early_in_read") || sample.Has("ksys_read") || sample.kernel.empty() ||
                sample.kernel.front().starts_with("["))
        << fmt::format("{}", fmt::join(sample.kernel, " "));
}

// The budget is overdrawn by others, so most waits have no stack where they begin; but who waits
// for ever, and has begun after the profiler, shows all of it.
TEST_F(OffCpu, MainThreadsThatGetStuckShowTheirWholeLife) {
  program_ = std::make_unique<TalkingProgram>(
      std::vector<std::string>{ProgramPath("waits"), "60000", "pipe", "sleep", "mutex", "fifty"});
  program_->Say("go");
  absl::StatusOr<std::unique_ptr<TypedRun>> run =
      TypedRun::Start(AtRate(10), {static_cast<uint32_t>(getpid())});
  if (absl::IsFailedPrecondition(run.status())) GTEST_SKIP() << run.status().message();
  ASSERT_TRUE(run.ok()) << run.status();
  run_ = *std::move(run);
  const auto for_ms = [this](uint64_t ms) {
    const uint64_t end = BootTimeNs() + ms * 1'000'000;
    EXPECT_TRUE(run_->Until(kTimeoutMs, [end] { return BootTimeNs() >= end; }));
  };
  for_ms(1000);
  std::vector<std::unique_ptr<TalkingProgram>> stuck;
  std::vector<uint64_t> began;
  for (int i = 0; i < 3; ++i) {
    began.push_back(BootTimeNs());
    stuck.push_back(std::make_unique<TalkingProgram>(
        std::vector<std::string>{ProgramPath("waits"), "0", "stuck"}));
  }
  for_ms(6000);
  run_->Stop();
  const uint64_t end = BootTimeNs();
  const counters kernel = run_->session().sampler().Counters();
  EXPECT_LT(kernel.value[COUNT_WAIT_STACKS], kernel.value[COUNT_WAITS] / 4);
  for (size_t i = 0; i < stuck.size(); ++i) {
    const auto life = static_cast<double>(end - began[i]);
    const auto sum = static_cast<double>(run_->Sum([&](const TypedSample& sample) {
      return sample.type == "off_cpu" && sample.tid == stuck[i]->pid();
    }));
    Measured(fmt::format("main thread {}: {:.3f} s of {:.3f} s", i, sum / 1e9, life / 1e9));
    EXPECT_NEAR(sum / life, 1, Number("STACKRAY_OFF_CPU_TOLERANCE", 0.05));
  }
}

// What the kernel says of a thread.
struct Ran {
  double cpu_ns = 0, queued_ns = 0;
};

std::map<uint32_t, Ran> RanSoFar(uint32_t pid, std::string_view command) {
  std::map<uint32_t, Ran> threads;
  for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid))) {
    std::string name;
    std::getline(std::ifstream(entry.path() / "comm"), name);
    if (name != command) continue;
    Ran& ran = threads[static_cast<uint32_t>(std::stoul(entry.path().filename()))];
    std::ifstream(entry.path() / "schedstat") >> ran.cpu_ns >> ran.queued_ns;
  }
  return threads;
}

class FiftyThreads : public OffCpu, public testing::WithParamInterface<const char*> {};

// What each thread did adds up to the time that passed: its ticks and its waits.
TEST_P(FiftyThreads, EachAddsUpToTheWallTime) {
  const double seconds = Number("STACKRAY_OFF_CPU_SECONDS", 10);
  SessionSettings settings = AtRate(static_cast<uint32_t>(Number("STACKRAY_OFF_CPU_RATE", 200)));
  settings.sampler.frequency_hz = 99;
  Start({"600000", "fifty", GetParam()}, settings);
  if (IsSkipped()) return;
  const uint64_t began = BootTimeNs();
  program_->Say("go");
  const std::map<uint32_t, Ran> before = RanSoFar(program_->pid(), "sleep_and_work");
  const uint64_t end = began + static_cast<uint64_t>(seconds * 1e9);
  ASSERT_TRUE(run_->Until(kTimeoutMs + static_cast<int>(seconds * 1000),
                          [end] { return BootTimeNs() >= end; }));
  run_->Stop();
  const auto wall = static_cast<double>(BootTimeNs() - began);
  std::map<uint32_t, Ran> after = RanSoFar(program_->pid(), "sleep_and_work");
  ASSERT_EQ(after.size(), 50u);
  std::map<uint32_t, Ran> seen;
  std::map<uint32_t, double> blocked;
  for (const TypedSample& sample : run_->samples()) {
    const auto value = static_cast<double>(sample.value);
    if (sample.type == "samples") seen[sample.tid].cpu_ns += value * 1e9 / 99;
    if (sample.type == "off_cpu" && sample.wait != "blocked") seen[sample.tid].queued_ns += value;
    if (sample.type == "off_cpu" && sample.wait == "blocked") blocked[sample.tid] += value;
  }
  double least = 10, most = 0, off_by = 0, all_queued = 0, all_truly = 0;
  for (const auto& [tid, ran] : after) {
    const double sum = (seen[tid].cpu_ns + seen[tid].queued_ns + blocked[tid]) / wall;
    const double truly_queued = ran.queued_ns - before.at(tid).queued_ns;
    least = std::min(least, sum);
    most = std::max(most, sum);
    off_by = std::max(off_by, std::abs(seen[tid].queued_ns - truly_queued) / wall);
    all_queued += seen[tid].queued_ns;
    all_truly += truly_queued;
    EXPECT_NEAR(sum, 1, Number("STACKRAY_OFF_CPU_TOLERANCE", 0.05))
        << tid << ": " << seen[tid].cpu_ns / 1e9 << " s on a CPU of "
        << (ran.cpu_ns - before.at(tid).cpu_ns) / 1e9 << ", blocked " << blocked[tid] / 1e9
        << ", able to run " << seen[tid].queued_ns / 1e9 << " of " << truly_queued / 1e9 << " s";
  }
  Measured(
      fmt::format("each thread {:.4f} to {:.4f} of the wall time; able to run {:.1f} s in all "
                  "of {:.1f}, one thread off by {:.3f} of the wall time at most",
                  least, most, all_queued / 1e9, all_truly / 1e9, off_by));
}

INSTANTIATE_TEST_SUITE_P(UnderLoad, FiftyThreads, testing::Values("fifty", "busy"),
                         [](const auto& info) {
                           return std::string(info.index == 0 ? "One" : "Eight");
                         });

// Produced = lost + in flight + in batches, with three types.
TEST_F(OffCpu, EventsAreAccountedFor) {
  SessionSettings settings = AtRate(200);
  settings.types.push_back(SampleOrigin::kPageFaults);
  settings.page_fault_period = 17;
  Start({"500"}, settings);
  if (IsSkipped()) return;
  program_->Say("go");
  const auto ended = [this] { return program_->HasEnded(); };
  ASSERT_TRUE(run_->Until(kTimeoutMs, ended, 4));
  run_->Stop();
  const SessionCounts counts = run_->session().Counts();
  EXPECT_EQ(counts.in_flight, 0u);
  EXPECT_EQ(counts.produced, counts.lost() + counts.loop.sealed_samples);
  EXPECT_EQ(counts.loop.sealed_samples, run_->events());
  EXPECT_GT(counts.loop.wait_parts, 0u);
  EXPECT_LT(counts.loop.wait_parts, counts.loop.samples);
  EXPECT_EQ(run_->session().loop().waits().bytes() > 0, run_->session().loop().waits().size() > 0);
}

// Of those that have ended. CPU time, because other programs may run on this machine.
double ChildrenCpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// 100,000 switches a second and CPU, on all of the host: their time without and with the programs,
// in turns.
TEST(OffCpuCost, SwitchesTakeHardlyLonger) {
  const int rounds = static_cast<int>(Number("STACKRAY_OFF_CPU_COST_ROUNDS", 0));
  if (rounds == 0) GTEST_SKIP() << "a measurement: STACKRAY_OFF_CPU_COST_ROUNDS is not set";
  if (std::system("perf bench sched pipe -l 1000 > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "no perf bench";
  const auto pipe_seconds = [] {
    const double begin = ChildrenCpuSeconds();
    EXPECT_EQ(std::system("taskset -c 0 perf bench sched pipe -l 200000 > /dev/null 2>&1"), 0);
    return ChildrenCpuSeconds() - begin;
  };
  std::vector<double> without, with;
  double stacks = 0;
  for (int round = 0; round < rounds; ++round) {
    without.push_back(pipe_seconds());
    absl::StatusOr<std::unique_ptr<Sampler>> sampler =
        Sampler::Create({.frequency_hz = 1, .off_cpu = true, .off_cpu_rate = 200});
    ASSERT_TRUE(sampler.ok()) << sampler.status();
    (*sampler)->targets().AddHost(0);
    ASSERT_TRUE((*sampler)->Start().ok());
    with.push_back(pipe_seconds());
    stacks += static_cast<double>((*sampler)->Counters().value[COUNT_WAIT_STACKS]) / with.back();
    for (const Sampler::ProgramCost& cost : (*sampler)->ProgramCosts())
      if (cost.runs != 0)
        Measured(fmt::format("{}: {} runs of {:.0f} ns, {} instructions verified", cost.program,
                             cost.runs,
                             static_cast<double>(cost.run_time_ns) / static_cast<double>(cost.runs),
                             cost.verified_instructions));
  }
  std::ranges::sort(without);
  std::ranges::sort(with);
  const double ratio = with[with.size() / 2] / without[without.size() / 2];
  Measured(fmt::format(
      "{:.3f} s with, {:.3f} s without: {:.3f}; best of each {:.3f}; {:.0f} stacks a second",
      with[with.size() / 2], without[without.size() / 2], ratio, with.front() / without.front(),
      stacks / rounds));
  EXPECT_LE(ratio, 1.10);
}

TEST(PageFaults, AreCountedInTheFunctionThatTouches) {
  constexpr int kPages = 200'000;
  constexpr uint64_t kPeriod = 113;
  TalkingProgram program({ProgramPath("page_toucher"), fmt::format("{}", kPages)});
  SessionSettings settings;
  settings.types = {SampleOrigin::kCpuClock, SampleOrigin::kPageFaults};
  settings.page_fault_period = kPeriod;
  absl::StatusOr<std::unique_ptr<TypedRun>> run = TypedRun::Start(settings, {program.pid()});
  if (absl::IsFailedPrecondition(run.status())) GTEST_SKIP() << run.status().message();
  ASSERT_TRUE(run.ok()) << run.status();
  program.Say("go");
  ASSERT_TRUE((*run)->Until(kTimeoutMs, [&] { return program.HasEnded(); }));
  (*run)->Stop();
  const auto sum = [&](std::string_view type) {
    return static_cast<double>((*run)->Sum([&](const TypedSample& sample) {
      return sample.type == type && sample.Has("touch_pages");
    }));
  };
  const double truth = std::atof(program.Heard().c_str());
  Measured(fmt::format("{} page faults of {}", sum("page_faults"), truth));
  ASSERT_GE(truth, kPages);
  // The counter of each CPU may have begun and ended in the middle of a period.
  const double cpus = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_NEAR(sum("page_faults"), truth, (cpus + 1) * kPeriod + 0.005 * truth);
  EXPECT_GT(sum("samples"), 0) << "the clock ticks beside them";
  for (const TypedSample& sample : (*run)->samples())
    EXPECT_TRUE(sample.type != "page_faults" || sample.period == kPeriod) << sample.period;
}

}  // namespace
}  // namespace stackray::test
