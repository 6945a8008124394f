// Decides what the agent does without, so that it stays inside its budgets of memory, BPF memory
// and CPU: takes numbers, says levels, does nothing itself.
//
// What gives way, in this order, each only when it helps against what is short:
//
//   1 unwind tables   resident and BPF memory   1/2, 1/4, then 2 MiB: what is evicted is asked for
//   again
//   2 captures        CPU                       1/2, 1/4, 1/8, 1/16 of their rates
//   3 frame pointers  CPU                       no stack slices, nothing is loaded ahead
//   4 frequency       CPU                       1/2, 1/4, 1/8, 1/16, never below 1 Hz; stacks of
//   waits with it
//   5 name caches     resident memory           1/2 (source lines too): less, and all is read again
//   and again
//   6 history         resident memory           1/2, 1/4 of one that is kept in memory
//
// It comes back in the opposite order, once there has been room for some time
// (EnvelopeTimings::calm). Where what came back had to go again soon, the next wait is twice as
// long.
//
// Threads: one.
#ifndef STACKRAY_AGENT_ENVELOPE_ENVELOPE_H_
#define STACKRAY_AGENT_ENVELOPE_ENVELOPE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>

namespace stackray {

enum class BudgetedResource { kResident, kBpfMemory, kCpu };
inline constexpr size_t kBudgetedResources = 3;
std::string_view ResourceName(BudgetedResource resource);  // "resident memory".

enum class EnvelopeStep {
  kUnwindTables,
  kCaptures,
  kFramePointers,
  kFrequency,
  kNameCaches,
  kHistory
};
inline constexpr size_t kEnvelopeSteps = 6;
std::string_view StepName(EnvelopeStep step);  // "unwind tables".

// How far each step is taken; 0: not at all.
using StepLevels = std::array<int, kEnvelopeSteps>;

// 0: no budget.
struct EnvelopeBudgets {
  uint64_t resident_bytes = 0, bpf_bytes = 0;
  double cpus = 0;  // CPU time per time: 0.5 is half of one CPU.

  friend bool operator==(const EnvelopeBudgets&, const EnvelopeBudgets&) = default;
};

struct EnvelopeUsage {
  uint64_t resident_bytes = 0, bpf_bytes = 0;
  uint64_t cpu_ns = 0;  // Since some moment; never less than before.
};

struct EnvelopeTimings {
  uint64_t cpu_window_ns = 60'000'000'000;  // The CPU's budget holds over any so long time.
  uint64_t short_window_ns =
      5'000'000'000;  // The rate of now; also the time that a step has to show an effect.
  uint64_t calm_ns = 60'000'000'000;  // Of room, before something comes back.
};

class Envelope {
 public:
  // `most`: how far each step can go here; see MostLevels().
  Envelope(const EnvelopeBudgets& budgets, const StepLevels& most,
           const EnvelopeTimings& timings = {});

  // Other budgets or another `most`; what has been given up stays so until it may come back.
  void Configure(const EnvelopeBudgets& budgets, const StepLevels& most);

  // Call it about once a second, with a clock that does not jump. True: levels() have changed.
  bool Decide(const EnvelopeUsage& usage, uint64_t now_ns);

  const StepLevels& levels() const { return levels_; }
  const EnvelopeBudgets& budgets() const { return budgets_; }
  // Of the last Decide(): the share of each budget that is used (1: all); 0 without a budget. CPU:
  // over the window.
  double used_share(BudgetedResource resource) const;
  // What something was given up for last.
  BudgetedResource reason() const { return reason_; }
  // A budget is short, and there is no step left that would help.
  bool exhausted() const { return exhausted_; }
  double cpus() const { return window_cpus_; }  // Over the window.

 private:
  struct Moment {
    uint64_t time_ns, cpu_ns;
  };
  double CpusSince(uint64_t since_ns, uint64_t now_ns, uint64_t length_ns) const;
  void Measure(const EnvelopeUsage& usage, uint64_t now_ns);
  bool IsShort(BudgetedResource resource) const;
  bool HasRoom(BudgetedResource resource) const;
  bool IsCalm(size_t step, uint64_t now_ns) const;
  bool CanGiveUp(BudgetedResource resource) const;
  bool GiveUp(BudgetedResource resource, uint64_t now_ns);
  bool TakeBack(uint64_t now_ns);
  bool StepUp(BudgetedResource resource, double* expected_cpus);

  EnvelopeBudgets budgets_;
  StepLevels most_;
  const EnvelopeTimings timings_;
  StepLevels levels_{};
  std::deque<Moment> moments_;  // Of the window, oldest first.
  EnvelopeUsage usage_;
  double window_cpus_ = 0, short_cpus_ = 0;
  // When it happened last, of one resource; 0: never.
  struct Times {
    uint64_t given_up_ns = 0, taken_back_ns = 0;
    uint64_t tight_ns = 0;  // There was no room.
    uint64_t calm_ns = 0;   // The wait until something comes back.
  };
  std::array<Times, kBudgetedResources> times_{};
  BudgetedResource reason_ = BudgetedResource::kResident;
  bool exhausted_ = false;
};

// The levels that make sense: the frequency does not go below 1 Hz, only a history in memory is
// cut, and only captures that run are slowed down.
StepLevels MostLevels(double frequency_hz, bool history_in_memory, bool captures_run = false);

// What a level means.
uint64_t TableBytesAt(int level, uint64_t configured_bytes);
double FrequencyAt(int level, double configured_hz);
// Stacks of waits fall with the frequency, to one a second at the lowest. 0 stays 0: there are
// none.
uint32_t OffCpuRateAt(int level, uint32_t configured);
uint64_t ShareAt(int level, uint64_t configured);  // Halved `level` times.

}  // namespace stackray

#endif  // STACKRAY_AGENT_ENVELOPE_ENVELOPE_H_
