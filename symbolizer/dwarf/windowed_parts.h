// Sections whose neighbouring reads cost one system call: for a pass over all units of a file,
// which reads a few dozen bytes of each of several sections, unit by unit, and in their order as a
// rule.
// Memory:  a window of 8 KiB for each section that is read.
// Threads: one at a time, other than other sources.
#ifndef STACKRAY_SYMBOLIZER_DWARF_WINDOWED_PARTS_H_
#define STACKRAY_SYMBOLIZER_DWARF_WINDOWED_PARTS_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "symbolizer/byte_source.h"
#include "symbolizer/dwarf/debug_sections.h"

namespace stackray::dwarf {

// What another source says, through one window. Bytes that the other one cannot read cannot be read
// here either.
class WindowedSource : public ByteSource {
 public:
  static constexpr size_t kWindowBytes = 8 << 10;

  WindowedSource() = default;
  // `source` outlives this.
  explicit WindowedSource(const ByteSource* source) : source_(source) {}
  uint64_t size_bytes() const override { return source_->size_bytes(); }
  absl::Status ReadAt(uint64_t offset, std::span<uint8_t> out) const override;

 private:
  const ByteSource* source_ = nullptr;
  mutable uint64_t begin_ = 0;
  mutable std::vector<uint8_t> window_;
};

class WindowedParts {
 public:
  // The sections' sources outlive this.
  explicit WindowedParts(const SectionParts& parts);
  WindowedParts(const WindowedParts&) = delete;
  WindowedParts& operator=(const WindowedParts&) = delete;

  // They are read through this, and so not any more when it is gone.
  const SectionParts& parts() const { return parts_; }

 private:
  SectionParts parts_;
  std::array<WindowedSource, 8> sources_;
};

}  // namespace stackray::dwarf

#endif  // STACKRAY_SYMBOLIZER_DWARF_WINDOWED_PARTS_H_
