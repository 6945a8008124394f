// Perf's side-band about kernel code: one event and one ring a CPU, KSYMBOL records only, with the
// clock of the samples. Nothing is ever woken: the rings are looked at when somebody asks.
//
// Memory:  20 KiB a CPU, shared with the kernel. Room for about 200 records between two looks; what
//          is lost is noticed, and made good by reading kallsyms.
// Threads: one.
#ifndef STACKRAY_KERNEL_KSYMBOL_RINGS_H_
#define STACKRAY_KERNEL_KSYMBOL_RINGS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernel/code_events.h"
#include "kernel/unique_fd.h"

namespace stackray {

class KsymbolRings {
 public:
  // Errors: FailedPrecondition (perf_event_open or mmap refused; before Linux 5.1 there are no such
  // records).
  static absl::StatusOr<KsymbolRings> Open();
  KsymbolRings(KsymbolRings&&) noexcept = default;
  KsymbolRings& operator=(KsymbolRings&&) noexcept = default;

  // All that waits, CPU by CPU. False: some were lost.
  bool Drain(const std::function<void(CodeEvent)>& take);
  // Opens rings for CPUs that are online and have none, gives up those of CPUs that went. What such
  // a CPU reported in between is lost, and the next Drain() says so.
  absl::Status FollowCpus(std::span<const int> online);

 private:
  class Ring {
   public:
    Ring(UniqueFd event, void* memory) : event_(std::move(event)), memory_(memory) {}
    Ring(Ring&& other) noexcept
        : event_(std::move(other.event_)), memory_(std::exchange(other.memory_, nullptr)) {}
    Ring& operator=(Ring&&) = delete;
    ~Ring();
    bool Drain(const std::function<void(CodeEvent)>& take);

   private:
    UniqueFd event_;
    void* memory_;  // A page of perf_event_mmap_page, then the data.
  };

  KsymbolRings() = default;
  absl::Status OpenCpu(int cpu);

  std::map<int, Ring> rings_;  // By CPU.
  bool gap_ = false;           // A CPU ran without a ring.
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_KSYMBOL_RINGS_H_
