// Unwind rows of code that a runtime keeps for itself in its JIT memory (HotSpot's stubs), in the
// row store: one file a process, which no process has mapped. BPF knows it by
// stack_process.rows_id.
//
// Such code is made once and stays. Where more of it is made, the rows get another id, so that BPF
// never looks up a place of one set of rows in another one.
//
// Memory:  kMostProcesses processes, those put last; the row store's budget has their pages.
// Threads: one at a time; holds TableLoader's lock (symbolizer/unwind/table_loader.h).
#ifndef STACKRAY_SYMBOLIZER_UNWIND_STUB_TABLES_H_
#define STACKRAY_SYMBOLIZER_UNWIND_STUB_TABLES_H_

#include <cstdint>
#include <list>

#include "bpf/shared/records.h"
#include "bpf/shared/runtime.h"
#include "symbolizer/cfi/jit_rows.h"
#include "symbolizer/unwind/row_store.h"

namespace stackray {

class StubTables {
 public:
  static constexpr size_t kMostProcesses = MAX_STACK_PROCESSES;

  explicit StubTables(RowStore& store) : store_(store) {}  // It outlives this.

  // The process's rows are these from now on, under an `id` that no other rows have; their places
  // count from `begin`, a page's begin. Asked again with the same id it puts the pages that the row
  // store has given away meanwhile.
  void Put(const process_key& process, uint64_t id, uint64_t begin, const cfi::JitRows& rows);
  // Those of processes that have ended.
  void RemoveGone();

  size_t size() const { return known_.size(); }

 private:
  struct Known {
    process_key process = {};
    uint64_t id = 0;
    uint32_t pages = 0;  // That have rows.
  };
  using Entries = std::list<Known>;  // Those put last first.
  Known& Find(const process_key& process, uint64_t id);
  Entries::iterator Remove(Entries::iterator known);
  static FileIdentity IdentityOf(uint64_t id);

  RowStore& store_;
  Entries known_;
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_UNWIND_STUB_TABLES_H_
