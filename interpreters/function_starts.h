// Where a file's functions begin and end, without any symbol: by the search table of .eh_frame_hdr.
// Input:   a foreign file, so nothing in it is trusted. A table of another encoding than the one
//          that linkers make, or an unsorted one, has no functions.
// Memory:  8 bytes a function, at most four million.
// Threads: immutable after Read().
#ifndef STACKRAY_INTERPRETERS_FUNCTION_STARTS_H_
#define STACKRAY_INTERPRETERS_FUNCTION_STARTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "symbolizer/byte_source.h"
#include "symbolizer/elf_image.h"

namespace stackray {

// ELF addresses.
struct FunctionSpan {
  uint64_t begin = 0, end = 0;
  bool Contains(uint64_t address) const { return address >= begin && address < end; }
  uint64_t size_bytes() const { return end - begin; }
  friend bool operator==(const FunctionSpan&, const FunctionSpan&) = default;
};

class FunctionStarts {
 public:
  static FunctionStarts Read(const ElfImage& image, const ByteSource& source);
  explicit FunctionStarts(std::vector<uint64_t> starts) : starts_(std::move(starts)) {}

  // The function with this address; it reaches up to the next start. nullopt: none begins below it,
  // or none above.
  std::optional<FunctionSpan> Find(uint64_t address) const;
  bool empty() const { return starts_.empty(); }

 private:
  const std::vector<uint64_t> starts_;  // Ascending.
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_FUNCTION_STARTS_H_
