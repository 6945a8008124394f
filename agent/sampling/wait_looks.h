// How many stacks the looks at waiting threads may take (bpf/waiting_list.h), and with it how long
// a thread has to have waited since its last one.
//
// Threads: one at a time.
#ifndef STACKRAY_AGENT_SAMPLING_WAIT_LOOKS_H_
#define STACKRAY_AGENT_SAMPLING_WAIT_LOOKS_H_

#include <algorithm>
#include <cstdint>

namespace stackray {

class WaitLooks {
 public:
  static constexpr uint64_t kLeastDueNs = 20'000'000, kMostDueNs = 1'000'000'000;

  // A look is over that took `stacks`. They are to be at most a quarter of those that waits may
  // take where they begin: `rate` a second and CPU. Where threads are so many that more are due
  // all the same, they are taken once a second of waiting.
  void End(uint64_t now_ns, uint64_t stacks, uint64_t rate, uint64_t cpus) {
    const uint64_t passed_ms = last_ns_ == 0 ? 0 : (now_ns - last_ns_) / 1'000'000;
    last_ns_ = now_ns;
    const uint64_t most = rate * cpus * passed_ms / 4000;
    if (stacks > most) {
      due_ns_ = std::min(2 * due_ns_, kMostDueNs);
    } else if (2 * stacks < most) {
      due_ns_ = std::max(due_ns_ / 2, kLeastDueNs);
    }
  }
  uint64_t due_ns() const { return due_ns_; }

 private:
  uint64_t last_ns_ = 0, due_ns_ = 100'000'000;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_WAIT_LOOKS_H_
