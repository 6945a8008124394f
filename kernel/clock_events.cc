#include "kernel/clock_events.h"

#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "kernel/cpu_list.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

uint64_t PeriodNs(double frequency_hz) { return static_cast<uint64_t>(1e9 / frequency_hz); }

}  // namespace

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
  return online.ok() ? Follow(*online) : online.status();
}

absl::Status ClockEvents::Follow(std::span<const int> online) {
  for (auto it = clocks_.begin(); it != clocks_.end();) {
    if (std::ranges::find(online, it->first) != online.end()) {
      ++it;
      continue;
    }
    bpf_link__destroy(it->second.link);
    it = clocks_.erase(it);
  }
  for (int cpu : online) {
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
