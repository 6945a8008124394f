// Blocked threads whose stack was not taken when they left their CPU: before waits were followed,
// or because it was not chosen. The kernel's list (bpf/waiting_list.h) has their registers and the
// kernel's part of their stacks; the user part is walked here, over their memory, with the walk of
// a first touch (symbolizer/unwind/sample_walk.h). Interpreters are not asked for their frames:
// their C functions stand in the place of these.
//
// Input:   records of the kernel's list, and memory of foreign processes, which may change or go
//          while it is read. A thread that comes back meanwhile is recognised by the caller
//          (Sampler::WaitsSince()), and what was read of it thrown away.
// Cost:    some 30 µs a thread, and one look at a process's mappings. Walks end altogether after
//          `most_time`; later threads have the kernel's part of their stacks alone.
// Memory:  the mappings of some processes, and one stack.
// Threads: one.
#ifndef STACKRAY_AGENT_SAMPLING_EARLIER_WAITS_H_
#define STACKRAY_AGENT_SAMPLING_EARLIER_WAITS_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "agent/sampling/ring_intake.h"
#include "symbolizer/unwind/sample_walk.h"

namespace stackray {

class EarlierWaits {
 public:
  static constexpr absl::Duration kMostTime = absl::Seconds(2);

  // `walk` outlives this, and nobody else uses it meanwhile.
  explicit EarlierWaits(SampleWalk& walk, absl::Duration most_time = kMostTime)
      : walk_(walk), most_time_(most_time) {}

  // One record of the list; calls `take` with it and its finished walk.
  void Take(std::span<const uint8_t> bytes, const RingIntake::Take& take);
  uint64_t stacks() const { return stacks_; }

 private:
  const std::vector<code_range>& RangesOf(const ProcessId& process);
  WalkResult Walk(const RawSample& sample);

  SampleWalk& walk_;
  const absl::Duration most_time_;
  // By pid, of this start and program.
  absl::flat_hash_map<uint32_t, std::pair<ProcessId, std::vector<code_range>>> ranges_;
  std::vector<uint8_t> slice_;
  uint64_t stacks_ = 0;
  absl::Time end_ = absl::InfiniteFuture();
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_EARLIER_WAITS_H_
