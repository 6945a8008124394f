#include "interpreters/ruby/loader.h"

#include <elf.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "interpreters/ruby/accessors.h"
#include "interpreters/ruby/loop_code.h"
#include "interpreters/ruby/ruby_data.h"
#include "interpreters/runtime_file.h"

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

RubyLoopCode FindLoopCode(const RuntimeFile& file) {
  RubyLoopCode code;
  for (const auto& [name, symbol] : file.symbols())
    if (name.starts_with(kLoop)) file.AddRange(symbol.address, symbol.size_bytes, &code.loop);
  for (std::string_view name : kLoopEntries) file.AddRange(name, &code.entry);
  if (!code.loop.empty() && !code.entry.empty()) return code;
  const std::optional<RubyLoop> found = FindRubyLoop(file.image(), file.source());
  if (!found) return code;
  if (code.loop.empty()) file.AddRange(found->core.begin, found->core.size_bytes(), &code.loop);
  if (code.entry.empty() && found->entry)
    file.AddRange(found->entry->begin, found->entry->size_bytes(), &code.entry);
  return code;
}

// What the functions of a file say, on x86-64 and arm64.
class Accessors {
 public:
  explicit Accessors(const RuntimeFile& file)
      : file_(file), is_arm64_(file.image().machine() == EM_AARCH64) {}

  std::optional<ContextAccess> Context() const {
    return Read(kThread, ReadContextAccess, ReadArm64ContextAccess);
  }
  std::optional<CollectorAccess> Collector() const {
    return Read(kCollecting, ReadCollectorAccess, ReadArm64CollectorAccess);
  }
  std::optional<uint64_t> Symbols() const {
    return Read(kSymbols, ReadSymbolsAccess, ReadArm64SymbolsAccess);
  }

 private:
  template <typename T>
  std::optional<T> Read(std::string_view function,
                        std::optional<T> (*x86)(std::span<const uint8_t>, uint64_t),
                        std::optional<T> (*arm64)(const ReadCodeAt&, uint64_t)) const {
    const uint64_t address = file_.AddressOf(function);
    if (!is_arm64_) return x86(file_.CodeOf(function, kAccessorBytes), address);
    if (address == 0) return std::nullopt;
    return arm64([this](uint64_t at, uint64_t size_bytes) { return file_.BytesAt(at, size_bytes); },
                 address);
  }

  const RuntimeFile& file_;
  const bool is_arm64_;
};

RubyVariables FindVariables(const RuntimeFile& file, const RubyVersion& version) {
  RubyVariables variables;
  const Accessors accessors(file);
  const auto context = accessors.Context();
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
  if (const auto collector = accessors.Collector()) {
    if (vm == 0 && !collector->is_indirect) vm = collector->vm_address;
    variables.vm_objspace = collector->vm_objspace;
    variables.gc_flags = collector->flags;
    variables.gc_mask = vm == 0 ? 0 : collector->mask;
  }
  if (vm != 0) variables.vm_at = file.PlaceOf(vm);
  if (const auto symbols = accessors.Symbols())
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
  RuntimeFile file(image, source, kThread, IsWanted);
  const FoundSymbol* numbers = file.Find(kVersion);
  if (numbers == nullptr || file.Find(kThread) == nullptr) return nullptr;
  file.AddAllSymbols(IsWanted);
  const std::vector<uint8_t> bytes = file.BytesAt(numbers->address, 12);
  const RubyVersion version{.major = NumberAt<uint32_t>(bytes, 0),
                            .minor = NumberAt<uint32_t>(bytes, 4)};
  const RubyLayoutRow* row = FindRubyLayout(version.major, version.minor);
  if (row == nullptr) return RubyData::MakeUnsupported(version, FindLoopCode(file));
  return RubyData::Make(version, row->fields, FindVariables(file, version), FindLoopCode(file));
}

}  // namespace stackray
