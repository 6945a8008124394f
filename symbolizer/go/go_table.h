// Go's own table of functions: ELF address → functions, inlined ones first, with file and line, as
// the Go runtime itself knows them.
//
// The table has no sizes: a function reaches up to the next one, padding included, as it does for
// the runtime. Names of generic functions have "[...]" for their types.
//
// Input:   a foreign file, so nothing in it is trusted. A question looks at 4 Mi steps of value
//          tables at most and follows 120 inlined calls from the innermost on. A line says that
//          more are left out (inlined_cut.h); the function itself is not.
// Memory:  the layout alone, some 200 bytes. Everything is read again for every question.
// Threads: immutable after Open().
#ifndef STACKRAY_SYMBOLIZER_GO_GO_TABLE_H_
#define STACKRAY_SYMBOLIZER_GO_GO_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "profile/frame.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/elf_image.h"
#include "symbolizer/go/go_layout.h"

namespace stackray {

class GoTable {
 public:
  static constexpr uint64_t kStepsOfQuestion = 4 << 20;
  static constexpr size_t kMaxInlined = 120;

  // Keeps nothing of either. Errors: as FindGoLayout().
  static absl::StatusOr<GoTable> Open(const ElfImage& image, const ByteSource& source);

  // `source` has the same content as at Open(), here and below. The number of the function that the
  // address belongs to, for NameOf() and as a key of its name; nullopt: none.
  std::optional<uint64_t> FindFunction(const ByteSource& source, uint64_t elf_address) const;
  // nullopt: it cannot be read.
  std::optional<std::string> NameOf(const ByteSource& source, uint64_t function) const;

  // Innermost first; the last is the function that the code belongs to. Empty: the table does not
  // know the address.
  std::vector<SourceLine> Resolve(const ByteSource& source, uint64_t elf_address) const;

  const GoLayout& layout() const { return layout_; }

 private:
  explicit GoTable(const GoLayout& layout) : layout_(layout) {}
  const GoLayout layout_;
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_GO_GO_TABLE_H_
