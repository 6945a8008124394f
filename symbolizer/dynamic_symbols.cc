// The tables' layouts are the System V ABI's (gABI, chapter 5, "Dynamic Section" and "Hash Table");
// that of DT_GNU_HASH is described in the documentation of GNU ld and in glibc 2.36's
// elf/dl-lookup.c.
#include "symbolizer/dynamic_symbols.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace stackray {
namespace {

constexpr uint64_t kMaxDynamicBytes = 64 << 10;
constexpr uint64_t kMaxSymbols = 16 << 20;
constexpr uint64_t kMaxHashBytes = 1 << 20;

struct DynamicTable {
  std::optional<uint64_t> symbols, names, names_size, symbol_size, hash, gnu_hash;

  void Take(const Elf64_Dyn& entry) {
    const uint64_t value = entry.d_un.d_val;
    switch (entry.d_tag) {
      case DT_SYMTAB: symbols = value; break;
      case DT_STRTAB: names = value; break;
      case DT_STRSZ: names_size = value; break;
      case DT_SYMENT: symbol_size = value; break;
      case DT_HASH: hash = value; break;
      case DT_GNU_HASH: gnu_hash = value; break;
      default: break;
    }
  }
};

absl::StatusOr<DynamicTable> ReadDynamic(const ElfImage& image, const ByteSource& source) {
  if (!image.dynamic()) return absl::NotFoundError("no dynamic segment");
  const std::optional<uint64_t> offset = image.OffsetOfAddress(image.dynamic()->address);
  if (!offset) return absl::DataLossError("dynamic segment outside of the file");
  const uint64_t there = source.size_bytes() - std::min(source.size_bytes(), *offset);
  const uint64_t bytes = std::min({image.dynamic()->size_bytes, there, kMaxDynamicBytes});
  std::vector<Elf64_Dyn> entries(bytes / sizeof(Elf64_Dyn));
  const std::span<uint8_t> to(reinterpret_cast<uint8_t*>(entries.data()),
                              entries.size() * sizeof(Elf64_Dyn));
  if (absl::Status status = source.ReadAt(*offset, to); !status.ok()) return status;
  DynamicTable table;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    table.Take(entry);
  }
  return table;
}

// Words of the file from an ELF address on, as many of `count` as are there.
absl::StatusOr<std::vector<uint32_t>> ReadWords(const ElfImage& image, const ByteSource& source,
                                                uint64_t address, uint64_t count) {
  const std::optional<uint64_t> offset = image.OffsetOfAddress(address);
  if (!offset || *offset >= source.size_bytes())
    return absl::DataLossError("hash table outside of the file");
  const uint64_t there = (source.size_bytes() - *offset) / sizeof(uint32_t);
  std::vector<uint32_t> words(std::min({count, there, kMaxHashBytes / sizeof(uint32_t)}));
  const std::span<uint8_t> to(reinterpret_cast<uint8_t*>(words.data()),
                              words.size() * sizeof(uint32_t));
  if (absl::Status status = source.ReadAt(*offset, to); !status.ok()) return status;
  return words;
}

// DT_HASH has a word for each symbol: its second word says how many.
absl::StatusOr<uint64_t> CountByHash(const ElfImage& image, const ByteSource& source,
                                     uint64_t address) {
  const auto words = ReadWords(image, source, address, 2);
  if (!words.ok()) return words.status();
  if (words->size() < 2) return absl::DataLossError("hash table cut");
  return uint64_t{(*words)[1]};
}

// DT_GNU_HASH has buckets of symbols, sorted by bucket: the last symbol of all is the end of the
// chain of the highest one.
absl::StatusOr<uint64_t> CountByGnuHash(const ElfImage& image, const ByteSource& source,
                                        uint64_t address) {
  constexpr uint64_t kHeadWords = 4, kBloomWords = 2;
  const auto head = ReadWords(image, source, address, kHeadWords);
  if (!head.ok()) return head.status();
  if (head->size() < kHeadWords) return absl::DataLossError("hash table cut");
  const uint64_t buckets = (*head)[0], first = (*head)[1], bloom = (*head)[2];
  const uint64_t buckets_at = address + sizeof(uint32_t) * (kHeadWords + bloom * kBloomWords);
  const auto starts = ReadWords(image, source, buckets_at, buckets);
  if (!starts.ok()) return starts.status();
  uint64_t last = 0;
  for (const uint32_t start : *starts) last = std::max(last, uint64_t{start});
  if (last < first) return first;  // None is exported.
  const auto chain = ReadWords(
      image, source, buckets_at + sizeof(uint32_t) * (buckets + last - first), kMaxHashBytes);
  if (!chain.ok()) return chain.status();
  const auto end =
      std::find_if(chain->begin(), chain->end(), [](uint32_t hash) { return (hash & 1) != 0; });
  if (end == chain->end()) return absl::DataLossError("hash chain without an end");
  return last + static_cast<uint64_t>(end - chain->begin()) + 1;
}

absl::StatusOr<uint64_t> CountOf(const ElfImage& image, const ByteSource& source,
                                 const DynamicTable& table) {
  if (table.hash) return CountByHash(image, source, *table.hash);
  if (table.gnu_hash) return CountByGnuHash(image, source, *table.gnu_hash);
  return absl::NotFoundError("no hash table, so nothing says how many symbols there are");
}

}  // namespace

absl::StatusOr<DynamicSymbols> FindDynamicSymbols(const ElfImage& image, const ByteSource& source) {
  const absl::StatusOr<DynamicTable> table = ReadDynamic(image, source);
  if (!table.ok()) return table.status();
  if (!table->symbols || !table->names || !table->names_size)
    return absl::NotFoundError("no dynamic symbols");
  if (table->symbol_size.value_or(sizeof(Elf64_Sym)) != sizeof(Elf64_Sym))
    return absl::DataLossError("dynamic symbols of another size");
  const std::optional<uint64_t> symbols = image.OffsetOfAddress(*table->symbols);
  const std::optional<uint64_t> names = image.OffsetOfAddress(*table->names);
  if (!symbols || !names || *symbols >= source.size_bytes() || *names >= source.size_bytes())
    return absl::DataLossError("dynamic symbols outside of the file");
  const absl::StatusOr<uint64_t> count = CountOf(image, source, *table);
  if (!count.ok()) return count.status();
  return DynamicSymbols{
      .file_offset = *symbols,
      .count =
          std::min({*count, (source.size_bytes() - *symbols) / sizeof(Elf64_Sym), kMaxSymbols}),
      .names_offset = *names,
      .names_size_bytes = std::min(*table->names_size, source.size_bytes() - *names)};
}

}  // namespace stackray
