// The lazily read table of .eh_frame_hdr.
#include <dwarf.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "symbolizer/cfi/fde_index.h"
#include "symbolizer/cfi/pointer_encoding.h"

namespace stackray::cfi {
namespace {

constexpr uint64_t kRunEntries = 256;
constexpr size_t kWindows = 2,
                 kWindowBytes = 5 << 10;  // A run of 16-byte entries and some alignment.
constexpr uint8_t kUsualEncoding = DW_EH_PE_datarel | DW_EH_PE_sdata4;
constexpr uint64_t kUnknown = ~uint64_t{0};

class HeaderIndex : public FdeIndex {
 public:
  HeaderIndex(const ByteSource* source, const HeaderTableLocation& table, const FrameRegion& region)
      : table_(table),
        region_address_(region.address),
        pointer_bytes_(EncodedPointerBytes(table.encoding)),
        entry_bytes_(2 * pointer_bytes_),
        windows_(source, table.file_offset, table.entry_count * entry_bytes_, kWindows,
                 kWindowBytes),
        run_begins_((table.entry_count + kRunEntries - 1) / kRunEntries, kUnknown) {}

  uint64_t size() const override { return table_.entry_count; }

  std::optional<IndexedEntry> Entry(uint64_t index) override {
    const uint8_t* bytes = windows_.Get(index * entry_bytes_, entry_bytes_);
    if (bytes == nullptr) return std::nullopt;
    const std::optional<uint64_t> address = Decode(bytes, index * entry_bytes_);
    const std::optional<uint64_t> target =
        Decode(bytes + pointer_bytes_, index * entry_bytes_ + pointer_bytes_);
    if (!address || !target) return std::nullopt;
    return IndexedEntry{*address, *target - region_address_};
  }

  std::optional<uint64_t> CountUpTo(uint64_t address) override {
    const std::optional<uint64_t> runs = RunsUpTo(address);
    if (!runs || *runs == 0) return runs;
    const uint64_t first = (*runs - 1) * kRunEntries;
    const uint64_t count = std::min(kRunEntries, table_.entry_count - first);
    const uint8_t* bytes = windows_.Get(first * entry_bytes_, count * entry_bytes_);
    if (bytes == nullptr) return std::nullopt;
    uint64_t low = 0, high = count;
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      const std::optional<uint64_t> begin =
          Decode(bytes + middle * entry_bytes_, (first + middle) * entry_bytes_);
      if (!begin) return std::nullopt;
      if (*begin <= address)
        low = middle + 1;
      else
        high = middle;
    }
    return first + low;
  }

  absl::Status status() const override { return windows_.status(); }
  void ClearStatus() override { windows_.ClearStatus(); }
  size_t memory_bytes() const override {
    return windows_.memory_bytes() + run_begins_.capacity() * sizeof(uint64_t);
  }

 private:
  // The pointer at `position` of the table.
  std::optional<uint64_t> Decode(const uint8_t* bytes, uint64_t position) const {
    if (table_.encoding == kUsualEncoding) {
      int32_t offset;
      std::memcpy(&offset, bytes, sizeof(offset));
      return table_.header_address + static_cast<uint64_t>(static_cast<int64_t>(offset));
    }
    ByteCursor cursor(std::span(bytes, pointer_bytes_));
    return ReadEncodedPointer(
        cursor, table_.encoding,
        {.field_address = table_.table_address + position, .data_address = table_.header_address});
  }

  // How many runs begin at or below `address`.
  std::optional<uint64_t> RunsUpTo(uint64_t address) {
    uint64_t low = 0, high = run_begins_.size();
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      if (run_begins_[middle] == kUnknown && !LearnRun(middle)) return std::nullopt;
      if (run_begins_[middle] <= address)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  bool LearnRun(uint64_t run) {
    std::array<uint8_t, 8> bytes;
    const uint64_t position = run * kRunEntries * entry_bytes_;
    if (!windows_.ReadOnce(position, std::span(bytes).first(pointer_bytes_))) return false;
    const std::optional<uint64_t> begin = Decode(bytes.data(), position);
    if (!begin) return false;
    run_begins_[run] = *begin;
    return true;
  }

  HeaderTableLocation table_;
  uint64_t region_address_;
  size_t pointer_bytes_, entry_bytes_;
  ByteWindows windows_;
  std::vector<uint64_t> run_begins_;  // kUnknown: not read yet.
};

}  // namespace

std::unique_ptr<FdeIndex> MakeHeaderIndex(const ByteSource* source,
                                          const HeaderTableLocation& table,
                                          const FrameRegion& region) {
  return std::make_unique<HeaderIndex>(source, table, region);
}

}  // namespace stackray::cfi
