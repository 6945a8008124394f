#include "kernel/perf_events.h"

#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "bpf/shared/records.h"
#include "kernel/cpu_list.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

constexpr uint64_t kSlotMask = EVENT_SLOT_MASK;

// What the event is opened with. A clock's period is then set to the nanosecond; the program goes
// on seeing this one. A page-fault counter's program sees the period that the counter has.
uint64_t OpeningPeriod(EventKind kind, uint64_t period, uint32_t slot) {
  if (kind == EventKind::kPageFaults) return ClosestPageFaultPeriod(period);
  return std::max<uint64_t>(period & ~kSlotMask, kSlotMask + 1) | slot;
}

perf_event_attr AttributesOf(EventKind kind, uint64_t period, uint32_t slot) {
  perf_event_attr attributes = {};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config =
      kind == EventKind::kCpuClock ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_PAGE_FAULTS;
  attributes.sample_period = OpeningPeriod(kind, period, slot);
  attributes.exclude_idle = 1;  // Else idle CPUs deliver ticks of pid 0.
  return attributes;
}

const char* NameOf(EventKind kind) {
  return kind == EventKind::kCpuClock ? "clock" : "page-fault counter";
}

}  // namespace

uint64_t ClosestPageFaultPeriod(uint64_t period) {
  if (period <= EVENT_SLOT_PAGE_FAULTS) return EVENT_SLOT_PAGE_FAULTS;
  return ((period - EVENT_SLOT_PAGE_FAULTS + (kSlotMask + 1) / 2) & ~kSlotMask) +
         EVENT_SLOT_PAGE_FAULTS;
}

PerfEvents::PerfEvents(bpf_program* program, EventKind kind, uint64_t period, uint32_t slot)
    : program_(program), kind_(kind), slot_(slot), period_(period) {}

PerfEvents::~PerfEvents() { Stop(); }

absl::Status PerfEvents::Open(int cpu) {
  perf_event_attr attributes = AttributesOf(kind_, period_, slot_);
  UniqueFd event(static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!event.valid()) {
    if (errno == ENODEV || errno == ENXIO) return absl::OkStatus();  // It went offline meanwhile.
    return absl::FailedPreconditionError(
        absl::StrCat("perf_event_open on CPU ", cpu, ": ", strerror(errno),
                     ". Sampling needs root, or CAP_PERFMON; inside a container also a seccomp "
                     "profile that allows perf_event_open. `stackray doctor` tells more."));
  }
  if (kind_ == EventKind::kCpuClock && attributes.sample_period != period_ &&
      ioctl(event.get(), PERF_EVENT_IOC_PERIOD, &period_) != 0)
    return absl::OkStatus();  // It is going offline.
  bpf_link* link = bpf_program__attach_perf_event(program_, event.get());
  if (link == nullptr)
    return absl::FailedPreconditionError(
        absl::StrCat("cannot attach to CPU ", cpu, "'s ", NameOf(kind_), ": ", strerror(errno)));
  events_[cpu] = {link, event.release()};  // The link closes it.
  return absl::OkStatus();
}

absl::Status PerfEvents::Follow() {
  absl::StatusOr<std::vector<int>> online = OnlineCpus();
  return online.ok() ? Follow(*online) : online.status();
}

absl::Status PerfEvents::Follow(std::span<const int> online) {
  for (auto it = events_.begin(); it != events_.end();) {
    if (std::ranges::find(online, it->first) != online.end()) {
      ++it;
      continue;
    }
    bpf_link__destroy(it->second.link);
    it = events_.erase(it);
  }
  for (int cpu : online) {
    if (events_.contains(cpu)) continue;
    if (absl::Status status = Open(cpu); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// PERF_EVENT_IOC_PERIOD stops the event on its CPU, sets the period and starts it (since Linux
// 3.14, kernel/events/core.c: __perf_event_period). A CPU that is just going away refuses and is
// left to Follow().
absl::Status PerfEvents::SetPeriod(uint64_t period) {
  period_ = period;
  bool dropped = false;
  for (auto it = events_.begin(); it != events_.end();) {
    if (ioctl(it->second.event_fd, PERF_EVENT_IOC_PERIOD, &period_) == 0) {
      ++it;
      continue;
    }
    bpf_link__destroy(it->second.link);
    it = events_.erase(it);
    dropped = true;
  }
  return dropped ? Follow() : absl::OkStatus();
}

void PerfEvents::Stop() {
  for (auto& [cpu, event] : events_) bpf_link__destroy(event.link);
  events_.clear();
}

}  // namespace stackray
