// Processes with a runtime of kind STACK (bpf/shared/runtimes.h): found, told to BPF, and kept for
// the names of their frames.
//
// A process is met by a sample in the runtime's file, or by one in memory of no file: BPF asks
// about those, and all files that the process has mapped are looked at once (ShouldLook()). A
// runtime that has not begun yet is asked again, ever more rarely; one that has just begun too,
// because it goes on to make its first code.
//
// Memory:  MAX_STACK_PROCESSES instances of about 1 KiB, the least recently asked for first to go.
// Threads: any; TellRows() before the others.
#ifndef STACKRAY_INTERPRETERS_STACK_RUNTIMES_H_
#define STACKRAY_INTERPRETERS_STACK_RUNTIMES_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "interpreters/runtime.h"
#include "kernel/runtime_memory.h"
#include "profile/executable.h"
#include "profile/process.h"

namespace stackray {

class StackRuntimes {
 public:
  using OpenMemory = std::function<std::unique_ptr<ProcessMemory>(uint32_t pid)>;
  // `memory` outlives this.
  StackRuntimes(RuntimeMemory& memory, OpenMemory open) : memory_(memory), open_(std::move(open)) {}

  // The process has `data`'s file in memory, which BPF names `runtime`; `base`: where byte 0 of its
  // text mapping would be. `now` is a steady time.
  void Meet(const ProcessId& process, uint32_t runtime,
            const std::shared_ptr<const RuntimeData>& data, uint64_t base, absl::Time now);
  // As before, of a process that is met once more.
  void MeetAgain(const ProcessId& process, absl::Time now);
  // As before, if its runtime has not begun and was not read since `sampled`: a sample was met in
  // code that is too new to wait. Only the first times.
  void MeetAtOnce(const ProcessId& process, absl::Time sampled, absl::Time now);
  // The process was sampled in memory of no file: should its files be looked at? Once a process.
  bool ShouldLook(const ProcessId& process);
  // Told of the rows of a process's runtime (StackInstance::rows()) when it was read, and once a
  // second while the process is met: BPF should have them under this id.
  using OnRows = std::function<void(const process_key& process, uint64_t id, uint64_t begin,
                                    const cfi::JitRows& rows)>;
  void TellRows(OnRows on_rows) { on_rows_ = std::move(on_rows); }
  // Tells what waits to be told, without a lock of this class. Who calls holds none that `on_rows`
  // takes.
  void TellWaitingRows();

  // nullptr: none that is known. One that has not begun may have code already.
  std::shared_ptr<const StackInstance> Of(const ProcessId& process) const;
  // What BPF is told of it, and a walk in user space of one that has not begun.
  std::optional<stack_process> ForBpf(const ProcessId& process) const;
  // Has it a runtime that has not begun yet, so that it is asked again?
  bool IsExpected(const ProcessId& process) const;
  // BPF need not ask about the process again.
  void SayNone(const ProcessId& process);
  std::unique_ptr<ProcessMemory> Open(const ProcessId& process) const { return open_(process.pid); }

  // Files that hold no such runtime need not be opened again.
  bool IsNone(const FileIdentity& file) const;
  void AddNone(const FileIdentity& file);

  // Forgets what was read; processes that BPF knows are read again when they are met.
  void Wipe();
  size_t size() const;

 private:
  struct Known {
    ProcessId process;
    uint32_t runtime = 0;
    uint64_t base = 0;
    std::shared_ptr<const RuntimeData> data;
    std::shared_ptr<const StackInstance> instance;  // nullptr: not yet, or never.
    absl::Time next_try = absl::InfinitePast(), last_try = absl::InfinitePast();
    uint32_t tries = 0;          // Of the present state.
    uint32_t tries_at_once = 0;  // Of MeetAtOnce().
    uint64_t rows_id = 0;        // Of the instance's rows; 0: it has none.
    absl::Time rows_told = absl::InfinitePast();
    bool is_begun() const { return instance != nullptr && instance->is_begun(); }
  };
  using Entries = std::list<Known>;  // Most recently asked for first.
  Known& Find(const ProcessId& process) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  const Known* Look(const ProcessId& process) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  void LetTellRows(const Known& known) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeInstance(std::shared_ptr<const StackInstance> instance, Known* known)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static stack_process ForBpf(const Known& known);
  void Attach(absl::Time now, Known* known) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  RuntimeMemory& memory_;
  const OpenMemory open_;
  mutable absl::Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<ProcessId, Entries::iterator> known_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<ProcessId> looked_at_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<FileIdentity> none_ ABSL_GUARDED_BY(mutex_);
  OnRows on_rows_;
  uint64_t last_rows_id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<ProcessId> with_rows_ ABSL_GUARDED_BY(mutex_);  // That were met, to be told.
  std::atomic<bool> has_waiting_rows_ = false;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_STACK_RUNTIMES_H_
