// The unwind rows that the JIT compilers of one process have told, by address, and the pages that
// BPF reads of them (bpf/shared/jit_rows.h).
//
// Code memory is used again: what is newer takes the place of all that it overlaps.
//
// Input:   rows of ReadCodeRows(), whose addresses a process has chosen.
// Memory:  bytes() at most `limit_bytes`; what does not fit is left out, and counted.
// Threads: one at a time.
#ifndef STACKRAY_SYMBOLIZER_CFI_JIT_ROWS_H_
#define STACKRAY_SYMBOLIZER_CFI_JIT_ROWS_H_

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "bpf/shared/jit_rows.h"
#include "symbolizer/cfi/code_rows.h"

namespace stackray::cfi {

// gdb's descriptor, as it was when the rows were read.
struct JitListState {
  uint64_t descriptor = 0;  // 0: the rows are no list's.
  std::array<uint64_t, JIT_LIST_WORDS> words = {};
  friend bool operator==(const JitListState&, const JitListState&) = default;
};

class JitRows {
 public:
  // Who has told them: what a list says may be taken back as a whole.
  enum class From { kList, kDump };
  static constexpr uint64_t kUserEnd = uint64_t{1} << 47;

  explicit JitRows(size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // False: no user memory, no room, or rows that differ over more code than a region has.
  bool Put(CodeRows rows, From from);
  // Code that came into [begin, end) without rows.
  void Erase(uint64_t begin, uint64_t end);
  void EraseAll(From from);
  void Clear();

  // A piece of code that is larger than a region and has one row throughout; nullptr: there is
  // none. Of several the first one.
  const CodeRows* large() const;
  // The blob whose first row is its row; empty: there is none.
  std::vector<uint8_t> EncodeLarge() const;
  bool has_changed() const { return !changed_.empty() || has_large_changed_; }
  // The pages (address >> PAGE_TEXT_SHIFT) that have changed since the last call.
  std::set<uint64_t> TakeChanged();
  // All pages that have rows.
  std::set<uint64_t> Pages() const;
  // A page's blob; empty: it has no rows.
  std::vector<uint8_t> EncodePage(uint64_t page) const;

  bool empty() const { return rows_.empty(); }
  size_t size() const { return rows_.size(); }
  size_t bytes() const { return bytes_; }
  uint64_t left_out() const { return left_out_; }

 private:
  struct Known {
    CodeRows rows;
    From from;
  };
  using Map = std::map<uint64_t, Known>;  // By begin; disjoint.
  Map::iterator Remove(Map::iterator known);
  void MarkChanged(const CodeRows& rows);

  const size_t limit_bytes_;
  Map rows_;
  std::set<uint64_t> changed_;
  bool has_large_changed_ = false;
  size_t bytes_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_JIT_ROWS_H_
