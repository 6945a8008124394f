// The builtins of a file that holds V8: its embedded blob, and which builtin lies where in it.
//
// Input:   a foreign file, so nothing in it is trusted.
// Memory:  at most kMostBuiltins names, in one text.
// Threads: immutable.
#ifndef STACKRAY_INTERPRETERS_V8_BUILTINS_H_
#define STACKRAY_INTERPRETERS_V8_BUILTINS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "interpreters/runtime.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/elf_image.h"

namespace stackray::v8 {

inline constexpr size_t kMostBuiltins = 4096;

struct Builtin {
  uint64_t file_offset = 0, bytes = 0;
  std::string name;  // "ArrayMap".
};

class Builtins {
 public:
  // By the symbols Builtins_*; without them by the blob's own table and the table of names.
  // Errors: NotFound: no blob that can be read.
  static absl::StatusOr<Builtins> Read(const ElfImage& image, const ByteSource& source);
  Builtins() = default;
  // In any order; those that overlap an earlier one are left out.
  explicit Builtins(std::vector<Builtin> builtins);

  // nullptr: none.
  const Builtin* At(uint64_t file_offset) const;
  const Builtin* Find(std::string_view name) const;
  std::span<const Builtin> all() const { return builtins_; }  // Ascending.
  FileRange range() const;

 private:
  std::vector<Builtin> builtins_;
};

}  // namespace stackray::v8

#endif  // STACKRAY_INTERPRETERS_V8_BUILTINS_H_
