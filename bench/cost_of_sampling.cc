// What sampling costs while a command runs: a whole session in this process, its batches thrown
//   away. cost_of_sampling [-F HZ] [-d SECONDS] [-w SECONDS] [-p PID] [-c WHAT] [-s SECONDS] [-a]
//   CMD ARG…
// Stops after SECONDS or with the command. -w: only what comes after so many seconds counts as
// steady. -p: this process is sampled too. -c: off, links or labels (all of them), as the setting
// `context`. -s: the length of a batch. -a: equal stacks are added up, as towards receivers. Prints
// one "name value" a line. Needs what sampling needs; exit code 77 where that is missing.
//
// BPF time is the kernel's own count of the sampling program's run time. Ticks of other processes
// run the program too: what such a tick costs is measured before the command starts, and taken off.
#include <bpf/bpf.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "agent/record/child_program.h"
#include "agent/sampling/markers.h"
#include "agent/sampling/sampling_session.h"
#include "agent/sampling/session_settings.h"
#include "agent/sampling/small_heap.h"
#include "kernel/wall_clock.h"

namespace stackray {
namespace {

constexpr int kExitSkipped = 77;
// As the agent does it (agent/daemon/agent.cc), but for its seals, which are 15 s apart.
constexpr int kTurnMs = 500;
constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr double kNsPerUs = 1000.0;
constexpr char kClockProgram[] = "on_cpu_clock";

struct Options {
  uint32_t frequency_hz = 99;
  uint64_t seconds = 10, warm_up_seconds = 2;
  uint64_t seal_seconds = 5;
  bool timestamps = true;  // Else equal stacks are added up, as towards receivers.
  uint32_t pid = 0;        // 0: none.
  std::string context = "links";
  std::vector<std::string> command;
};

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int option = 0; (option = getopt(argc, argv, "+F:d:w:p:c:s:a")) != -1;) {
    if (option == 'F') options.frequency_hz = static_cast<uint32_t>(std::atoi(optarg));
    if (option == 'd') options.seconds = static_cast<uint64_t>(std::atoi(optarg));
    if (option == 'p') options.pid = static_cast<uint32_t>(std::atoi(optarg));
    if (option == 'c') options.context = optarg;
    if (option == 'a') options.timestamps = false;
    if (option == 's') options.seal_seconds = static_cast<uint64_t>(std::atoi(optarg));
    if (option == 'w') options.warm_up_seconds = static_cast<uint64_t>(std::atoi(optarg));
  }
  options.command.assign(argv + optind, argv + argc);
  return options;
}

// One moment.
struct Reading {
  uint64_t time_ns = 0, cpu_ns = 0, bpf_ns = 0, bpf_runs = 0;
  SessionCounts counts;
};

uint64_t OwnCpuNs() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& t) {
    return static_cast<uint64_t>(t.tv_sec) * kNsPerSecond + static_cast<uint64_t>(t.tv_usec) * 1000;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

// Of the programs, the one that the clock runs.
Reading Read(SamplingSession& session) {
  Reading now{.time_ns = BootTimeNs(), .cpu_ns = OwnCpuNs()};
  for (const Sampler::ProgramCost& cost : session.sampler().ProgramCosts()) {
    if (cost.program != kClockProgram) continue;
    now.bpf_ns += cost.run_time_ns;
    now.bpf_runs += cost.runs;
  }
  now.counts = session.Counts();
  return now;
}

uint64_t StatusKiB(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key + ":"))
      return std::strtoull(line.c_str() + key.size() + 1, nullptr, 10);
  return 0;
}

double Ratio(double a, double b) { return b > 0 ? a / b : 0; }

void Print(const char* name, double value) { fmt::print("{} {:.4g}\n", name, value); }

// What lasts from one phase of a run to the next.
struct Running {
  uint64_t seal_interval_ns = 0;
  uint64_t next_seal_ns = BootTimeNs() + seal_interval_ns;
  uint64_t anonymous_peak_kib = 0;  // RssAnon, looked at before each seal and at each phase's end.
};

// Turns until `until_ns` or the child's end.
void RunUntil(SamplingSession& session, ChildProgram* child, uint64_t until_ns, Running* running) {
  const auto look = [&] {
    running->anonymous_peak_kib = std::max(running->anonymous_peak_kib, StatusKiB("RssAnon"));
  };
  for (uint64_t now = BootTimeNs(); now < until_ns; now = BootTimeNs()) {
    if (child != nullptr && child->Poll()) break;
    session.Turn(kTurnMs);
    if (now < running->next_seal_ns) continue;
    running->next_seal_ns = now + running->seal_interval_ns;
    look();
    session.Seal();
  }
  look();
}

void PrintBpf(const std::string& prefix, double other_tick_ns, const Reading& from,
              const Reading& to) {
  const auto delta = [&](counter c) {
    return static_cast<double>(to.counts.kernel.value[c] - from.counts.kernel.value[c]);
  };
  const double samples = delta(COUNT_PRODUCED);
  const double others = static_cast<double>(to.bpf_runs - from.bpf_runs) - samples;
  const double own_ns = static_cast<double>(to.bpf_ns - from.bpf_ns) - others * other_tick_ns;
  const double frames = delta(COUNT_USER_FRAMES) + delta(COUNT_KERNEL_FRAMES);
  Print((prefix + "_ns_a_sample").c_str(), Ratio(own_ns, samples));
  Print((prefix + "_ns_a_frame").c_str(), Ratio(own_ns, frames));
  Print((prefix + "_frames_a_sample").c_str(), Ratio(frames, samples));
}

void PrintAgent(const std::string& prefix, const Reading& from, const Reading& to) {
  const auto cpu = static_cast<double>(to.cpu_ns - from.cpu_ns);
  const auto samples = static_cast<double>(to.counts.loop.samples - from.counts.loop.samples);
  Print((prefix + "_us_a_sample").c_str(), Ratio(cpu / kNsPerUs, samples));
  Print((prefix + "_cpu_percent").c_str(),
        Ratio(100 * cpu, static_cast<double>(to.time_ns - from.time_ns)));
}

void PrintStacks(const SessionCounts& counts, uint64_t batch_bytes, uint64_t batch_samples) {
  uint64_t complete = 0, with_stack = 0;
  for (uint32_t end = 0; end < END_REASON_COUNT; ++end) {
    if (IsCompleteEnd(end)) complete += counts.loop.ends[end];
    if (HasUserStack(end)) with_stack += counts.loop.ends[end];
  }
  Print("samples", static_cast<double>(counts.loop.samples));
  Print("lost", static_cast<double>(counts.loop.lost));
  Print("complete_percent",
        Ratio(100.0 * static_cast<double>(complete), static_cast<double>(with_stack)));
  Print("finished_here", static_cast<double>(counts.loop.finished_here));
  Print("names_resolved", static_cast<double>(counts.frames.resolved));
  Print("batch_bytes_a_sample",
        Ratio(static_cast<double>(batch_bytes), static_cast<double>(batch_samples)));
}

void PrintMemory(const SessionCounts& counts, uint64_t anonymous_kib) {
  constexpr double kKibPerMb = 1024, kBytesPerMb = 1 << 20;
  Print("peak_resident_mb", static_cast<double>(StatusKiB("VmHWM")) / kKibPerMb);
  Print("anonymous_mb", static_cast<double>(anonymous_kib) / kKibPerMb);
  Print("map_mb", static_cast<double>(counts.map_bytes) / kBytesPerMb);
  Print("unwind_pages", static_cast<double>(counts.tables.pages));
}

int Fail(const absl::Status& status, int code) {
  fmt::print(stderr, "cost_of_sampling: {}\n", std::string(status.message()));
  return code;
}

int Measure(const Options& options, ChildProgram& child, SamplingSession& session,
            const uint64_t& batch_bytes, const uint64_t& batch_samples) {
  if (absl::Status s = session.sampler().targets().AddPid(0, static_cast<uint32_t>(child.pid()));
      !s.ok())
    return Fail(s, 1);
  if (options.pid != 0)
    if (absl::Status s = session.sampler().targets().AddPid(0, options.pid); !s.ok())
      return Fail(s, 1);
  if (absl::Status s = session.Start(); !s.ok()) return Fail(s, kExitSkipped);
  const Reading before = Read(session);
  Running running{.seal_interval_ns = options.seal_seconds * kNsPerSecond};
  // The child waits: others' ticks only.
  RunUntil(session, nullptr, before.time_ns + kNsPerSecond, &running);
  const Reading start = Read(session);
  if (absl::Status s = child.Release(); !s.ok()) return Fail(s, 2);
  const uint64_t warm = start.time_ns + options.warm_up_seconds * kNsPerSecond;
  RunUntil(session, &child, warm, &running);
  const Reading steady = Read(session);
  RunUntil(session, &child, start.time_ns + options.seconds * kNsPerSecond, &running);
  const Reading end = Read(session);
  session.Stop();
  const double other_tick_ns = Ratio(static_cast<double>(start.bpf_ns - before.bpf_ns),
                                     static_cast<double>(start.bpf_runs - before.bpf_runs));
  Print("bpf_ns_a_tick_of_others", other_tick_ns);
  PrintBpf("bpf_whole", other_tick_ns, start, end);
  PrintBpf("bpf_steady", other_tick_ns, steady, end);
  PrintAgent("agent_whole", start, end);
  PrintAgent("agent_steady", steady, end);
  PrintStacks(session.Counts(), batch_bytes, batch_samples);
  PrintMemory(end.counts, running.anonymous_peak_kib);
  return 0;
}

int Run(const Options& options) {
  if (options.command.empty()) {
    fmt::print(stderr,
               "usage: cost_of_sampling [-F HZ] [-d SECONDS] [-w SECONDS] [-p PID] [-c WHAT] "
               "[-s SECONDS] [-a] CMD ARG...\n");
    return 2;
  }
  absl::StatusOr<std::unique_ptr<ChildProgram>> child = ChildProgram::Fork(options.command, {});
  if (!child.ok()) return Fail(child.status(), 1);
  uint64_t batch_bytes = 0, batch_samples = 0;
  SamplingSettings sampling{.frequency_hz = options.frequency_hz, .timestamps = options.timestamps};
  sampling.context = options.context;
  if (options.context == "labels") sampling.context_labels = {"*"};
  const TargetSettings target{.kind = TargetKind::kProgram, .program = options.command};
  absl::StatusOr<std::unique_ptr<SamplingSession>> session = SamplingSession::Create(
      MakeSessionSettings(sampling, target), [&](const SealedBatchPtr& batch) {
        batch_bytes += batch->bytes.size();
        batch_samples += batch->samples;
      });
  if (!session.ok()) return Fail(session.status(), kExitSkipped);
  if (absl::Status s = (*session)->sampler().targets().AddPids(0, {}, /*inherit=*/true); !s.ok())
    return Fail(s, 1);
  const UniqueFd statistics(bpf_enable_stats(BPF_STATS_RUN_TIME));  // Off again when closed.
  if (!statistics.valid())
    return Fail(absl::UnavailableError("no BPF run time statistics"), kExitSkipped);
  const pid_t pid = (*child)->pid();
  const int code = Measure(options, **child, **session, batch_bytes, batch_samples);
  if (!(*child)->Poll()) kill(pid, SIGKILL);
  return code;
}

}  // namespace
}  // namespace stackray

int main(int argc, char** argv) {
  stackray::KeepHeapSmall();
  return stackray::Run(stackray::ParseOptions(argc, argv));
}
