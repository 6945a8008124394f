// Which frame description entry belongs to an address: a sorted list, read lazily from
// .eh_frame_hdr or made once by going through all entries. Threads: one at a time.
#ifndef STACKRAY_SYMBOLIZER_CFI_FDE_INDEX_H_
#define STACKRAY_SYMBOLIZER_CFI_FDE_INDEX_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "symbolizer/cfi/byte_windows.h"
#include "symbolizer/cfi/frame_entries.h"

namespace stackray::cfi {

struct IndexedEntry {
  uint64_t address = 0;   // Where the entry's code begins.
  uint64_t position = 0;  // Of the entry, as FrameEntries counts.
};

class FdeIndex {
 public:
  virtual ~FdeIndex() = default;
  virtual uint64_t size() const = 0;
  // nullopt: the bytes cannot be read or decoded.
  virtual std::optional<IndexedEntry> Entry(uint64_t index) = 0;
  // How many entries begin at or below `address`; nullopt as above. Of a damaged, unsorted table:
  // some number up to size().
  virtual std::optional<uint64_t> CountUpTo(uint64_t address) = 0;
  virtual absl::Status status() const = 0;
  virtual void ClearStatus() = 0;
  virtual size_t memory_bytes() const = 0;
};

// Over the binary search table. Reads it in pieces of 4 KiB, and remembers the first address of
// each run of 256 entries that a search has met (8 bytes a run; at most 256 KiB for 8 million
// entries).
std::unique_ptr<FdeIndex> MakeHeaderIndex(const ByteSource* source,
                                          const HeaderTableLocation& table,
                                          const FrameRegion& region);

// Over the entries themselves: goes through [scan_begin, scan_end) once, at most two million
// entries. Entries without code and outside of [code_begin, code_end) are left out. What follows a
// damaged entry is not seen. Memory: 8 bytes an entry. Errors: Unavailable and OutOfRange as
// ByteSource.
absl::StatusOr<std::unique_ptr<FdeIndex>> ScanEntries(FrameEntries* entries, uint64_t code_begin,
                                                      uint64_t code_end);

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_FDE_INDEX_H_
