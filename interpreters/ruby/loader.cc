#include "interpreters/ruby/loader.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "interpreters/ruby/accessors.h"
#include "interpreters/ruby/loop_code.h"
#include "interpreters/ruby/ruby_data.h"
#include "interpreters/symbol_finder.h"

namespace stackray {
namespace {

constexpr std::string_view kVersion = "ruby_api_version";
constexpr std::string_view kThread = "rb_thread_current", kCollecting = "rb_during_gc",
                           kSymbols = "rb_sym_all_symbols";
constexpr std::string_view kCurrentContext = "ruby_current_execution_context_ptr";  // To 2.7.
constexpr std::string_view kVirtualMachine = "ruby_current_vm_ptr";
constexpr std::string_view kLoop = "vm_exec_core", kLoopEntries[] = {"rb_vm_exec", "vm_exec"};
constexpr uint64_t kAccessorBytes = 256;
constexpr uint64_t kNamesBehindSymbols = 8;  // struct { …; st_table *str; VALUE ids; … } (symbol.h)
constexpr uint32_t kFirstThreadLocalMajor = 3;

bool IsWanted(std::string_view name) {
  for (std::string_view wanted : {kVersion, kThread, kCollecting, kSymbols, kCurrentContext,
                                  kVirtualMachine, kLoop, kLoopEntries[0], kLoopEntries[1]})
    if (name == wanted) return true;
  return name.starts_with("vm_exec_core.");
}

// One ELF file and what was found in it.
class RubyFile {
 public:
  RubyFile(const ElfImage& image, const ByteSource& source) : image_(image), source_(source) {
    symbols_ = FindSymbols(image, source, SymbolSection::kDynamic, IsWanted);
    if (Find(kVersion) != nullptr)
      symbols_.merge(FindSymbols(image, source, SymbolSection::kAll, IsWanted));
  }

  const FoundSymbol* Find(std::string_view name) const {
    const auto found = symbols_.find(name);
    return found == symbols_.end() ? nullptr : &found->second;
  }
  const SymbolsByName& symbols() const { return symbols_; }

  // Bytes at an ELF address, as they are in the file; fewer, or none, where the segment ends.
  std::vector<uint8_t> BytesAt(uint64_t address, uint64_t size_bytes) const {
    const std::optional<uint64_t> offset = image_.OffsetOfAddress(address);
    if (!offset || *offset >= source_.size_bytes()) return {};
    const uint64_t there = std::min(size_bytes, source_.size_bytes() - *offset);
    absl::StatusOr<std::vector<uint8_t>> bytes = source_.Read(*offset, there, kAccessorBytes);
    return bytes.ok() ? *std::move(bytes) : std::vector<uint8_t>{};
  }
  std::vector<uint8_t> CodeOf(std::string_view function) const {
    const FoundSymbol* found = Find(function);
    return found == nullptr ? std::vector<uint8_t>{} : BytesAt(found->address, kAccessorBytes);
  }
  uint64_t AddressOf(std::string_view name) const {
    const FoundSymbol* found = Find(name);
    return found == nullptr ? 0 : found->address;
  }

  // As ruby_layout counts: from where byte 0 of the text mapping would be.
  uint64_t PlaceOf(uint64_t address) const { return address - TextDistance(); }

  std::optional<FileRange> RangeOf(uint64_t address, uint64_t size_bytes) const {
    const std::optional<uint64_t> begin = image_.OffsetOfAddress(address);
    if (!begin || size_bytes == 0) return std::nullopt;
    return FileRange{.begin = *begin, .end = *begin + size_bytes};
  }

  const ElfImage& image() const { return image_; }
  const ByteSource& source() const { return source_; }

 private:
  uint64_t TextDistance() const {
    const uint64_t function = AddressOf(kThread);
    const ElfSegment* text = nullptr;
    for (const ElfSegment& segment : image_.segments()) {
      if (!segment.executable) continue;
      if (text == nullptr || function - segment.address < segment.memory_bytes) text = &segment;
    }
    return text == nullptr ? 0 : text->address - text->file_offset;
  }

  const ElfImage& image_;
  const ByteSource& source_;
  SymbolsByName symbols_;
};

void AddRange(const std::optional<FileRange>& range, std::vector<FileRange>* ranges) {
  if (range) ranges->push_back(*range);
}

RubyLoopCode FindLoopCode(const RubyFile& file) {
  RubyLoopCode code;
  for (const auto& [name, symbol] : file.symbols())
    if (name.starts_with(kLoop))
      AddRange(file.RangeOf(symbol.address, symbol.size_bytes), &code.loop);
  for (std::string_view name : kLoopEntries)
    if (const FoundSymbol* entry = file.Find(name))
      AddRange(file.RangeOf(entry->address, entry->size_bytes), &code.entry);
  if (!code.loop.empty() && !code.entry.empty()) return code;
  const std::optional<RubyLoop> found = FindRubyLoop(file.image(), file.source());
  if (!found) return code;
  if (code.loop.empty())
    AddRange(file.RangeOf(found->core.begin, found->core.size_bytes()), &code.loop);
  if (code.entry.empty() && found->entry)
    AddRange(file.RangeOf(found->entry->begin, found->entry->size_bytes()), &code.entry);
  return code;
}

RubyVariables FindVariables(const RubyFile& file, const RubyVersion& version) {
  RubyVariables variables;
  const auto context = ReadContextAccess(file.CodeOf(kThread), file.AddressOf(kThread));
  if (version.major < kFirstThreadLocalMajor) {
    uint64_t address = file.AddressOf(kCurrentContext);
    if (address == 0 && context && context->kind == RUBY_CONTEXT_GLOBAL && !context->is_indirect)
      address = context->address;
    if (address != 0) {
      variables.context_kind = RUBY_CONTEXT_GLOBAL;
      variables.context_at = file.PlaceOf(address);
    }
  } else if (context && context->kind != RUBY_CONTEXT_GLOBAL) {
    variables.context_kind = context->kind;
    variables.context_at = context->address == 0 ? 0 : file.PlaceOf(context->address);
    variables.context_offset = context->offset;
  }
  uint64_t vm = file.AddressOf(kVirtualMachine);
  if (const auto collector =
          ReadCollectorAccess(file.CodeOf(kCollecting), file.AddressOf(kCollecting))) {
    if (vm == 0 && !collector->is_indirect) vm = collector->vm_address;
    variables.vm_objspace = collector->vm_objspace;
    variables.gc_flags = collector->flags;
    variables.gc_mask = vm == 0 ? 0 : collector->mask;
  }
  if (vm != 0) variables.vm_at = file.PlaceOf(vm);
  if (const auto symbols = ReadSymbolsAccess(file.CodeOf(kSymbols), file.AddressOf(kSymbols)))
    variables.names_at = file.PlaceOf(*symbols + kNamesBehindSymbols);
  return variables;
}

}  // namespace

std::shared_ptr<const RuntimeData> RubyLoader::Recognise(const ElfImage& image,
                                                         const ByteSource& source) const {
  // Nearly every file: no symbol table is read for it.
  if (!HasDynamicSymbol(image, source, kVersion).value_or(true) ||
      !HasDynamicSymbol(image, source, kThread).value_or(true))
    return nullptr;
  const RubyFile file(image, source);
  const FoundSymbol* numbers = file.Find(kVersion);
  if (numbers == nullptr || file.Find(kThread) == nullptr) return nullptr;
  const std::vector<uint8_t> bytes = file.BytesAt(numbers->address, 12);
  const RubyVersion version{.major = NumberAt<uint32_t>(bytes, 0),
                            .minor = NumberAt<uint32_t>(bytes, 4)};
  const RubyLayoutRow* row = FindRubyLayout(version.major, version.minor);
  if (row == nullptr) return RubyData::MakeUnsupported(version, FindLoopCode(file));
  return RubyData::Make(version, row->fields, FindVariables(file, version), FindLoopCode(file));
}

}  // namespace stackray
