// One ELF file in which a loader looks for its runtime: symbols by name, what lies at them, and
// where that will be in a process.
// Input:   a foreign file, so nothing in it is trusted.
// Memory:  the symbols that were wanted.
// Threads: any, to read.
#ifndef STACKRAY_INTERPRETERS_RUNTIME_FILE_H_
#define STACKRAY_INTERPRETERS_RUNTIME_FILE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreters/runtime.h"
#include "interpreters/symbol_finder.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/elf_image.h"

namespace stackray {

class RuntimeFile {
 public:
  // `image` and `source` outlive this. `anchor` is a function: PlaceOf() counts from the text
  // segment that holds it, or from the first one. Of the symbols that `wanted` accepts, the dynamic
  // ones are there at once.
  RuntimeFile(const ElfImage& image, const ByteSource& source, std::string_view anchor,
              const std::function<bool(std::string_view)>& wanted);
  // The others as well. Reading all symbols of every large file would cost too much: where there is
  // a sign.
  void AddAllSymbols(const std::function<bool(std::string_view)>& wanted);

  const ElfImage& image() const { return image_; }
  const ByteSource& source() const { return source_; }
  const SymbolsByName& symbols() const { return symbols_; }

  const FoundSymbol* Find(std::string_view name) const;  // nullptr: there is none.
  uint64_t AddressOf(std::string_view name) const;       // 0: there is none.
  // Bytes at an ELF address, as they are in the file: at most `size_bytes`, fewer where the file
  // ends, none where nothing lies.
  std::vector<uint8_t> BytesAt(uint64_t address, uint64_t size_bytes) const;
  std::vector<uint8_t> CodeOf(std::string_view function, uint64_t size_bytes) const;

  // As the layouts of bpf/shared/ count: from where byte 0 of the text mapping would be.
  uint64_t PlaceOf(uint64_t address) const;
  uint64_t PlaceOf(std::string_view name) const;  // 0: there is no such symbol.

  // Code by its place in the file, appended as far as it is there.
  void AddRange(uint64_t address, uint64_t size_bytes, std::vector<FileRange>* ranges) const;
  void AddRange(std::string_view function, std::vector<FileRange>* ranges) const;

  // Goes through .rodata, up to 64 MiB of it, in pieces that overlap by kOverlapBytes, until
  // `visit` answers false.
  void VisitConstants(const std::function<bool(std::string_view)>& visit) const;
  static constexpr uint64_t kOverlapBytes = 64;

 private:
  const ElfImage& image_;
  const ByteSource& source_;
  SymbolsByName symbols_;
  std::string anchor_;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_RUNTIME_FILE_H_
