// Names of code in memory of no file, of all processes: asked by address, for code that no runtime
// claims (interpreters/jit/README.md).
//
// A process is looked at when a sample has such code, or by ReadAhead(). What is known is brought
// up to date before an answer if the sample is newer: one fstat() a file, one small read of a list.
// What was read stays after the process has ended, as long as there is room.
//
// Memory:  bytes() at most `limit_bytes` and one process's; the least recently asked for goes.
// Threads: one at a time.
#ifndef STACKRAY_INTERPRETERS_JIT_JIT_NAMES_H_
#define STACKRAY_INTERPRETERS_JIT_JIT_NAMES_H_

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "interpreters/jit/jit_process.h"
#include "profile/executable.h"
#include "profile/frame.h"
#include "symbolizer/executable_files.h"

namespace stackray {

class JitNames {
 public:
  static constexpr size_t kDefaultLimitBytes = 32 << 20;
  static constexpr size_t kMostProcesses = 256;

  // `files` outlives this.
  explicit JitNames(ExecutableFiles& files, size_t limit_bytes = kDefaultLimitBytes)
      : files_(files), limit_bytes_(limit_bytes) {}

  // The function at `address` of a process that was sampled at `time_ns` (CLOCK_BOOTTIME).
  struct Answer {
    FrameKey key;  // Another function at that address has another one.
    const JitFunction* function = nullptr;
  };
  // nullopt: nobody says. Valid until the next call.
  std::optional<Answer> Find(const ProcessId& process, uint64_t address, uint64_t time_ns);

  // Reads what is said of a process's code before the first sample of it, if it has code in memory
  // of no file. Takes up to three times JitProcess::kMostReading.
  void ReadAhead(const ProcessId& process);

  // Told of a process's rows when they may have changed: BPF should have these. nullptr: none.
  using OnRows =
      std::function<void(const ProcessId&, const cfi::JitListState&, cfi::JitRows* rows)>;
  void TellRows(OnRows on_rows) { on_rows_ = std::move(on_rows); }

  // Another bound; what is over it goes at once.
  void SetLimitBytes(size_t limit_bytes) {
    limit_bytes_ = limit_bytes;
    KeepLimit();
  }
  // Everything that can be read again is.
  void Wipe();
  size_t bytes() const { return bytes_; }
  const JitCounts& counts() const { return counts_; }

 private:
  struct Known {
    std::unique_ptr<JitProcess> process;
    size_t bytes = 0;
    uint64_t seen_ns = 0;  // When it was there last; 0: it was not asked for yet.
    bool is_gone = false;
    bool has_told_rows = false;
    cfi::JitListState told_list;  // With the rows that were told.
    uint64_t told_ns = 0;
  };
  using Entries = std::list<Known>;  // Most recently asked for first.
  Known& Of(const ProcessId& id);
  void Follow(uint64_t time_ns, Known& known);
  void TellRowsOf(uint64_t now_ns, Known& known);
  bool IsThere(uint64_t now_ns, Known& known) const;
  void KeepLimit();
  bool FindDescriptors(uint32_t pid, absl::Time deadline, std::vector<uint64_t>* addresses);
  // The ELF address of gdb's descriptor in the file; 0: there is none.
  uint64_t DescriptorIn(const ExecutableFile& file);

  ExecutableFiles& files_;
  size_t limit_bytes_;
  Entries entries_;
  absl::flat_hash_map<ProcessId, Entries::iterator> by_id_;
  absl::flat_hash_map<FileIdentity, uint64_t> descriptors_;
  size_t bytes_ = 0;
  JitCounts counts_;
  OnRows on_rows_;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_JIT_JIT_NAMES_H_
