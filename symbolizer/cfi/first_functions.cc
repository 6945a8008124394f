#include "symbolizer/cfi/first_functions.h"

#include <elf.h>

#include <cstring>
#include <string_view>

namespace stackray::cfi {
namespace {

// greenlet::UserGreenlet::inner_bootstrap, with any parameters.
constexpr std::string_view kGreenlet = "_ZN8greenlet12UserGreenlet15inner_bootstrapE";
constexpr uint64_t kMaxNameBytes = 64 << 10, kMaxSymbolBytes = 256 << 10;
constexpr uint64_t kMaxFunctionBytes = 64 << 10;

}  // namespace

std::vector<AddressRange> FindFirstFunctions(const ElfImage& elf, const ByteSource& source) {
  const ElfSection* strings = elf.FindSection(".dynstr");
  const ElfSection* symbols = elf.FindSection(".dynsym");
  if (elf.file_type() != ET_DYN || strings == nullptr || symbols == nullptr ||
      symbols->type != SHT_DYNSYM)
    return {};
  const absl::StatusOr<std::vector<uint8_t>> bytes =
      source.Read(strings->file_offset, strings->size_bytes, kMaxNameBytes);
  if (!bytes.ok()) return {};
  const std::string_view names(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  if (names.find(kGreenlet) == std::string_view::npos) return {};
  const absl::StatusOr<std::vector<uint8_t>> entries =
      source.Read(symbols->file_offset, symbols->size_bytes, kMaxSymbolBytes);
  if (!entries.ok()) return {};
  std::vector<AddressRange> found;
  for (size_t at = 0; at + sizeof(Elf64_Sym) <= entries->size(); at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, entries->data() + at, sizeof(symbol));
    if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
        symbol.st_name >= names.size() || !names.substr(symbol.st_name).starts_with(kGreenlet) ||
        symbol.st_size > kMaxFunctionBytes || symbol.st_value + symbol.st_size < symbol.st_value)
      continue;
    found.push_back({symbol.st_value, symbol.st_value + symbol.st_size});
  }
  return found;
}

}  // namespace stackray::cfi
