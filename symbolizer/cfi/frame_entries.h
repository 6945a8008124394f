// Common information entries and frame description entries (DWARF 5, section 6.4.1; Linux Standard
// Base Core, "The .eh_frame section"), read one at a time.
// Input:   bytes of a foreign file: every length, offset and encoding is checked.
// Memory:  four windows of 8 KiB and the last eight common entries.
// Threads: one at a time.
#ifndef STACKRAY_SYMBOLIZER_CFI_FRAME_ENTRIES_H_
#define STACKRAY_SYMBOLIZER_CFI_FRAME_ENTRIES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "symbolizer/byte_source.h"
#include "symbolizer/cfi/byte_windows.h"
#include "symbolizer/cfi/cfa_program.h"
#include "symbolizer/cfi/frame_section.h"

namespace stackray::cfi {

struct CommonEntry {
  uint64_t position = 0;
  bool usable = false;  // False: damaged, or of a kind that cannot be run here.
  bool has_augmentation_size = false;
  bool signal_frame = false;
  CfaContext context;
  std::vector<uint8_t> instructions;  // context.initial's expressions point into it.
};

struct FrameEntry {
  const CommonEntry* common = nullptr;
  uint64_t begin = 0, end = 0;  // ELF addresses; end >= begin.
  std::span<const uint8_t> instructions;
  uint64_t instructions_address = 0;
};

// One entry's frame, before anything inside it is understood.
struct EntryHeader {
  uint64_t body = 0;    // Position behind the common-entry pointer.
  uint64_t end = 0;     // Position of the next entry.
  uint64_t common = 0;  // Position of its common entry; unused when `is_common`.
  bool is_common = false;
  bool is_terminator = false;  // A length of zero.
};

class FrameEntries {
 public:
  // `source` must outlive this object.
  FrameEntries(const ByteSource* source, const FrameRegion& region);

  const FrameRegion& region() const { return region_; }

  // nullopt: outside of the region, or damaged.
  std::optional<EntryHeader> ReadHeader(uint64_t position);

  enum class ReadResult {
    kOk,
    kNoEntry,    // There is no frame description at this position.
    kBadCommon,  // There may be one, but its common entry is unusable.
  };
  // `entry` is valid until the next call. Costs budget for a common entry that is read anew.
  ReadResult Read(uint64_t position, int64_t* budget, FrameEntry* entry);

  const absl::Status& status() const { return windows_.status(); }
  void ClearStatus() { windows_.ClearStatus(); }
  size_t memory_bytes() const;

 private:
  const CommonEntry* FindCommon(uint64_t position, int64_t* budget);
  bool ParseCommon(ByteCursor cursor, uint64_t body_position, CommonEntry* common);
  bool ParseAugmentation(std::span<const uint8_t> letters, ByteCursor data, uint64_t data_position,
                         CommonEntry* common);
  bool SetReturnRegister(uint64_t number, CfaContext* context) const;
  ReadResult ParseDescription(ByteCursor cursor, uint64_t body_position, FrameEntry* entry);

  FrameRegion region_;
  ByteWindows windows_;
  CfaProgram initial_program_;
  std::vector<CommonEntry> commons_;
  size_t last_common_ = 0, next_victim_ = 0;
};

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_FRAME_ENTRIES_H_
