// The index that is made from the entries themselves.
#include <algorithm>
#include <limits>

#include "symbolizer/cfi/fde_index.h"

namespace stackray::cfi {
namespace {

constexpr uint64_t kMaxEntries = 2 << 20;

class ScannedIndex : public FdeIndex {
 public:
  struct Packed {
    uint32_t address;   // From code_begin.
    uint32_t position;  // From the region's begin.
  };
  ScannedIndex(uint64_t code_begin, std::vector<Packed> entries)
      : code_begin_(code_begin), entries_(std::move(entries)) {}

  uint64_t size() const override { return entries_.size(); }
  std::optional<IndexedEntry> Entry(uint64_t index) override {
    if (index >= entries_.size()) return std::nullopt;
    return IndexedEntry{code_begin_ + entries_[index].address, entries_[index].position};
  }
  std::optional<uint64_t> CountUpTo(uint64_t address) override {
    if (address < code_begin_) return 0;
    const auto after =
        std::ranges::upper_bound(entries_, address - code_begin_, {}, &Packed::address);
    return static_cast<uint64_t>(after - entries_.begin());
  }
  absl::Status status() const override { return absl::OkStatus(); }
  void ClearStatus() override {}
  size_t memory_bytes() const override { return entries_.capacity() * sizeof(Packed); }

 private:
  uint64_t code_begin_;
  std::vector<Packed> entries_;  // Ascending by address; equal ones in the file's order.
};

}  // namespace

absl::StatusOr<std::unique_ptr<FdeIndex>> ScanEntries(FrameEntries* entries, uint64_t code_begin,
                                                      uint64_t code_end) {
  const FrameRegion& region = entries->region();
  std::vector<ScannedIndex::Packed> found;
  const uint64_t end = std::min<uint64_t>(region.scan_end, std::numeric_limits<uint32_t>::max());
  uint64_t position = region.scan_begin;
  int64_t budget = kMaxEntries * 16;  // Common entries cost from 64 on.
  for (uint64_t visited = 0; position < end && visited < kMaxEntries && budget > 0; ++visited) {
    const std::optional<EntryHeader> header = entries->ReadHeader(position);
    if (!header) break;
    if (header->is_terminator && !region.end_is_known && !region.is_debug_frame) break;
    FrameEntry entry;
    if (!header->is_terminator && !header->is_common &&
        entries->Read(position, &budget, &entry) == FrameEntries::ReadResult::kOk &&
        entry.begin < entry.end && entry.begin >= code_begin && entry.begin < code_end &&
        entry.begin - code_begin <= std::numeric_limits<uint32_t>::max())
      found.push_back(
          {static_cast<uint32_t>(entry.begin - code_begin), static_cast<uint32_t>(position)});
    position = header->end;
  }
  if (absl::Status status = entries->status(); !status.ok()) return status;
  std::ranges::stable_sort(found, {}, &ScannedIndex::Packed::address);
  found.shrink_to_fit();
  return std::make_unique<ScannedIndex>(code_begin, std::move(found));
}

}  // namespace stackray::cfi
