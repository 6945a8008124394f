#include "symbolizer/frame_names.h"

#include <utility>

#include "symbolizer/demangle.h"
#include "symbolizer/elf_image.h"

namespace stackray {
namespace {

// What one entry costs beside its table: the list's node and the map's slot.
constexpr size_t kEntryOverheadBytes = 64;
// What one name costs beside its text: the map's slot.
constexpr size_t kLineOverheadBytes = 48;
// In a name's key: the number is that of a function of Go's table, not of a symbol's range.
constexpr size_t kGoFunctions = size_t{1} << 63;

// Go's linker adds the calling convention to the symbol of a function that has two (mangleABIName()
// in cmd/link's symtab.go, Go 1.17 to 1.26); Go's own table, tracebacks and tools call it without.
// A hostile file's symbol may be nothing else.
void DropGoConvention(std::string& symbol) {
  for (const std::string_view end : {".abi0", ".abiinternal"})
    if (symbol.size() > end.size() && symbol.ends_with(end))
      symbol.resize(symbol.size() - end.size());
}

SourceLine LineOfSymbol(std::string symbol) {
  SourceLine line;
  line.function = Demangle(symbol);
  if (line.function != symbol) line.system_name = std::move(symbol);
  return line;
}

}  // namespace

std::vector<SourceLine> FrameNames::Resolve(uint64_t handle, const ByteSource& source,
                                            uint64_t elf_address) {
  Entry* entry = EntryOf(handle, source);
  if (entry == nullptr) return {};
  const SourceLine* line = nullptr;
  if (entry->table) {
    if (const std::optional<size_t> range = entry->table->FindRange(elf_address))
      line = LineOf(*entry, *range, source);
  }
  if (line == nullptr) {
    if (const GoTable* go = GoTableOf(*entry, source))
      line = LineOfGo(handle, *go, elf_address, source);
  }
  if (line == nullptr) return {};
  return {*line};
}

// Reading a name is a system call and demangling it about as long again; batches ask for the same
// names over and over.
const SourceLine* FrameNames::LineOf(const Entry& entry, size_t range, const ByteSource& source) {
  const std::pair<uint64_t, size_t> key(entry.handle, range);
  if (const auto found = lines_.find(key); found != lines_.end()) return &found->second;
  std::optional<std::string> symbol = entry.table->NameOfRange(source, range);
  if (!symbol || !source.IsUnchanged()) return nullptr;
  if (entry.looks_like_go) DropGoConvention(*symbol);
  return Keep(key, LineOfSymbol(*std::move(symbol)));
}

const SourceLine* FrameNames::LineOfGo(uint64_t handle, const GoTable& table, uint64_t elf_address,
                                       const ByteSource& source) {
  const std::optional<uint64_t> function = table.FindFunction(source, elf_address);
  if (!function) return nullptr;
  const std::pair<uint64_t, size_t> key(handle, kGoFunctions | *function);
  if (const auto found = lines_.find(key); found != lines_.end()) return &found->second;
  std::optional<std::string> name = table.NameOf(source, *function);
  if (!name || !source.IsUnchanged()) return nullptr;
  return Keep(key, {.function = *std::move(name)});
}

const SourceLine* FrameNames::Keep(const std::pair<uint64_t, size_t>& key, SourceLine&& line) {
  if (line_bytes_ > cache_bytes_ / 2) WipeLines();
  line_bytes_ += sizeof(line) + kLineOverheadBytes + line.function.size() + line.system_name.size();
  return &lines_.emplace(key, std::move(line)).first->second;
}

void FrameNames::WipeLines() {
  lines_.clear();
  line_bytes_ = 0;
}

FrameNames::Entry* FrameNames::EntryOf(uint64_t handle, const ByteSource& source) {
  if (const auto found = by_handle_.find(handle); found != by_handle_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    return &entries_.front();
  }
  Entry entry{handle};
  const absl::StatusOr<ElfImage> image = ElfImage::Create(source);
  if (absl::IsUnavailable(image.status())) return nullptr;
  if (image.ok()) {
    absl::StatusOr<SymbolTable> table = SymbolTable::Create(*image, source);
    if (absl::IsUnavailable(table.status())) return nullptr;
    if (table.ok() && table->range_count() > 0) entry.table = *std::move(table);
    entry.looks_like_go = LooksLikeGo(*image);
    entry.is_go_known = !entry.looks_like_go;
  }
  if (!source.IsUnchanged()) return nullptr;
  entry.bytes = sizeof(Entry) + kEntryOverheadBytes;
  if (entry.table) entry.bytes += entry.table->bytes() - sizeof(SymbolTable);
  bytes_ += entry.bytes;
  entries_.push_front(std::move(entry));
  by_handle_[handle] = entries_.begin();
  Evict();
  return &entries_.front();
}

// Looked for only when the symbols leave an address without a name.
const GoTable* FrameNames::GoTableOf(Entry& entry, const ByteSource& source) {
  if (!entry.is_go_known) {
    const absl::StatusOr<ElfImage> image = ElfImage::Create(source);
    if (absl::IsUnavailable(image.status())) return nullptr;
    if (image.ok()) {
      const absl::StatusOr<GoTable> go = GoTable::Open(*image, source);
      if (absl::IsUnavailable(go.status()) || !source.IsUnchanged()) return nullptr;
      if (go.ok()) entry.go.emplace(*go);
    }
    entry.is_go_known = true;
  }
  return entry.go ? &*entry.go : nullptr;
}

void FrameNames::Evict() {
  while (bytes_ > cache_bytes_ / 2 && entries_.size() > 1) {
    bytes_ -= entries_.back().bytes;
    by_handle_.erase(entries_.back().handle);
    entries_.pop_back();
  }
}

void FrameNames::SetCacheBytes(size_t cache_bytes) {
  cache_bytes_ = cache_bytes;
  Evict();
  if (line_bytes_ > cache_bytes_ / 2) WipeLines();
}

void FrameNames::Wipe() {
  by_handle_.clear();
  entries_.clear();
  bytes_ = 0;
  WipeLines();
}

}  // namespace stackray
