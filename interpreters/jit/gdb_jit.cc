#include "interpreters/jit/gdb_jit.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "symbolizer/elf_image.h"

namespace stackray {
namespace {

constexpr uint32_t kVersion = 1;
constexpr uint64_t kDescriptorBytes = 24, kRelevantAt = 8, kFirstAt = 16;
constexpr uint64_t kEntryBytes = 32, kBeforeAt = 8, kElfAt = 16, kSizeAt = 24;
constexpr uint64_t kMaxElfBytes = 64 << 20;

std::string_view TextAt(std::span<const uint8_t> bytes, uint64_t offset) {
  if (offset >= bytes.size()) return {};
  const std::string_view rest(reinterpret_cast<const char*>(bytes.data()) + offset,
                              bytes.size() - offset);
  return rest.substr(0, std::min(rest.find('\0'), kMaxJitNameBytes));
}

// Where the symbol's code is in the process; nullopt: nowhere.
std::optional<uint64_t> AddressOf(const ElfImage& image, const Elf64_Sym& symbol) {
  if (symbol.st_shndx == SHN_ABS) return symbol.st_value;
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= image.sections().size())
    return std::nullopt;
  const ElfSection& section = image.sections()[symbol.st_shndx];
  const bool is_address =
      image.file_type() != ET_REL && symbol.st_value - section.address < section.size_bytes;
  if (is_address) return symbol.st_value;
  if (symbol.st_value >= section.size_bytes) return std::nullopt;
  return section.address + symbol.st_value;
}

bool IsFunction(const Elf64_Sym& symbol) {
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  return (type == STT_FUNC || type == STT_NOTYPE) && symbol.st_size > 0 && symbol.st_name != 0;
}

}  // namespace

absl::StatusOr<GdbJitWords> ReadGdbJitWords(ProcessMemory& memory, uint64_t descriptor) {
  std::array<uint8_t, kDescriptorBytes> bytes;
  if (!memory.Read(descriptor, bytes)) return absl::UnavailableError("no descriptor of JIT code");
  // Before the JIT has begun it may be zeros.
  const auto version = NumberAt<uint32_t>(bytes, 0);
  const auto first = NumberAt<uint64_t>(bytes, kFirstAt);
  if (version != kVersion && (version != 0 || first != 0))
    return absl::UnimplementedError("another version of gdb's list of JIT code");
  GdbJitWords words{NumberAt<uint64_t>(bytes, 0), NumberAt<uint64_t>(bytes, kRelevantAt), first};
  std::array<uint8_t, JIT_ENTRY_WORDS * sizeof(uint64_t)> of_entry;
  if (first != 0 && memory.Read(first + JIT_ENTRY_WORDS_AT, of_entry))
    for (size_t i = 0; i < JIT_ENTRY_WORDS; ++i)
      words.at(JIT_DESCRIPTOR_WORDS + i) = NumberAt<uint64_t>(of_entry, i * sizeof(uint64_t));
  return words;
}

GdbJitList ReadGdbJitList(ProcessMemory& memory, uint64_t first, size_t most) {
  GdbJitList list;
  uint64_t before = 0, at = first;
  std::array<uint8_t, kEntryBytes> bytes;
  while (at != 0 && list.entries.size() < most) {
    if (!memory.Read(at, bytes) || NumberAt<uint64_t>(bytes, kBeforeAt) != before) return list;
    const GdbJitEntry entry{.entry = at,
                            .elf = NumberAt<uint64_t>(bytes, kElfAt),
                            .size_bytes = NumberAt<uint64_t>(bytes, kSizeAt)};
    if (entry.elf == 0 || entry.size_bytes > kMaxElfBytes) return list;
    list.entries.push_back(entry);
    before = std::exchange(at, NumberAt<uint64_t>(bytes, 0));
  }
  list.is_whole = at == 0;
  return list;
}

absl::Status ProcessBytes::ReadAt(uint64_t offset, std::span<uint8_t> out) const {
  if (offset > size_bytes_ || out.size() > size_bytes_ - offset)
    return absl::OutOfRangeError("read past the end");
  if (!out.empty() && !memory_.Read(address_ + offset, out))
    return absl::UnavailableError("cannot read the process's memory");
  return absl::OkStatus();
}

absl::StatusOr<std::vector<JitFunction>> FunctionsOfJitElf(const ByteSource& elf) {
  const absl::StatusOr<ElfImage> image = ElfImage::Create(elf);
  if (!image.ok()) return image.status();
  const ElfSection* const symbols = image->FindSection(".symtab");
  if (symbols == nullptr || symbols->link >= image->sections().size())
    return absl::DataLossError("an ELF file of JIT code without symbols");
  const ElfSection& names = image->sections()[symbols->link];
  const auto entries = elf.Read(symbols->file_offset, symbols->size_bytes, kMaxSymbolBytes);
  if (!entries.ok()) return entries.status();
  const auto texts = elf.Read(names.file_offset, names.size_bytes, kMaxSymbolBytes);
  if (!texts.ok()) return texts.status();
  std::vector<JitFunction> functions;
  for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= entries->size(); at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, entries->data() + at, sizeof(symbol));
    if (!IsFunction(symbol) || functions.size() >= kMaxFunctionsOfElf) continue;
    const std::optional<uint64_t> address = AddressOf(*image, symbol);
    if (!address) continue;
    functions.push_back({.start = *address,
                         .size_bytes = symbol.st_size,
                         .name = std::string(TextAt(*texts, symbol.st_name))});
  }
  return functions;
}

}  // namespace stackray
