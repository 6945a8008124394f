// What the JIT compilers of one process say of their code: its perf map, its jitdump, and gdb's
// lists of JIT code in its memory. Found once, and then followed: files are read on from where they
// ended, a list is read again when its first entry is another one.
//
// Time:    one call of Follow() reads for three times kMostReading at most (files, the search for
//          lists, lists), all of them a tenth of the time and
//          kReadingAhead. What that leaves is read by later ones, and until then nothing is known
//          of the process's code, because what was read may be out of date.
// Memory:  kMostSourceBytes of names a source, kMostRowBytes of rows, and a descriptor a file.
// Threads: one at a time.
#ifndef STACKRAY_INTERPRETERS_JIT_JIT_PROCESS_H_
#define STACKRAY_INTERPRETERS_JIT_JIT_PROCESS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "interpreters/jit/gdb_jit.h"
#include "interpreters/jit/jit_code.h"
#include "interpreters/jit/jit_dump.h"
#include "interpreters/jit/perf_map.h"
#include "interpreters/process_memory.h"
#include "kernel/unique_fd.h"
#include "profile/process.h"
#include "symbolizer/cfi/jit_rows.h"

namespace stackray {

struct JitCounts {
  uint64_t perf_maps = 0, jit_dumps = 0, gdb_lists = 0;  // That were found.
  uint64_t functions = 0, damaged = 0;  // Entries that were read; of these, those that say nothing.
  uint64_t forgotten = 0;               // Functions that went for want of room.
  uint64_t too_slow = 0;                // Readings that were not over in time.
  std::map<std::string, uint64_t, std::less<>> refused;  // Files, by why.
};

class JitProcess {
 public:
  // Where gdb's descriptors are in the process; false: the search is not over yet.
  using FindDescriptors =
      std::function<bool(absl::Time deadline, std::vector<uint64_t>* addresses)>;

  static constexpr size_t kMostSourceBytes = 16 << 20;
  static constexpr size_t kMostRowBytes = 4 << 20;
  static constexpr size_t kMostGdbEntries = 16'384;
  static constexpr absl::Duration kMostReading = absl::Milliseconds(50);
  static constexpr absl::Duration kReadingAhead = absl::Milliseconds(200);

  explicit JitProcess(const ProcessId& id) : id_(id) {}

  // Brings up to date what is known, as of `now_ns` (CLOCK_BOOTTIME).
  void Follow(uint64_t now_ns, ProcessMemory& memory, const FindDescriptors& find,
              JitCounts* counts);
  // When that was.
  uint64_t followed_ns() const { return followed_ns_; }

  // nullptr: nobody says what is there. Valid until the next Follow().
  const JitFunction* Find(uint64_t address) const;

  // The rows that were told along, and the list that has told them; nullptr: they may be out of
  // date, and BPF should not have them. What has changed is taken from them.
  cfi::JitRows* rows();
  cfi::JitListState list_state() const;

  const ProcessId& id() const { return id_; }
  size_t bytes() const;
  // Everything is read again.
  void Forget();

 private:
  template <typename Reader>
  struct Source {
    UniqueFd fd;
    uint64_t read_bytes = 0;
    Reader reader;
    JitCode code{kMostSourceBytes};
    bool is_behind = false;  // There is more than what was read.
    bool is_broken = false;  // Nothing more will be read.
  };
  struct List {
    uint64_t descriptor = 0;
    std::optional<GdbJitWords> words;                    // As of the last reading to its end.
    absl::flat_hash_map<uint64_t, GdbJitEntry> entries;  // By address.
  };
  struct Reading {  // One call of Follow().
    ProcessMemory& memory;
    JitCounts& counts;
    absl::Time deadline = absl::InfinitePast();
    bool IsOver() const;
  };

  void LookForLists(const FindDescriptors& find, Reading& reading);
  void LookForFiles(uint64_t now_ns, Reading& reading);
  void FollowPerfMap(Reading& reading);
  void FollowJitDump(Reading& reading);
  void FollowList(uint64_t now_ns, List& list, Reading& reading);
  void TakeEntries(const GdbJitList& now, List& list, Reading& reading);
  void ForgetLists();
  void TakeElf(const GdbJitEntry& entry, Reading& reading);
  void TakeRows(const GdbJitEntry& entry, Reading& reading);
  void Count(JitCounts* counts);

  const ProcessId id_;
  Source<PerfMapReader> perf_map_;
  Source<JitDumpReader> jit_dump_;
  std::vector<List> lists_;
  JitCode listed_{kMostSourceBytes};
  cfi::JitRows rows_{kMostRowBytes};
  bool is_list_behind_ = false, is_search_over_ = false;
  bool is_late_ = false;  // It was not the process's turn to be read.
  std::string refused_;   // Why the last file was.
  uint64_t followed_ns_ = 0, next_look_ns_ = 0, next_list_ns_ = 0;
  absl::Duration may_read_ = kReadingAhead;
  uint32_t looks_ = 0;
  uint64_t counted_functions_ = 0, counted_damaged_ = 0, counted_forgotten_ = 0;
  uint64_t listed_functions_ = 0, listed_damaged_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_JIT_JIT_PROCESS_H_
