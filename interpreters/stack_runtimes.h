// Processes with a runtime of kind STACK (bpf/shared/runtimes.h): found, told to BPF, and kept for
// the names of their frames.
//
// A process is met by a sample in the runtime's file. Until BPF is told, its frames in memory of no
// file are unknown code; so such code makes us look once at all files that the process has mapped
// (ShouldLook()). A runtime that has not begun yet is asked again, ever more rarely.
//
// Memory:  MAX_STACK_PROCESSES instances of about 1 KiB, the least recently asked for first to go.
// Threads: one (the sample loop's).
#ifndef STACKRAY_INTERPRETERS_STACK_RUNTIMES_H_
#define STACKRAY_INTERPRETERS_STACK_RUNTIMES_H_

#include <cstdint>
#include <functional>
#include <list>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
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
  void Meet(const ProcessId& process, uint32_t runtime, const RuntimeData& data, uint64_t base,
            absl::Time now);
  // The process was sampled in memory of no file: should its files be looked at? Once a process.
  bool ShouldLook(const ProcessId& process);
  // nullptr: none that is known.
  std::shared_ptr<const StackInstance> Of(const ProcessId& process);

  // Files that hold no such runtime need not be opened again.
  bool IsNone(const FileIdentity& file) const { return none_.contains(file); }
  void AddNone(const FileIdentity& file);

  // Forgets what was read; processes that BPF knows are read again when they are met.
  void Wipe();
  size_t size() const { return known_.size(); }

 private:
  struct Known {
    ProcessId process;
    std::shared_ptr<const StackInstance> instance;  // nullptr: not yet, or never.
    absl::Time next_try = absl::InfinitePast();
    uint32_t tries = 0;
  };
  using Entries = std::list<Known>;  // Most recently asked for first.
  Known& Find(const ProcessId& process);
  void Attach(uint32_t runtime, const RuntimeData& data, uint64_t base, absl::Time now,
              Known* known);

  RuntimeMemory& memory_;
  const OpenMemory open_;
  Entries entries_;
  absl::flat_hash_map<ProcessId, Entries::iterator> known_;
  absl::flat_hash_set<ProcessId> looked_at_;
  absl::flat_hash_set<FileIdentity> none_;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_STACK_RUNTIMES_H_
