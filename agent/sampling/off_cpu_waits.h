// Waits that are not over: the stacks that threads left their CPUs with, kept until they run again.
//
// A wait enters the batches in parts. When it ends, what it waited for is known: blocked until the
// wakeup, then in the run queue; or preempted. A wait that is open when a batch is sealed gives
// that batch what it has lasted since the last one, so that a thread that waits for ever is in
// every batch, and no nanosecond is in two. Names are asked for when a part is made, in the batch
// that is open then.
//
// Input:   records that DecodeRecord() has checked; ends without a begin, begins without an end and
//          threads that wait twice are normal, because records are lost when the ring is full.
// Memory:  some 500 bytes a wait, up to the limits. What is beyond them is refused, and the caller
// counts it. Threads: one (the sample loop's).
#ifndef STACKRAY_AGENT_SAMPLING_OFF_CPU_WAITS_H_
#define STACKRAY_AGENT_SAMPLING_OFF_CPU_WAITS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "absl/container/flat_hash_map.h"
#include "agent/sampling/wait_accounts.h"
#include "kernel/raw_sample.h"
#include "profile/sample_types.h"

namespace stackray {

// Of one thread. Valid during the call that hands it over.
struct OpenWait {
  process_key process = {};
  uint32_t tid = 0, cpu = 0;
  char leader_command[COMMAND_BYTES] = {}, thread_command[COMMAND_BYTES] = {};
  uint64_t out_ns = 0;      // When it began.
  uint64_t shipped_ns = 0;  // Until then it is in batches.
  uint32_t end = 0;         // enum end_reason.
  uint8_t flags = 0, weight_shift = 0;
  uint16_t captures = 0;  // Which want it, a mask.

  std::span<const uint64_t> kernel() const { return {words.get(), kernel_count}; }
  std::span<const uint64_t> user() const { return {words.get() + kernel_count, user_count}; }
  std::span<const code_range> code_ranges() const { return {ranges.get(), range_count}; }
  // What the thread worked on when it left its CPU (DecodeContext()).
  std::span<const uint8_t> context() const {
    return {reinterpret_cast<const uint8_t*>(words.get() + kernel_count + user_count),
            context_bytes};
  }
  size_t bytes() const;

  uint32_t kernel_count = 0, user_count = 0, range_count = 0;
  uint32_t context_bytes = 0;  // A multiple of 8, behind the words.
  std::unique_ptr<uint64_t[]> words;
  std::unique_ptr<code_range[]> ranges;
};

struct WaitPart {
  WaitKind kind = WaitKind::kNone;
  uint64_t end_ns = 0;  // CLOCK_BOOTTIME.
  int64_t value = 0;    // Nanoseconds that it stands for; ≥ 1.
};

class OffCpuWaits {
 public:
  struct Limits {
    size_t waits = 32'768;
    size_t bytes = 16 << 20;
  };
  using TakePart = std::function<void(const OpenWait&, const WaitPart&)>;

  OffCpuWaits() : OffCpuWaits(Limits{}) {}
  explicit OffCpuWaits(const Limits& limits) : limits_(limits), accounts_(limits.waits) {}

  // A thread has left its CPU. `user`, `ranges`, `end`: of the finished walk. False: there is no
  // room for it.
  bool Begin(const RawSample& sample, std::span<const uint64_t> user,
             std::span<const code_range> ranges, uint32_t end, uint32_t flags);
  // It runs again.
  void End(const wait_end_record& record, const TakePart& take);
  // The parts so far of all that are open, up to `now_ns`.
  void Ship(uint64_t now_ns, const TakePart& take);
  // A process is gone, and its waits with it.
  void EndProcess(const process_key& process);
  // Ends were lost: forgets the waits that `waits_since` does not confirm (Sampler::WaitsSince()).
  void Check(const std::function<std::optional<uint64_t>(uint32_t tid)>& waits_since);

  // Captures that have ended want nothing any more: waits that only they wanted are forgotten.
  void ForgetCapture(int capture);

  // What each thread has waited in sum.
  WaitAccounts& accounts() { return accounts_; }

  size_t size() const { return waits_.size(); }
  size_t bytes() const { return bytes_; }

 private:
  using Waits = absl::flat_hash_map<uint32_t, std::unique_ptr<OpenWait>>;  // By thread.
  void Forget(Waits::iterator wait);

  Limits limits_;
  WaitAccounts accounts_;
  Waits waits_;
  absl::flat_hash_map<uint32_t, uint32_t> of_process_;  // How many, by pid.
  size_t bytes_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_OFF_CPU_WAITS_H_
