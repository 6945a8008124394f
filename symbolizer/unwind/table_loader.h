// Brings unwind pages into the row store: when BPF misses one, and when a raw stack is finished
// here.
//
// Memory:  open tables (UnwindTables) up to `cache_bytes`, beside the row store's own budget.
// Threads: any; one at a time inside. HandleMiss() is the table writer's loop body.
#ifndef STACKRAY_SYMBOLIZER_UNWIND_TABLE_LOADER_H_
#define STACKRAY_SYMBOLIZER_UNWIND_TABLE_LOADER_H_

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "bpf/shared/records.h"
#include "symbolizer/cfi/cfi_source.h"
#include "symbolizer/executable_files.h"
#include "symbolizer/unwind/jit_tables.h"
#include "symbolizer/unwind/made_code.h"
#include "symbolizer/unwind/moved_text.h"
#include "symbolizer/unwind/row_store.h"
#include "symbolizer/unwind/stub_tables.h"

namespace stackray {

class TableLoader {
 public:
  // Told of every file that becomes known to BPF, before it does: what file_entry.runtime is to
  // say.
  using Recognise = std::function<uint32_t(const ExecutableFile&, const ElfImage&)>;

  // What UnwindTables::HandToRuntime() is told of a file with this runtime.
  using ReturnsOfFrames = std::function<std::vector<uint64_t>(uint32_t runtime)>;

  // `files` and `store` outlive this.
  TableLoader(ExecutableFiles& files, RowStore& store, size_t cache_bytes, Recognise recognise = {},
              RecogniseMadeCode recognise_made_code = {}, ReturnsOfFrames returns_of_frames = {});
  ~TableLoader();

  // Loads the page that was missed, then its neighbours: code that is sampled is near code that
  // will be.
  void HandleMiss(const miss_record& miss);

  // A process begins to run a program that the store does not know: makes it known and loads the
  // page of its entry point, while its file can still be had. Nothing happens when that cannot be
  // done.
  void LoadAhead(uint32_t pid, const file_key& key, const std::string& path);

  // Makes `range`'s file known, in whatever state. OK also when the file turned out to have no
  // tables. Errors: as ExecutableFiles::Get (the file cannot be had).
  absl::Status LoadFile(uint32_t pid, const code_range& range);
  // The page of one instruction. Errors: as LoadFile, and what BuildPage() says.
  absl::Status LoadPage(uint32_t pid, const code_range& range, uint64_t file_offset);

  // Holds the store still for a walk on the host: nothing is evicted meanwhile except by the
  // walker's own Load… calls.
  absl::Mutex& mutex() ABSL_LOCK_RETURNED(mutex_) { return mutex_; }
  absl::Status LoadFileLocked(uint32_t pid, const code_range& range)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status LoadPageLocked(uint32_t pid, const code_range& range, uint64_t file_offset)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // All of `to` from the range's file; false: that cannot be had.
  bool ReadCodeLocked(uint32_t pid, const code_range& range, uint64_t file_offset,
                      std::span<uint8_t> to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A range that is presumed to be moved text, as its file's; nullopt: it is none
  // (symbolizer/unwind/moved_text.h).
  std::optional<code_range> MovedTextLocked(const process_key& process, const code_range& range)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return moved_.Find(process, range);
  }
  const RowStore& store() const { return store_; }

  // As JitTables::Update(), Remove().
  void UpdateJitRows(const process_key& process, const cfi::JitListState& list, cfi::JitRows& rows);
  void RemoveJitRows(const process_key& process);
  // As StubTables::Put().
  void PutStubRows(const process_key& process, uint64_t id, uint64_t begin,
                   const cfi::JitRows& rows);
  const JitTables& jit_tables() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return jit_; }

  // What is loaded beyond what was asked for, and how much may stay: for an agent that has to do
  // with less.
  struct Limits {
    uint64_t row_budget_bytes = 0;
    bool ahead = true;  // False: no neighbours, and nothing at a program's start.
  };
  void SetLimits(const Limits& limits);
  // Comes a step nearer to a smaller row budget. False: nothing has to shrink any more. While it is
  // true the table writer calls it a few times a second.
  bool KeepRowBudget();

  // Closes all tables; the row store keeps its pages.
  void Wipe();
  // Closes those of deleted files that only the table of files holds besides, looks at moved texts
  // again, and forgets rows of JIT code whose process has ended.
  void DropDeleted();

 private:
  struct OpenTables;
  using Entries = std::list<OpenTables>;  // Most recently used first.
  absl::StatusOr<OpenTables*> Open(uint32_t pid, const code_range& range)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LookForMadeCode(uint32_t pid, const code_range& range, OpenTables& tables)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // nullptr: the file was overwritten.
  OpenTables* OpenFile(const ExecutableFilePtr& file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  OpenTables* FindOpen(const FileIdentity& identity) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LoadAround(OpenTables& tables, uint32_t page, uint32_t neighbours)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether a walk has asked for the page, or for a neighbour of it: then it is left out if it is
  // dear.
  enum class Asked { kNo, kYes };
  absl::Status LoadOne(OpenTables& tables, uint32_t page, Asked asked)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Shrink(size_t limit_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ExecutableFiles& files_;
  RowStore& store_;
  const size_t cache_bytes_;
  const Recognise recognise_;
  const RecogniseMadeCode recognise_made_code_;
  const ReturnsOfFrames returns_of_frames_;
  absl::Mutex mutex_;
  MovedTexts moved_ ABSL_GUARDED_BY(mutex_);
  JitTables jit_ ABSL_GUARDED_BY(mutex_);
  StubTables stubs_ ABSL_GUARDED_BY(mutex_);
  bool ahead_ ABSL_GUARDED_BY(mutex_) = true;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<FileIdentity, Entries::iterator> by_identity_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_UNWIND_TABLE_LOADER_H_
