#include "agent/envelope/envelope.h"

#include <algorithm>
#include <utility>

namespace stackray {
namespace {

constexpr double kShortAt = 0.9;    // Of a budget: something has to go.
constexpr double kRoomBelow = 0.7;  // Of a budget: something may come back.
constexpr double kEnoughCpu =
    0.8;  // Of the CPU's budget: steps are taken at once until this is expected.
constexpr double kAhead = 2;                              // Short windows that are looked ahead.
constexpr int kMostDoublings = 6;                         // Of the wait.
constexpr uint64_t kLeastTableBytes = uint64_t{2} << 20;  // RowStore has two chunks at least.
constexpr StepLevels kMost = {3, 4, 1, 4, 1, 2};

struct StepFacts {
  std::string_view name;
  unsigned relieves;    // Bits of BudgetedResource.
  double cpu_left = 1;  // Of the CPU time, by experience, after one level.
};
constexpr unsigned Bit(BudgetedResource resource) { return 1u << static_cast<unsigned>(resource); }
constexpr StepFacts kSteps[kEnvelopeSteps] = {
    {"unwind tables", Bit(BudgetedResource::kResident) | Bit(BudgetedResource::kBpfMemory)},
    {"captures", Bit(BudgetedResource::kCpu), 0.7},
    {"frame pointers", Bit(BudgetedResource::kCpu), 0.8},
    {"frequency", Bit(BudgetedResource::kCpu), 0.5},
    {"name caches", Bit(BudgetedResource::kResident)},
    {"history", Bit(BudgetedResource::kResident)},
};
constexpr BudgetedResource kResources[] = {BudgetedResource::kResident,
                                           BudgetedResource::kBpfMemory, BudgetedResource::kCpu};

double Share(double used, double budget) { return budget > 0 ? used / budget : 0; }

}  // namespace

std::string_view ResourceName(BudgetedResource resource) {
  switch (resource) {
    case BudgetedResource::kResident: return "resident memory";
    case BudgetedResource::kBpfMemory: return "BPF memory";
    case BudgetedResource::kCpu: return "CPU";
  }
  return "";
}

std::string_view StepName(EnvelopeStep step) { return kSteps[static_cast<size_t>(step)].name; }

Envelope::Envelope(const EnvelopeBudgets& budgets, const StepLevels& most,
                   const EnvelopeTimings& timings)
    : budgets_(budgets), most_(most), timings_(timings) {
  for (Times& times : times_) times.calm_ns = timings.calm_ns;
}

void Envelope::Configure(const EnvelopeBudgets& budgets, const StepLevels& most) {
  budgets_ = budgets;
  most_ = most;
  for (Times& times : times_) times.calm_ns = timings_.calm_ns;
  for (size_t i = 0; i < kEnvelopeSteps; ++i) levels_[i] = std::min(levels_[i], most_[i]);
}

// Time before the first moment counts as idle.
double Envelope::CpusSince(uint64_t since_ns, uint64_t now_ns, uint64_t length_ns) const {
  const auto first = std::ranges::find_if(
      moments_, [&](const Moment& moment) { return moment.time_ns >= since_ns; });
  if (first == moments_.end() || now_ns <= since_ns) return 0;
  const uint64_t length = std::max(length_ns, now_ns - first->time_ns);
  return static_cast<double>(moments_.back().cpu_ns - first->cpu_ns) / static_cast<double>(length);
}

void Envelope::Measure(const EnvelopeUsage& usage, uint64_t now_ns) {
  usage_ = usage;
  usage_.cpu_ns = std::max(usage.cpu_ns, moments_.empty() ? 0 : moments_.back().cpu_ns);
  moments_.push_back({now_ns, usage_.cpu_ns});
  // One moment that is as old as the window stays.
  while (moments_.size() > 2 && moments_[1].time_ns + timings_.cpu_window_ns <= now_ns)
    moments_.pop_front();
  const auto before = [&](uint64_t length) { return now_ns > length ? now_ns - length : 0; };
  window_cpus_ = CpusSince(0, now_ns, timings_.cpu_window_ns);
  const uint64_t changed_ns = times_[static_cast<size_t>(BudgetedResource::kCpu)].given_up_ns;
  short_cpus_ = CpusSince(std::max(before(timings_.short_window_ns), changed_ns), now_ns,
                          timings_.short_window_ns);
}

double Envelope::used_share(BudgetedResource resource) const {
  switch (resource) {
    case BudgetedResource::kResident:
      return Share(static_cast<double>(usage_.resident_bytes),
                   static_cast<double>(budgets_.resident_bytes));
    case BudgetedResource::kBpfMemory:
      return Share(static_cast<double>(usage_.bpf_bytes), static_cast<double>(budgets_.bpf_bytes));
    case BudgetedResource::kCpu: return Share(window_cpus_, budgets_.cpus);
  }
  return 0;
}

// CPU: at the rate of now the window's allowance would soon be used up.
bool Envelope::IsShort(BudgetedResource resource) const {
  if (resource != BudgetedResource::kCpu) return used_share(resource) > kShortAt;
  if (budgets_.cpus <= 0 || short_cpus_ < kShortAt * budgets_.cpus) return false;
  const auto window = static_cast<double>(timings_.cpu_window_ns);
  const double soon =
      window_cpus_ * window + short_cpus_ * kAhead * static_cast<double>(timings_.short_window_ns);
  return soon > kShortAt * budgets_.cpus * window;
}

bool Envelope::HasRoom(BudgetedResource resource) const {
  if (resource == BudgetedResource::kCpu)
    return budgets_.cpus <= 0 || window_cpus_ < kRoomBelow * budgets_.cpus;
  // The tables have a bound of their own inside this budget (EnvelopeKeeper), and may fill it.
  if (resource == BudgetedResource::kBpfMemory) return used_share(resource) <= kShortAt;
  return used_share(resource) < kRoomBelow;
}

// There has been room for all that this step relieves, and no change, for long enough.
bool Envelope::IsCalm(size_t step, uint64_t now_ns) const {
  for (size_t i = 0; i < kBudgetedResources; ++i) {
    const Times& times = times_[i];
    const uint64_t since = std::max({times.given_up_ns, times.taken_back_ns, times.tight_ns});
    if ((kSteps[step].relieves & Bit(kResources[i])) != 0 && now_ns < since + times.calm_ns)
      return false;
  }
  return true;
}

bool Envelope::CanGiveUp(BudgetedResource resource) const {
  for (size_t i = 0; i < kEnvelopeSteps; ++i)
    if ((kSteps[i].relieves & Bit(resource)) != 0 && levels_[i] < most_[i]) return true;
  return false;
}

bool Envelope::StepUp(BudgetedResource resource, double* expected_cpus) {
  for (size_t i = 0; i < kEnvelopeSteps; ++i) {
    if ((kSteps[i].relieves & Bit(resource)) == 0 || levels_[i] >= most_[i]) continue;
    ++levels_[i];
    *expected_cpus *= kSteps[i].cpu_left;
    return true;
  }
  return false;
}

// Memory: one level, and then a look at what it brought. CPU: as many as the rate of now needs,
// because what is used is used.
bool Envelope::GiveUp(BudgetedResource resource, uint64_t now_ns) {
  Times& times = times_[static_cast<size_t>(resource)];
  if (times.given_up_ns != 0 && now_ns < times.given_up_ns + timings_.short_window_ns) return false;
  double expected = short_cpus_;
  const bool any = StepUp(resource, &expected);
  while (any && resource == BudgetedResource::kCpu && expected > kEnoughCpu * budgets_.cpus)
    if (!StepUp(resource, &expected)) break;
  if (!any) return false;
  reason_ = resource;
  const bool soon = times.taken_back_ns != 0 && now_ns < times.taken_back_ns + 2 * times.calm_ns;
  times.calm_ns =
      soon ? std::min(2 * times.calm_ns, timings_.calm_ns << kMostDoublings) : timings_.calm_ns;
  times.given_up_ns = now_ns;
  return true;
}

// The last step first; CPU: as much as leaves room for what it will cost again.
bool Envelope::TakeBack(uint64_t now_ns) {
  double expected = window_cpus_;
  unsigned relieved = 0;  // By what comes back.
  bool memory = false;
  for (size_t i = kEnvelopeSteps; i-- > 0;) {
    const bool for_cpu = kSteps[i].relieves == Bit(BudgetedResource::kCpu);
    while (levels_[i] > 0 && IsCalm(i, now_ns)) {
      expected /= kSteps[i].cpu_left;
      if (for_cpu && budgets_.cpus > 0 && expected >= kRoomBelow * budgets_.cpus) break;
      if (!for_cpu && std::exchange(memory, true))
        break;  // One level, and a look at what it costs.
      --levels_[i];
      relieved |= kSteps[i].relieves;
    }
  }
  for (size_t i = 0; i < kBudgetedResources; ++i)
    if ((relieved & Bit(kResources[i])) != 0) times_[i].taken_back_ns = now_ns;
  return relieved != 0;
}

bool Envelope::Decide(const EnvelopeUsage& usage, uint64_t now_ns) {
  Measure(usage, now_ns);
  exhausted_ = false;
  bool gave_up = false;
  for (size_t i = 0; i < kBudgetedResources; ++i) {
    const BudgetedResource resource = kResources[i];
    if (!HasRoom(resource)) times_[i].tight_ns = now_ns;
    if (!IsShort(resource)) continue;
    exhausted_ |= !CanGiveUp(resource);
    if (!gave_up) gave_up = GiveUp(resource, now_ns);  // One a look, for one reason.
  }
  return gave_up || TakeBack(now_ns);
}

StepLevels MostLevels(double frequency_hz, bool history_in_memory, bool captures_run) {
  StepLevels most = kMost;
  int& frequency = most[static_cast<size_t>(EnvelopeStep::kFrequency)];
  while (frequency > 0 && FrequencyAt(frequency, frequency_hz) < 1) --frequency;
  if (!captures_run) most[static_cast<size_t>(EnvelopeStep::kCaptures)] = 0;
  if (!history_in_memory) most[static_cast<size_t>(EnvelopeStep::kHistory)] = 0;
  return most;
}

uint64_t TableBytesAt(int level, uint64_t configured_bytes) {
  const uint64_t bytes = level >= 3 ? kLeastTableBytes : configured_bytes >> level;
  return std::min(configured_bytes, std::max(bytes, kLeastTableBytes));
}
double FrequencyAt(int level, double configured_hz) { return configured_hz / (1 << level); }
uint32_t OffCpuRateAt(int level, uint32_t configured) {
  return std::max(configured >> level, std::min(configured, 1u));
}
uint64_t ShareAt(int level, uint64_t configured) { return configured >> level; }

}  // namespace stackray
