// Names of native code: (executable, ELF address) → functions, as the symbol tables have them or,
// where these know nothing of the address, Go's own table of functions.
//
// Answers are repeatable, never "already sent" (docs/symbols.md). The cache is bounded in bytes and
// may be wiped between any two calls; that costs CPU only. Half of it is for tables, half for names
// that were read and demangled. The table used last always stays, so that one larger than the whole
// cache (at most 48 MiB on top of it) is not read again for every frame.
#ifndef STACKRAY_SYMBOLIZER_FRAME_NAMES_H_
#define STACKRAY_SYMBOLIZER_FRAME_NAMES_H_

#include <cstdint>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "profile/frame.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/go/go_table.h"
#include "symbolizer/symbol_table.h"

namespace stackray {

// Threads: one thread.
class FrameNames {
 public:
  explicit FrameNames(size_t cache_bytes) : cache_bytes_(cache_bytes) {}

  // The function of the code at `elf_address`, one line; empty when no symbol's own range
  // covers it. `handle` names the content of `source` and is never reused for other content.
  // A file that is no ELF or is damaged has no names. A table that was read while the file could
  // not be is not kept, so a later call asks again. Of a file that was overwritten since
  // (ByteSource::IsUnchanged()) the names are known that were read before.
  std::vector<SourceLine> Resolve(uint64_t handle, const ByteSource& source, uint64_t elf_address);

  void Wipe();
  void SetCacheBytes(size_t cache_bytes);  // What is over it goes at once.
  size_t bytes() const { return bytes_ + line_bytes_; }

 private:
  struct Entry {
    uint64_t handle = 0;
    std::optional<SymbolTable> table;  // nullopt: a file without any.
    std::optional<GoTable> go;         // nullopt: none, or not looked for.
    bool looks_like_go = false;
    bool is_go_known = true;  // False: it is worth looking.
    size_t bytes = 0;
  };
  // These live until the next call.
  Entry* EntryOf(uint64_t handle, const ByteSource& source);
  const GoTable* GoTableOf(Entry& entry, const ByteSource& source);
  const SourceLine* LineOf(const Entry& entry, size_t range, const ByteSource& source);
  const SourceLine* LineOfGo(uint64_t handle, const GoTable& table, uint64_t elf_address,
                             const ByteSource& source);
  const SourceLine* Keep(const std::pair<uint64_t, size_t>& key, SourceLine&& line);
  void Evict();
  void WipeLines();

  size_t cache_bytes_;
  size_t bytes_ = 0;          // Of the tables: half of the cache, but one table may be larger.
  size_t line_bytes_ = 0;     // Of the names: the other half.
  std::list<Entry> entries_;  // Most recently used first.
  absl::flat_hash_map<uint64_t, std::list<Entry>::iterator> by_handle_;
  absl::flat_hash_map<std::pair<uint64_t, size_t>, SourceLine> lines_;  // By handle and range.
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_FRAME_NAMES_H_
