// All runtimes: which executables hold one, and the names of their frames.
//
// Names are read from the process's memory when a batch needs them (design: the need question comes
// first), and what was read is kept, bounded in bytes, so that frames of a process that is gone
// meanwhile are still named. BPF sends the memory that names a code object when it meets it first
// (RECORD_CODE): that is read before the process's own, because the object may be freed by now. A
// code object whose memory is another one's is told by the check word that BPF took with the frame:
// it is named `[stale]`; `[gone]` where the process ended before anybody could look.
//
// Memory:  what was read, up to `cache_bytes`, the least recently used first to go; what BPF sent
//          and nobody has asked for yet, up to half as much, the oldest first to go.
// Threads: Recognise() and DataOf() any; everything else one (the sample loop's).
#ifndef STACKRAY_INTERPRETERS_RUNTIMES_H_
#define STACKRAY_INTERPRETERS_RUNTIMES_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "interpreters/captured_memory.h"
#include "interpreters/runtime.h"
#include "interpreters/stack_runtimes.h"
#include "interpreters/thread_name_cache.h"
#include "kernel/runtime_memory.h"
#include "profile/frame.h"
#include "profile/process.h"
#include "symbolizer/executable_files.h"
#include "symbolizer/unwind/made_code.h"

namespace stackray {

class Runtimes {
 public:
  struct Counts {                  // Since the start.
    uint64_t code_reads = 0;       // Code objects that were read.
    uint64_t captured_reads = 0;   // Of them, from what BPF sent along.
    uint64_t stale = 0, gone = 0;  // Questions that were answered by [stale] and [gone].
    uint64_t left_alone = 0;       // By "[left alone: reads did not return]".
  };
  using OpenMemory = std::function<std::unique_ptr<ProcessMemory>(uint32_t pid)>;

  struct Options {
    size_t cache_bytes = 0;
    bool async_parents = false;  // V8Loader's.
  };

  // `memory` outlives this. `open` is for tests.
  Runtimes(RuntimeMemory& memory, Options options, OpenMemory open = {});

  // What file_entry.runtime is to say of this file; 0: no runtime. Tells BPF of a new one. Of kind
  // STACK: with STACK_RUNTIME.
  uint32_t Recognise(const ExecutableFile& file, const ElfImage& image);
  // Of a file without any unwind table, in which a process with this runtime has code: how that is
  // left, if the runtime made it. The file is remembered. `first_page`: what is there from `offset`
  // on.
  std::optional<MadeCodeRules> RecogniseMadeCode(const FileIdentity& file, uint32_t runtime,
                                                 uint64_t offset,
                                                 std::span<const uint8_t> first_page);
  // What a frame at this place of such a file is; kNone: it is no such file.
  LoopPart PartOfMadeCode(const FileIdentity& file, uint64_t file_offset) const;
  // Where the runtime calls code from that it has made in memory of no file; nullopt: it makes
  // none.
  std::optional<made_code_callers> CallersOfMadeCode(uint32_t runtime) const;
  // RuntimeData::returns_of_frames().
  std::vector<uint64_t> ReturnsOfFrames(uint32_t runtime) const;
  // nullptr: no such runtime.
  std::shared_ptr<const RuntimeData> DataOf(uint32_t runtime) const;

  // The process has the file of this runtime, of kind STACK (StackRuntimes::Meet()).
  void MeetProcess(const ProcessId& process, uint32_t runtime, uint64_t base);
  StackRuntimes& of_stack() { return of_stack_; }

  // FrameKey::owner() of the process's frames. It does not change while it is asked for, until
  // Wipe().
  uint64_t OwnerOf(const ProcessId& process);
  // The name of a frame by its words in the record.
  // `base`: where byte 0 of the runtime's text mapping would be in the process.
  FrameSymbols Resolve(const ProcessId& process, const RuntimeData& data, uint64_t word,
                       uint64_t second, uint64_t base = 0);

  // A thread's name as its runtime has it; `command`, the kernel's, where that has none. The text
  // lives until the next call.
  std::string_view ThreadNameOf(const ProcessId& process, uint32_t tid, std::string_view command);

  // What BPF sent of code that the next sample may be in.
  void Remember(const ProcessId& process, const CodeMemory& code);

  void Wipe();
  // Forgets processes that were not asked for lately.
  void ForgetBatch();
  size_t bytes() const { return bytes_ + captured_bytes_; }
  const Counts& counts() const { return counts_; }

 private:
  struct CodeKey {
    uint64_t owner = 0, code = 0, check = 0;
    friend bool operator==(const CodeKey&, const CodeKey&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const CodeKey& k) {
      return H::combine(std::move(h), k.owner, k.code, k.check);
    }
  };
  struct Entry {
    CodeKey key;
    std::shared_ptr<const RuntimeCode> code;
  };
  using Entries = std::list<Entry>;  // Most recently used first.

  absl::StatusOr<std::shared_ptr<const RuntimeCode>> Read(const ProcessId& process,
                                                          const RuntimeData& data,
                                                          const RuntimePlace& place, uint64_t base);
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> CodeOf(const ProcessId& process,
                                                            const RuntimeData& data,
                                                            const RuntimePlace& place,
                                                            uint64_t base);
  void TakeNoName(const absl::Status& why, FrameSymbols* symbols);
  void Evict();
  void ForgetCaptured(const CodeKey& key);

  RuntimeMemory& memory_;
  const size_t cache_bytes_;
  const OpenMemory open_;
  std::vector<std::unique_ptr<RuntimeLoader>> loaders_;

  mutable absl::Mutex mutex_;
  absl::flat_hash_map<FileIdentity, uint32_t> by_identity_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<const RuntimeData>> data_ ABSL_GUARDED_BY(mutex_);  // By number.
  // Files of JIT code, with the functions in them that have a frame of their own.
  absl::flat_hash_map<FileIdentity, std::vector<FileRange>> made_code_ ABSL_GUARDED_BY(mutex_);

  StackRuntimes of_stack_;
  absl::flat_hash_map<ProcessId, uint64_t> owners_;
  uint64_t last_owner_ = 0;
  Entries entries_;
  absl::flat_hash_map<CodeKey, Entries::iterator> by_key_;
  size_t bytes_ = 0;
  absl::flat_hash_map<CodeKey, std::unique_ptr<CapturedMemory>> captured_;
  std::deque<CodeKey> captured_order_;  // Oldest first; also of what was taken since.
  size_t captured_bytes_ = 0;
  Counts counts_;
  ThreadNameCache thread_names_;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_RUNTIMES_H_
