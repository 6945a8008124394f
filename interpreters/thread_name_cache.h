// Names of threads as their runtime has them, kept for a while: a sample's thread is asked for once
// in kNameLife, whatever the rate of sampling.
//
// Memory:  kMostNames names of some 150 bytes, and what ThreadNames takes for each process.
// Threads: one (the sample loop's).
#ifndef STACKRAY_INTERPRETERS_THREAD_NAME_CACHE_H_
#define STACKRAY_INTERPRETERS_THREAD_NAME_CACHE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "interpreters/process_memory.h"
#include "interpreters/stack_runtime.h"
#include "profile/process.h"

namespace stackray {

class ThreadNameCache {
 public:
  static constexpr absl::Duration kNameLife = absl::Seconds(10);
  // Of a thread that the runtime does not know, such as a collector's.
  static constexpr absl::Duration kUnknownLife = absl::Seconds(2);
  static constexpr absl::Duration kLeastBetweenLists = absl::Milliseconds(100);
  static constexpr size_t kMostNames = 16'384;

  using OpenMemory = std::function<std::unique_ptr<ProcessMemory>(uint32_t pid)>;
  // The thread's number in its own pid namespace.
  using InnerTid = std::function<uint32_t(uint32_t tid)>;
  ThreadNameCache(OpenMemory open, InnerTid inner_tid)
      : open_(std::move(open)), inner_tid_(std::move(inner_tid)) {}

  // `command`: the kernel's name, which is the answer where the runtime has none. The text lives
  // until the next call.
  std::string_view NameOf(const ProcessId& process, uint32_t tid, std::string_view command,
                          const std::shared_ptr<const StackInstance>& instance, absl::Time now);
  void Wipe();
  size_t size() const { return names_; }

 private:
  struct Thread {
    uint32_t inner_tid = 0;
    std::string command, name;  // Empty: as the kernel has it.
    absl::Time next_look = absl::InfinitePast();
    bool is_unknown = false;  // Was in no list.
  };
  struct Process {
    std::shared_ptr<const StackInstance> instance;
    std::unique_ptr<ThreadNames> names;
    absl::Time next_list = absl::InfinitePast(), last_list = absl::InfinitePast();
    absl::flat_hash_map<uint32_t, Thread> threads;
  };
  void Look(uint32_t pid, uint32_t tid, absl::Time now, Process* process, Thread* thread);
  void List(ProcessMemory& memory, absl::Time now, Process* process);

  const OpenMemory open_;
  const InnerTid inner_tid_;
  absl::flat_hash_map<ProcessId, Process> processes_;
  size_t names_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_THREAD_NAME_CACHE_H_
