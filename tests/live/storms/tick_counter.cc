#include "tests/live/storms/tick_counter.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "bpf/tick_counter.skel.h"

namespace stackray::test {

absl::StatusOr<std::unique_ptr<TickCounter>> TickCounter::Start(double frequency_hz) {
  std::unique_ptr<TickCounter> counter(new TickCounter());
  counter->skeleton_ = tick_counter_bpf__open_and_load();
  if (counter->skeleton_ == nullptr)
    return absl::FailedPreconditionError(
        fmt::format("cannot load the tick counter: {}", strerror(errno)));
  counter->clocks_ = std::make_unique<PerfEvents>(counter->skeleton_->progs.count_tick,
                                                  EventKind::kCpuClock, ClockPeriod(frequency_hz));
  if (absl::Status status = counter->clocks_->Follow(); !status.ok()) return status;
  return counter;
}

TickCounter::~TickCounter() {
  clocks_.reset();
  tick_counter_bpf__destroy(skeleton_);
}

absl::StatusOr<std::map<std::string, ExpectedSamples>> TickCounter::Counts() const {
  if (const uint64_t lost = skeleton_->bss->uncounted; lost != 0)
    return absl::ResourceExhaustedError(fmt::format("{} ticks were not counted", lost));
  std::map<std::string, ExpectedSamples> counts;
  const int map = bpf_map__fd(skeleton_->maps.ticks);
  tick_who who = {}, next = {};
  const tick_who* after = nullptr;
  for (; bpf_map_get_next_key(map, after, &next) == 0; who = next, after = &who) {
    tick_count ticks = {};
    if (bpf_map_lookup_elem(map, &next, &ticks) != 0) continue;
    ExpectedSamples& sum = counts[std::string(next.command, strnlen(next.command, 16))];
    ++sum.processes;
    sum.ticks.user += ticks.user;
    sum.ticks.kernel += ticks.kernel;
    sum.ticks.in_exec += ticks.in_exec;
    sum.ticks.no_memory += ticks.no_memory;
  }
  return counts;
}

}  // namespace stackray::test
