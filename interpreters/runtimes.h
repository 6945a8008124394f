// All runtimes: which executables hold one, and the names of their frames.
//
// Names are read from the process's memory when a batch needs them (design: the need question comes first),
// and what was read is kept, bounded in bytes, so that frames of a process that is gone meanwhile are still
// named. A code object whose memory is another one's by now is told by the check word that BPF took with
// the frame: it is named `[stale]`; `[gone]` where the process ended before anybody could look.
//
// Memory:  what was read, up to `cache_bytes`, the least recently used first to go.
// Threads: Recognise() and DataOf() any; everything else one (the sample loop's).
#ifndef STACKRAY_INTERPRETERS_RUNTIMES_H_
#define STACKRAY_INTERPRETERS_RUNTIMES_H_

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "interpreters/runtime.h"
#include "kernel/runtime_memory.h"
#include "profile/frame.h"
#include "profile/process.h"
#include "symbolizer/executable_files.h"

namespace stackray {

class Runtimes {
 public:
  struct Counts {                  // Since the start.
    uint64_t code_reads = 0;       // Code objects that were read from processes.
    uint64_t stale = 0, gone = 0;  // Questions that were answered by [stale] and [gone].
  };
  using OpenMemory = std::function<std::unique_ptr<ProcessMemory>(uint32_t pid)>;

  // `memory` outlives this. `open` is for tests.
  Runtimes(RuntimeMemory& memory, size_t cache_bytes, OpenMemory open = {});

  // What file_entry.runtime is to say of this file; 0: no runtime. Tells BPF of a new one.
  uint32_t Recognise(const ExecutableFile& file, const ElfImage& image);
  // nullptr: no such runtime.
  std::shared_ptr<const RuntimeData> DataOf(uint32_t runtime) const;

  // FrameKey::owner() of the process's frames. The same for as long as it is asked for, until Wipe().
  uint64_t OwnerOf(const ProcessId& process);
  // The name of a frame by its words in the record.
  FrameSymbols Resolve(const ProcessId& process, const RuntimeData& data, uint64_t word,
                       uint64_t second);

  void Wipe();
  // Forgets processes that were not asked for lately.
  void ForgetBatch();
  size_t bytes() const { return bytes_; }
  const Counts& counts() const { return counts_; }

 private:
  struct CodeKey {
    uint64_t owner = 0, address = 0;
    uint32_t check = 0;
    friend bool operator==(const CodeKey&, const CodeKey&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const CodeKey& k) {
      return H::combine(std::move(h), k.owner, k.address, k.check);
    }
  };
  struct Entry {
    CodeKey key;
    std::shared_ptr<const RuntimeCode> code;
  };
  using Entries = std::list<Entry>;  // Most recently used first.

  absl::StatusOr<std::shared_ptr<const RuntimeCode>> CodeOf(const ProcessId& process,
                                                            const RuntimeData& data,
                                                            const CodeKey& key);
  void Evict();

  RuntimeMemory& memory_;
  const size_t cache_bytes_;
  const OpenMemory open_;
  std::vector<std::unique_ptr<RuntimeLoader>> loaders_;

  mutable absl::Mutex mutex_;
  absl::flat_hash_map<FileIdentity, uint32_t> by_identity_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<const RuntimeData>> data_ ABSL_GUARDED_BY(mutex_);  // By number.

  absl::flat_hash_map<ProcessId, uint64_t> owners_;
  uint64_t last_owner_ = 0;
  Entries entries_;
  absl::flat_hash_map<CodeKey, Entries::iterator> by_key_;
  size_t bytes_ = 0;
  Counts counts_;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_RUNTIMES_H_
