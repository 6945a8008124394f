// One file of the spool, known by its name alone.
//
// The name repeats what accounting needs, so that a file whose content is torn or damaged is still
// counted in items:
//
//   SEQUENCE[.PART]-ADDEDMS-ITEMS-MARKERS-BYTES.batch
//
// SEQUENCE: 16 hex digits, in the order of Add(). PART: where this batch is a piece of one that was
// too large, one digit 0–9 or a–z a split, so that pieces sort in the place of the whole.
#ifndef STACKRAY_REPORTER_SPOOL_SPOOL_ENTRY_H_
#define STACKRAY_REPORTER_SPOOL_SPOOL_ENTRY_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stackray {

struct SpoolEntry {
  static constexpr size_t kHeaderBytes = 64;  // Of the file, at least; later formats have more.
  static constexpr size_t kTracedHeaderBytes = 136;  // Of a batch that has a span.
  static constexpr size_t kMaxHeaderBytes = 4096;
  static constexpr size_t kMaxParts = 36;       // Of one split.
  static constexpr size_t kMaxPartDigits = 40;  // Splits of splits.
  static constexpr uint64_t kMaxPayloadBytes = 64 << 20;
  static constexpr uint64_t kMaxSequence = uint64_t{1} << 60;

  uint64_t sequence = 0;
  std::string part;
  int64_t added_unix_ms = 0;
  uint64_t items = 0;    // Payload::items
  uint64_t markers = 0;  // Payload::markers, not more than `items`.
  uint64_t payload_bytes = 0;

  // Whether a whole file can have that size: its header alone knows its own length.
  bool MayHaveSize(uint64_t bytes) const {
    return bytes >= kHeaderBytes + payload_bytes && bytes <= kMaxHeaderBytes + payload_bytes;
  }
  // As it counts against the spool's bound: whole blocks, so that the bound holds for many small
  // batches too and bounds their number.
  static uint64_t DiskBytes(uint64_t payload) {
    return (kTracedHeaderBytes + payload + 4095) & ~4095ull;
  }
  uint64_t disk_bytes() const { return DiskBytes(payload_bytes); }
  // Is this a piece, of any depth, of `whole`?
  bool IsPartOf(const SpoolEntry& whole) const {
    return sequence == whole.sequence && part.size() > whole.part.size() &&
           part.compare(0, whole.part.size(), whole.part) == 0;
  }
  // The piece number `index` (below kMaxParts) of this one; counts and bytes are the caller's.
  SpoolEntry Part(size_t index) const;

  std::string FileName() const;
  // Nothing where FileName() would not have given that very name.
  static std::optional<SpoolEntry> FromFileName(std::string_view name);

  friend bool operator==(const SpoolEntry&, const SpoolEntry&) = default;
  // Oldest first.
  static bool Before(const SpoolEntry& a, const SpoolEntry& b) {
    return a.sequence != b.sequence ? a.sequence < b.sequence : a.part < b.part;
  }
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_SPOOL_SPOOL_ENTRY_H_
