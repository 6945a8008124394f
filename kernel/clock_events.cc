#include "kernel/clock_events.h"

#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernel/text.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

constexpr int kMaxCpus = 8192;

bool ParseNumber(std::string_view text, int* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && *value >= 0 &&
         *value < kMaxCpus;
}

absl::StatusOr<std::vector<int>> ReadCpuList(const char* path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return absl::UnavailableError(absl::StrCat("cannot read ", path));
  return ParseCpuList(line);
}

uint64_t PeriodNs(double frequency_hz) { return static_cast<uint64_t>(1e9 / frequency_hz); }

}  // namespace

absl::StatusOr<std::vector<int>> ParseCpuList(std::string_view text) {
  std::vector<int> cpus;
  while (text.ends_with('\n')) text.remove_suffix(1);
  for (std::string_view part : Split(text, ',')) {
    const std::vector<std::string_view> ends = Split(part, '-', 2);
    int first = 0, last = 0;
    if (!ParseNumber(ends[0], &first)) return absl::DataLossError("not a list of CPUs");
    last = first;
    if (ends.size() == 2 && (!ParseNumber(ends[1], &last) || last < first))
      return absl::DataLossError("not a list of CPUs");
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (cpus.size() > kMaxCpus) return absl::DataLossError("more CPUs than there can be");
  }
  return cpus;
}

absl::StatusOr<std::vector<int>> OnlineCpus() {
  return ReadCpuList("/sys/devices/system/cpu/online");
}

absl::StatusOr<int> PossibleCpuCount() {
  absl::StatusOr<std::vector<int>> cpus = ReadCpuList("/sys/devices/system/cpu/possible");
  if (!cpus.ok()) return cpus.status();
  return *std::max_element(cpus->begin(), cpus->end()) + 1;
}

ClockEvents::ClockEvents(bpf_program* program, double frequency_hz)
    : program_(program), period_ns_(PeriodNs(frequency_hz)) {}

ClockEvents::~ClockEvents() { Stop(); }

absl::Status ClockEvents::Open(int cpu) {
  perf_event_attr attributes = {};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.sample_period = period_ns_;
  attributes.exclude_idle = 1;  // Else idle CPUs deliver ticks of pid 0.
  UniqueFd event(static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!event.valid()) {
    if (errno == ENODEV || errno == ENXIO) return absl::OkStatus();  // It went offline meanwhile.
    return absl::FailedPreconditionError(
        absl::StrCat("perf_event_open on CPU ", cpu, ": ", strerror(errno),
                     ". Sampling needs root, or CAP_PERFMON; inside a container also a seccomp "
                     "profile that allows perf_event_open. `stackray doctor` tells more."));
  }
  bpf_link* link = bpf_program__attach_perf_event(program_, event.get());
  if (link == nullptr)
    return absl::FailedPreconditionError(
        absl::StrCat("cannot attach to CPU ", cpu, "'s clock: ", strerror(errno)));
  clocks_[cpu] = {link, event.release()};  // The link closes it.
  return absl::OkStatus();
}

absl::Status ClockEvents::Follow() {
  absl::StatusOr<std::vector<int>> online = OnlineCpus();
  if (!online.ok()) return online.status();
  for (auto it = clocks_.begin(); it != clocks_.end();) {
    if (std::find(online->begin(), online->end(), it->first) != online->end()) {
      ++it;
      continue;
    }
    bpf_link__destroy(it->second.link);
    it = clocks_.erase(it);
  }
  for (int cpu : *online) {
    if (clocks_.contains(cpu)) continue;
    if (absl::Status status = Open(cpu); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// PERF_EVENT_IOC_PERIOD stops the clock on its CPU, sets the period and starts it (since Linux 3.14,
// kernel/events/core.c: __perf_event_period). A CPU that is just going away refuses and is left to Follow().
absl::Status ClockEvents::SetFrequency(double frequency_hz) {
  period_ns_ = PeriodNs(frequency_hz);
  bool dropped = false;
  for (auto it = clocks_.begin(); it != clocks_.end();) {
    if (ioctl(it->second.event_fd, PERF_EVENT_IOC_PERIOD, &period_ns_) == 0) {
      ++it;
      continue;
    }
    bpf_link__destroy(it->second.link);
    it = clocks_.erase(it);
    dropped = true;
  }
  return dropped ? Follow() : absl::OkStatus();
}

void ClockEvents::Stop() {
  for (auto& [cpu, clock] : clocks_) bpf_link__destroy(clock.link);
  clocks_.clear();
}

}  // namespace stackray
