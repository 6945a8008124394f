// How much of each thread's waiting time is in batches, and how much it has truly waited.
//
// A wait whose stack was taken with probability 2^-k counts 2^k times its length: right on
// average, and wrong for the one thread that has few of them. The kernel's part knows what each
// thread has waited in sum, so from its first look on (when a batch is sealed) a thread's parts
// add up to that:
//   - an ended wait counts its weight, but not more than is left of the sum. Where it was
//     preempted it counts all that is left: how long others take the CPU has nothing to do with
//     the stack.
//   - a wait that a look has met counts all that is left. Such a moment meets a wait as probably
//     as it is long, so what the chosen waits have missed goes where the thread spends its time;
//     what of that was in the run queue is said by the waits that were seen to end.
// What had too much before the first look has less afterwards, down to nothing. Threads that no
// look meets have the estimate alone: among many that live shortly each one that has a stack
// stands for others, and is not to be cut to its own time.
//
// Input:   sums that BPF wrote. An end that the ring held may come behind a later look.
// Memory:  some 100 bytes a thread, up to `most`; threads beyond have the estimate alone.
// Threads: one (the sample loop's).
#ifndef STACKRAY_AGENT_SAMPLING_WAIT_ACCOUNTS_H_
#define STACKRAY_AGENT_SAMPLING_WAIT_ACCOUNTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/container/flat_hash_map.h"
#include "bpf/shared/records.h"

namespace stackray {

class WaitAccounts {
 public:
  explicit WaitAccounts(size_t most) : most_(most) {}

  // What a wait counts, in the run queue and elsewhere; both 0: nothing.
  struct Counts {
    uint64_t waited = 0, queued = 0;
    bool is_known = false;  // Not estimated: the last look has met it.
  };
  // A wait that began at `out_ns` has ended. Its length times its weight is `estimate`.
  // `waited_ns`: all waits of the thread since `since_ns` that began so, this one among them; 0:
  // unknown.
  // `queued_ns` of `length_ns` were in the run queue.
  struct Ended {
    uint32_t tid = 0;
    bool is_preempted = false;
    uint64_t out_ns = 0, since_ns = 0, waited_ns = 0, length_ns = 0, queued_ns = 0;
    uint64_t estimate = 0;
  };
  Counts End(const Ended& wait);

  // A look at all threads: Look() for each between these two. Whoever was not met and
  // `is_followed` does not know is forgotten.
  void BeginLook() { ++look_; }
  void Look(const waited_record& record);
  void EndLook(const std::function<bool(uint32_t tid)>& is_followed);

  // An open wait that began at `out_ns` and lasts at `now_ns`; `own_ns` of it are in no batch yet.
  struct Open {
    uint32_t tid = 0;
    bool is_preempted = false;
    uint64_t out_ns = 0, now_ns = 0, own_ns = 0;
    uint64_t estimate = 0;  // What these stand for.
  };
  Counts Ship(const Open& wait);

  size_t size() const { return accounts_.size(); }

 private:
  struct Account {
    uint64_t since_ns = 0;
    std::array<uint64_t, 2> waited = {}, counted = {};  // Blocked, preempted.
    uint64_t out_ns = 0;                                // Of the open wait, at the last look.
    uint64_t ended_ns = 0, queued_ns = 0;  // Of ended waits that began blocked, with a stack.
    uint64_t look = 0;                     // The last one that met it; 0: none.
  };
  Account* AccountOf(uint32_t tid, uint64_t since_ns);

  size_t most_;
  uint64_t look_ = 0;
  absl::flat_hash_map<uint32_t, Account> accounts_;  // By thread.
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_WAIT_ACCOUNTS_H_
