#include "agent/daemon/envelope_keeper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "agent/log.h"
#include "bpf/shared/unwind_table.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

constexpr uint64_t kLookIntervalNs = 1'000'000'000;
// Of BPF code for a frame, where the kernel does not count: between a deep, warm stack (110) and a
// compiler's (550).
constexpr uint64_t kNsPerFrame = 250;
// And for a wait whose stack is not taken: the switch that begins it, and the one that ends it.
constexpr uint64_t kNsPerWait = 600;
constexpr uint64_t kTablesFillBudgetPercent = 90;

double MiB(uint64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(kMiB); }

uint64_t ProcessCpuNs() {
  timespec cpu = {};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) != 0) return 0;
  return static_cast<uint64_t>(cpu.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(cpu.tv_nsec);
}

EnvelopeBudgets BudgetsOf(const AgentSettings& settings) {
  return {.resident_bytes = settings.memory_budget_bytes,
          .bpf_bytes = settings.bpf_memory_budget_bytes,
          .cpus = settings.cpu_budget_percent / 100};
}

}  // namespace

uint64_t ResidentBytes() {
  const UniqueFd file(open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  char text[128];
  const ssize_t got = file.valid() ? pread(file.get(), text, sizeof(text), 0) : 0;
  const char* const end = text + std::max<ssize_t>(got, 0);
  const char* at = std::find(text, const_cast<char*>(end), ' ');  // Behind the size.
  uint64_t pages = 0;
  if (at == end || std::from_chars(at + 1, end, pages).ec != std::errc()) return 0;
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t TableBytesWithin(uint64_t bpf_budget_bytes, uint64_t fixed_bytes) {
  if (bpf_budget_bytes == 0) return UINT64_MAX;
  constexpr uint64_t kLeastChunks = 2, kSpare = 1;
  constexpr uint64_t kChunkMapBytes = (CHUNK_MAP_BYTES + 4095) / 4096 * 4096;
  const uint64_t usable = bpf_budget_bytes / 100 * kTablesFillBudgetPercent;
  const uint64_t chunks = usable > fixed_bytes ? (usable - fixed_bytes) / kChunkMapBytes : 0;
  return std::max(chunks > kSpare ? chunks - kSpare : 0, kLeastChunks) * CHUNK_BYTES;
}

void EnvelopeKeeper::Configure(const AgentSettings& settings, SamplingSession& session,
                               LocalHistory& history) {
  status_.budgets = BudgetsOf(settings);
  status_.most =
      MostLevels(settings.sampling.frequency_hz, history.memory_bytes() != 0, captures_run_);
  envelope_.Configure(status_.budgets, status_.most);
  if (std::exchange(session_, &session) != &session) seen_run_ns_ = seen_guess_ns_ = 0;
  if (const uint64_t bytes = LimitsOf(session, {}).unwind_table_bytes;
      bytes < settings.sampling.unwind_tables_bytes)
    LogWarning(
        fmt::format("bpf-memory-budget leaves {:.0f} MiB for unwind tables instead of {:.0f}",
                    MiB(bytes), MiB(settings.sampling.unwind_tables_bytes)),
        "bpf-memory-budget");
  Apply(session, history);
}

void EnvelopeKeeper::SetCapturesRun(bool captures_run) {
  if (std::exchange(captures_run_, captures_run) == captures_run) return;
  constexpr auto kCaptures = static_cast<size_t>(EnvelopeStep::kCaptures);
  status_.most[kCaptures] = MostLevels(1, false, captures_run)[kCaptures];
  envelope_.Configure(status_.budgets, status_.most);
  status_.levels = envelope_.levels();
}

SessionLimits EnvelopeKeeper::LimitsOf(const SamplingSession& session,
                                       const StepLevels& levels) const {
  const SessionSettings& full = session.settings();
  const auto level = [&](EnvelopeStep step) { return levels[static_cast<size_t>(step)]; };
  const uint64_t table_bytes =
      std::min(full.unwind_table_bytes,
               TableBytesWithin(status_.budgets.bpf_bytes, session.fixed_map_bytes()));
  const int frequency = level(EnvelopeStep::kFrequency);
  return {.unwind_table_bytes = TableBytesAt(level(EnvelopeStep::kUnwindTables), table_bytes),
          .symbol_cache_bytes = ShareAt(level(EnvelopeStep::kNameCaches), full.symbol_cache_bytes),
          .frequency_hz = FrequencyAt(frequency, full.sampler.frequency_hz),
          .off_cpu_rate = OffCpuRateAt(frequency, full.sampler.off_cpu_rate),
          .frame_pointers = level(EnvelopeStep::kFramePointers) > 0};
}

void EnvelopeKeeper::Apply(SamplingSession& session, LocalHistory& history) {
  status_.levels = envelope_.levels();
  if (absl::Status status = session.Limit(LimitsOf(session, status_.levels)); !status.ok())
    LogWarning("cannot change the sampling frequency: " + std::string(status.message()),
               "frequency");
  status_.limits = session.limits();
  if (const uint64_t bytes = history.memory_bytes(); bytes != 0)
    history.LimitMemory(
        ShareAt(status_.levels[static_cast<size_t>(EnvelopeStep::kHistory)], bytes));
}

// The time that programs have run since the last call is added up; a new session begins at zero.
uint64_t EnvelopeKeeper::BpfNs(SamplingSession& session) {
  uint64_t run_ns = 0;
  for (const Sampler::ProgramCost& cost : session.sampler().ProgramCosts())
    run_ns += cost.run_time_ns;
  const counters counts = session.sampler().Counters();
  const uint64_t frames = counts.value[COUNT_USER_FRAMES] + counts.value[COUNT_KERNEL_FRAMES];
  const uint64_t guess_ns = frames * kNsPerFrame + counts.value[COUNT_WAITS] * kNsPerWait;
  bpf_ns_ +=
      run_ns > seen_run_ns_ ? run_ns - seen_run_ns_ : guess_ns - std::min(guess_ns, seen_guess_ns_);
  seen_run_ns_ = run_ns;
  seen_guess_ns_ = guess_ns;
  return bpf_ns_;
}

void EnvelopeKeeper::Look(uint64_t now_ns, uint64_t left_out_cpu_ns, SamplingSession& session,
                          LocalHistory& history) {
  if (now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + std::min(kLookIntervalNs, timings_.short_window_ns / 5);
  const uint64_t cpu_ns = ProcessCpuNs();
  usage_ = {.resident_bytes = ResidentBytes(),
            .bpf_bytes = session.map_bytes(),
            .cpu_ns = cpu_ns - std::min(cpu_ns, left_out_cpu_ns) + BpfNs(session)};
  const StepLevels before = envelope_.levels();
  const SessionLimits limits = session.limits();
  const bool changed = envelope_.Decide(usage_, now_ns);
  status_.cpus = envelope_.cpus();
  const bool was_exhausted = std::exchange(status_.exhausted, envelope_.exhausted());
  if (changed) {
    Apply(session, history);
    malloc_trim(0);
    LogChange(limits, before);
    if (envelope_.levels() > before) ++status_.given_up;
  }
  if (status_.exhausted && !was_exhausted)
    LogWarning(fmt::format("a budget is short and nothing is left to be given up: {}", Usage()),
               "exhausted");
}

std::string EnvelopeKeeper::Usage() const {
  return fmt::format(
      "resident memory {:.1f} MiB of {:.0f}, BPF memory {:.1f} of {:.0f}, CPU {:.1f} % of {:.0f}",
      MiB(usage_.resident_bytes), MiB(status_.budgets.resident_bytes), MiB(usage_.bpf_bytes),
      MiB(status_.budgets.bpf_bytes), 100 * status_.cpus, 100 * status_.budgets.cpus);
}

// One line for all that changed at once.
void EnvelopeKeeper::LogChange(const SessionLimits& before, const StepLevels& levels_before) const {
  const SessionLimits& now = status_.limits;
  std::vector<std::string> changes;
  if (now.unwind_table_bytes != before.unwind_table_bytes)
    changes.push_back(fmt::format("unwind tables {:.0f} MiB", MiB(now.unwind_table_bytes)));
  if (now.frame_pointers != before.frame_pointers)
    changes.emplace_back(now.frame_pointers ? "frame pointers where tables are missing"
                                            : "stack slices where tables are missing");
  if (now.frequency_hz != before.frequency_hz)
    changes.push_back(
        fmt::format("{:.4g} Hz instead of {:.4g}", now.frequency_hz, before.frequency_hz));
  if (now.off_cpu_rate != before.off_cpu_rate && session_->settings().sampler.off_cpu)
    changes.push_back(fmt::format("{} stacks of waits a second and CPU instead of {}",
                                  now.off_cpu_rate, before.off_cpu_rate));
  if (now.symbol_cache_bytes != before.symbol_cache_bytes)
    changes.push_back(fmt::format("name caches {:.2f} MiB", MiB(now.symbol_cache_bytes)));
  const auto captures = static_cast<size_t>(EnvelopeStep::kCaptures);
  if (status_.levels[captures] != levels_before[captures])
    changes.push_back(fmt::format("1/{} of the captures' rates", 1 << status_.levels[captures]));
  const auto history = static_cast<size_t>(EnvelopeStep::kHistory);
  if (status_.levels[history] != levels_before[history])
    changes.push_back(fmt::format("1/{} of the history", 1 << status_.levels[history]));
  if (changes.empty()) return;  // A level that means no less than the one before it.
  const std::string text = fmt::format("{}", fmt::join(changes, ", "));
  if (status_.levels > levels_before) {
    LogWarning(fmt::format("{} is near its budget: from now on {} ({})",
                           ResourceName(envelope_.reason()), text, Usage()),
               ResourceName(envelope_.reason()));
  } else {
    LogInfo(fmt::format("there is room again: from now on {} ({})", text, Usage()), "room");
  }
}

}  // namespace stackray
