#include "interpreters/v8/builtins.h"

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "interpreters/symbol_finder.h"
#include "interpreters/v8/blob_table.h"

namespace stackray::v8 {
namespace {

constexpr std::string_view kPrefix = "Builtins_";

std::vector<Builtin> OfSymbols(const ElfImage& image, const ByteSource& source) {
  const SymbolsByName symbols =
      FindSymbols(image, source, SymbolSection::kAll,
                  [](std::string_view name) { return name.starts_with(kPrefix); });
  std::vector<Builtin> builtins;
  builtins.reserve(symbols.size());
  for (const auto& [name, symbol] : symbols) {
    const std::optional<uint64_t> offset = image.OffsetOfAddress(symbol.address);
    if (!offset || symbol.size_bytes == 0) continue;
    builtins.push_back({*offset, symbol.size_bytes, name.substr(kPrefix.size())});
  }
  return builtins;
}

}  // namespace

Builtins::Builtins(std::vector<Builtin> builtins) {
  std::ranges::sort(builtins, {}, &Builtin::file_offset);
  uint64_t end = 0;
  for (Builtin& builtin : builtins) {
    if (builtin.file_offset < end || builtin.bytes == 0 ||
        builtin.bytes > UINT64_MAX - builtin.file_offset || builtins_.size() >= kMostBuiltins)
      continue;
    end = builtin.file_offset + builtin.bytes;
    builtins_.push_back(std::move(builtin));
  }
}

absl::StatusOr<Builtins> Builtins::Read(const ElfImage& image, const ByteSource& source) {
  constexpr size_t kFewest = 100;
  std::vector<Builtin> builtins = OfSymbols(image, source);
  if (builtins.size() < kFewest) builtins = BuiltinsOfTables(image, source);
  if (builtins.size() < kFewest) return absl::NotFoundError("no embedded blob");
  return Builtins(std::move(builtins));
}

const Builtin* Builtins::At(uint64_t file_offset) const {
  const auto next = std::ranges::upper_bound(builtins_, file_offset, {}, &Builtin::file_offset);
  if (next == builtins_.begin()) return nullptr;
  const Builtin& found = *std::prev(next);
  return file_offset - found.file_offset < found.bytes ? &found : nullptr;
}

const Builtin* Builtins::Find(std::string_view name) const {
  const auto found = std::ranges::find(builtins_, name, &Builtin::name);
  return found == builtins_.end() ? nullptr : &*found;
}

FileRange Builtins::range() const {
  if (builtins_.empty()) return {};
  return {builtins_.front().file_offset, builtins_.back().file_offset + builtins_.back().bytes};
}

}  // namespace stackray::v8
