// Reads little-endian fields of one section in order, through a window of its own.
//
// A read past the end or a failed read gives 0 and makes the cursor fail for good, so that a parser
// may check once after several reads. A jump reads little, going on reads more and more at a time:
// looking up one name costs one small pread, scanning a unit few large ones.
//
// Input:   the source may shrink or fail at any time; everything is checked against the section.
// Memory:  up to kMaxWindowBytes.
// Threads: one at a time.
#ifndef STACKRAY_SYMBOLIZER_DWARF_SECTION_CURSOR_H_
#define STACKRAY_SYMBOLIZER_DWARF_SECTION_CURSOR_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "symbolizer/byte_source.h"

namespace stackray::dwarf {

// Where a section's bytes are. No source: the file has no such section.
struct SectionPart {
  const ByteSource* source = nullptr;  // Of the section's owner, which outlives this.
  uint64_t offset = 0, size_bytes = 0;

  bool empty() const { return source == nullptr || size_bytes == 0; }
  // The part from `begin` on, cut to `size_bytes`; empty where it begins outside.
  SectionPart Slice(uint64_t begin, uint64_t slice_bytes) const;
};

// How much work one question may cost: entries of DWARF looked at, rows of line tables run, windows
// read. What is over it ends as if the section ended there.
struct WorkBudget {
  uint64_t steps_left = 0;
  bool Spend(uint64_t steps) {
    if (steps > steps_left) {
      steps_left = 0;
      return false;
    }
    steps_left -= steps;
    return true;
  }
};

class SectionCursor {
 public:
  static constexpr size_t kMaxWindowBytes = 64 << 10;

  // `budget` outlives this.
  SectionCursor(const SectionPart& part, WorkBudget& budget, uint64_t position = 0)
      : part_(part), budget_(&budget), window_begin_(position) {
    if (part.empty() || position > part.size_bytes) Fail();
  }

  bool ok() const { return !failed_; }
  bool AtEnd() const { return failed_ || position() >= part_.size_bytes; }
  uint64_t position() const { return window_begin_ + at_; }
  WorkBudget& budget() { return *budget_; }
  // Makes a failed cursor good again, where the position is in the section and there is budget.
  void Seek(uint64_t position);
  void Skip(uint64_t bytes);
  void Fail() {
    failed_ = true;
    at_ = end_ = 0;
  }

  template <typename T>
  T Read() {
    T value{};
    if (end_ - at_ < sizeof(T) && !Fill(sizeof(T))) return value;
    std::memcpy(&value, window_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  // An integer of 1 to 8 bytes.
  uint64_t ReadSized(unsigned bytes);
  // LEB128. Longer than ten bytes is damage.
  uint64_t ReadUleb() {
    if (at_ < end_ && window_[at_] < 0x80) return window_[at_++];
    return ReadLeb(false);
  }
  int64_t ReadSleb() { return static_cast<int64_t>(ReadLeb(true)); }
  // The length that a unit or a table begins with (DWARF 5 §7.4): 32 bits, or 64 behind an escape.
  // `*offset_bytes` is then the size of its offsets. Other escapes are nobody's, and damage.
  uint64_t ReadInitialLength(uint8_t* offset_bytes);
  // Text up to its NUL, of which at most `max_bytes` are kept.
  std::string ReadString(size_t max_bytes);
  void SkipString();
  std::vector<uint8_t> ReadBytes(size_t bytes);

 private:
  bool Fill(size_t bytes);
  uint64_t ReadLeb(bool is_signed);

  SectionPart part_;
  WorkBudget* budget_;
  uint64_t window_begin_;  // In the section, of window_[0].
  size_t at_ = 0, end_ = 0;
  size_t next_read_bytes_ = 512;
  bool failed_ = false;
  std::vector<uint8_t> window_;
};

}  // namespace stackray::dwarf

#endif  // STACKRAY_SYMBOLIZER_DWARF_SECTION_CURSOR_H_
