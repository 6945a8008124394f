// Unwind rows of JIT code in the row store, and what BPF is told of each process that has some
// (bpf/shared/jit_rows.h).
//
// A process's code is cut into regions of JIT_REGION_BYTES; each is a file of the row store, which
// no process has mapped. Its pages are replaced when their rows change.
//
// Memory:  MAX_JIT_PROCESSES processes, those whose rows changed last; the row store's budget has
//          their pages.
// Threads: one at a time; holds TableLoader's lock (symbolizer/unwind/table_loader.h).
#ifndef STACKRAY_SYMBOLIZER_UNWIND_JIT_TABLES_H_
#define STACKRAY_SYMBOLIZER_UNWIND_JIT_TABLES_H_

#include <array>
#include <cstdint>
#include <list>
#include <optional>

#include "bpf/shared/records.h"
#include "symbolizer/cfi/jit_rows.h"
#include "symbolizer/unwind/row_store.h"

namespace stackray {

class JitTables {
 public:
  explicit JitTables(RowStore& store) : store_(store) {}  // It outlives this.

  // The process's rows are these from now on; what has changed is taken from them. Without rows the
  // process is forgotten.
  void Update(const process_key& process, const cfi::JitListState& list, cfi::JitRows& rows);
  void Remove(const process_key& process);
  // Those that have ended.
  void RemoveGone();

  // nullopt: nothing is known of the process's code.
  std::optional<jit_process> Of(const process_key& process) const;
  const file_entry* FindFile(const file_key& region) const;

  size_t size() const { return known_.size(); }
  uint64_t left_out() const { return left_out_; }  // Pages for want of a region.

 private:
  struct Region {
    uint64_t start = 0, bytes = 0;
    uint32_t pages = 0;  // That were put.
  };
  struct Known {
    process_key process = {};
    cfi::JitListState list;
    uint64_t id = 0;
    std::array<Region, MAX_JIT_REGIONS> regions = {};
    uint32_t same_row = 0;
    bool is_new = true;  // None of its pages was put so far.
  };
  using Entries = std::list<Known>;  // Those that changed last first.
  Known& Find(const process_key& process);
  Entries::iterator Remove(Entries::iterator known);
  void PutLarge(const cfi::JitRows& rows, Known& known);
  void PutPages(cfi::JitRows& rows, Known& known);
  void PutPage(uint64_t page, const cfi::JitRows& rows, Known& known);
  std::optional<uint32_t> RegionOf(uint64_t start, Known& known);
  bool HasAllPages(const Known& known) const;
  void ForgetEvicted(Known& known);
  static FileIdentity IdentityOf(const Known& known, size_t region);
  static jit_process ForBpf(const Known& known);

  RowStore& store_;
  Entries known_;
  uint64_t last_id_ = 0, left_out_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_UNWIND_JIT_TABLES_H_
