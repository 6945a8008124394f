// Whom the agent reads nothing of for a while, because a read did not return.
//
// Threads: any.
#ifndef STACKRAY_KERNEL_FOREIGN_LEFT_ALONE_H_
#define STACKRAY_KERNEL_FOREIGN_LEFT_ALONE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace stackray {

// Who answers for a process: its user, or the user that made the user namespace which it is in.
struct ProcessOwner {
  uint64_t id = 0;
  // Root of the host, outside of any container: never left alone as a whole.
  bool is_host_root = false;
};
// nullopt: the process is gone. Reads nothing that could wait.
std::optional<ProcessOwner> FindProcessOwner(uint32_t pid);

class LeftAlone {
 public:
  // Now is CLOCK_BOOTTIME; a test's own clock does.
  struct Counts {
    uint64_t hangs = 0;                // Reads that did not return.
    uint64_t refusals = 0;             // Reads that were not tried.
    size_t processes = 0, owners = 0;  // That are left alone now.
    uint32_t last_pid = 0, last_pause_s = 0;
  };

  // Nothing is to be read of that process now. Free while nobody is left alone.
  bool Has(uint32_t pid, uint64_t now_ns);
  // As Has(), for a read that is then not tried.
  bool Refuses(uint32_t pid, uint64_t now_ns);

  // A read of that process, or of this host (0), did not return. It is left alone for a minute,
  // then two, … at most 16. So are all processes of its owner when another one of them hung within
  // the last ten minutes.
  void Add(uint32_t pid, uint64_t now_ns);

  // Reads of that process did return, after `waited_ns`. An owner whose reads take more than four
  // seconds of a minute is left alone as a whole.
  void AddSlow(uint32_t pid, uint64_t waited_ns, uint64_t now_ns);

  Counts counts(uint64_t now_ns);

 private:
  struct Pause {
    uint64_t until_ns = 0, length_ns = 0;
  };
  // By pid: another process with that pid is nobody we know.
  struct Process : Pause {
    uint64_t start_ticks = 0;
  };
  struct Owner : Pause {
    uint64_t last_hang_ns = 0;
    uint32_t last_pid = 0;
    uint64_t slow_ns = 0, slow_since_ns = 0;
  };
  static void Lengthen(Pause* pause, uint64_t now_ns);
  void Forget(uint64_t now_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsPaused(uint32_t pid, uint64_t now_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<bool> is_empty_{true};
  absl::Mutex mutex_;
  std::map<uint32_t, Process> processes_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, Owner> owners_ ABSL_GUARDED_BY(mutex_);
  // Owners of processes that were asked for within this second.
  std::map<uint32_t, uint64_t> known_owners_ ABSL_GUARDED_BY(mutex_);
  uint64_t known_since_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t hangs_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t last_pid_ ABSL_GUARDED_BY(mutex_) = 0, last_pause_s_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t refusals_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_FOREIGN_LEFT_ALONE_H_
