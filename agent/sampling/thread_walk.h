// The user part of the stack of a thread that is on no CPU, frames of runtimes included, read from
// its process's memory while nobody is stopped.
//
// Input:   what the list of threads says (kernel/thread_list.h), and memory of a foreign process,
//          which may change while it is read. Whoever asks lists the thread again afterwards: it is
//          to be believed where the thread has not run meanwhile.
// Cost:    some 50 µs a thread, and two or three reads of memory a frame of a runtime.
// Memory:  the mappings of one process, a stack slice, a struct scratch for runtimes.
// Threads: one.
#ifndef STACKRAY_AGENT_SAMPLING_THREAD_WALK_H_
#define STACKRAY_AGENT_SAMPLING_THREAD_WALK_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "interpreters/runtimes.h"
#include "kernel/thread_list.h"
#include "symbolizer/unwind/host_chains.h"
#include "symbolizer/unwind/sample_walk.h"

namespace stackray {

class ThreadWalk {
 public:
  // All outlive this; nobody else uses `walk` meanwhile.
  ThreadWalk(SampleWalk& walk, TableLoader& loader, ExecutableFiles& files, Runtimes& runtimes)
      : walk_(walk), loader_(loader), files_(files), runtimes_(runtimes) {}

  // `thread` is on no CPU, and its record has a leaf (sample.end is END_NONE).
  WalkResult Walk(const ListedThread& thread);

 private:
  struct MetRuntime {
    uint32_t runtime = 0, range = 0;  // The range: of the walk's.
  };

  void TakeMappings(const ProcessId& process);
  // Of the range's file, as the row store knows it by now; 0: none.
  uint32_t RuntimeOf(const code_range& range) const;
  bool FindStackRuntime(const ProcessId& process);
  // Marks the walk's ranges, and says which runtimes of kind CHAIN its frames are of.
  std::vector<MetRuntime> MarkRuntimes(WalkResult* walked) const;
  std::vector<uint64_t> WalkChains(const ListedThread& thread, const WalkResult& walked,
                                   const std::vector<MetRuntime>& met);
  const runtime_layout* LayoutOf(uint32_t runtime);

  SampleWalk& walk_;
  TableLoader& loader_;
  ExecutableFiles& files_;
  Runtimes& runtimes_;
  ProcessId process_;
  std::vector<code_range> ranges_;              // Of process_.
  std::optional<stack_process> stack_runtime_;  // Of process_.
  absl::flat_hash_map<uint32_t, std::optional<runtime_layout>> layouts_;
  HostChains chains_;
  std::vector<uint8_t> slice_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_THREAD_WALK_H_
