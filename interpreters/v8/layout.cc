#include "interpreters/v8/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "interpreters/process_memory.h"
#include "interpreters/v8/bytecode_sizes.h"
#include "interpreters/v8/version_layouts.h"

namespace stackray::v8 {
namespace {

constexpr uint16_t kMostOffset = 4096;  // Of a field in an object.
constexpr std::string_view kPostmortem = "v8dbg_";
constexpr int32_t kWordBytes = 8;

struct Wanted16 {
  uint16_t V8Layout::*field;
  std::string_view prefix;
};
// The type of a field is the last part of its name and differs by version: prefixes.
constexpr Wanted16 kWanted16[] = {
    {&V8Layout::map_type, "type_Map__"},
    {&V8Layout::shared_type, "type_SharedFunctionInfo__"},
    {&V8Layout::scope_info_type, "type_ScopeInfo__"},
    {&V8Layout::code_type, "type_Code__"},
    {&V8Layout::stream_type, "type_InstructionStream__"},
    {&V8Layout::bytecode_type, "type_BytecodeArray__"},
    {&V8Layout::script_type, "type_Script__"},
    {&V8Layout::interpreter_data_type, "type_InterpreterData__"},
    {&V8Layout::baseline_data_type, "type_BaselineData__"},
    {&V8Layout::first_uncompiled_type, "type_UncompiledDataWithPreparseData__"},
    {&V8Layout::fixed_array_type, "type_FixedArray__"},
    {&V8Layout::regexp_data_type, "type_IrRegExpData__"},
    {&V8Layout::async_function_type, "type_JSAsyncFunctionObject__"},
    {&V8Layout::promise_type, "type_JSPromise__"},
    {&V8Layout::reaction_type, "type_PromiseReaction__"},
    {&V8Layout::map_instance_type, "class_Map__instance_type__"},
    {&V8Layout::function_context, "class_JSFunction__context__"},
    {&V8Layout::function_shared, "class_JSFunction__shared__"},
    {&V8Layout::shared_data, "class_SharedFunctionInfo__function_data__"},
    {&V8Layout::shared_name, "class_SharedFunctionInfo__name_or_scope_info__"},
    {&V8Layout::shared_script, "class_SharedFunctionInfo__script_or_debug_info__"},
    {&V8Layout::shared_script, "class_SharedFunctionInfo__script__"},
    {&V8Layout::script_source, "class_Script__source__"},
    {&V8Layout::script_name, "class_Script__name__"},
    {&V8Layout::script_line_ends, "class_Script__line_ends__"},
    {&V8Layout::script_id, "class_Script__id__"},
    {&V8Layout::script_source_url, "class_Script__source_url__"},
    {&V8Layout::bytecode_header, "class_BytecodeArray__data__"},
    {&V8Layout::bytecode_length, "class_BytecodeArray__length__"},
    {&V8Layout::bytecode_positions, "class_BytecodeArray__source_position_table__"},
    {&V8Layout::stream_header, "class_InstructionStream__instruction_start__"},
    {&V8Layout::code_header, "class_Code__instruction_start__uintptr_t"},
    {&V8Layout::code_start, "class_Code__instruction_start__Address"},
    {&V8Layout::code_size, "class_Code__instruction_size__"},
    {&V8Layout::code_flags, "class_Code__flags__"},
};

struct Wanted8 {
  uint8_t V8Layout::*field;
  std::string_view name;
};
constexpr Wanted8 kWanted8[] = {
    {&V8Layout::wasm_frame_type, "frametype_WasmFrame"},
    {&V8Layout::wasm_frame_type, "frametype_WasmCompiledFrame"},
    {&V8Layout::regexp_frame_type, "frametype_IrregexpFrame"},
    {&V8Layout::kind_baseline, "CodeKindBaseline"},
    {&V8Layout::deopt_inlined_count, "DeoptimizationDataInlinedFunctionCountIndex"},
    {&V8Layout::deopt_literals, "DeoptimizationDataLiteralArrayIndex"},
    {&V8Layout::deopt_shared, "DeoptimizationDataSharedFunctionInfoIndex"},
    {&V8Layout::deopt_shared, "DeoptimizationDataWrappedSharedFunctionInfoIndex"},
    {&V8Layout::deopt_positions, "DeoptimizationDataInliningPositionsIndex"},
};

// A number that the file has for a symbol; what lies in .bss is 0.
int32_t NumberOf(const RuntimeFile& file, const FoundSymbol& symbol) {
  return NumberAt<int32_t>(file.BytesAt(symbol.address, sizeof(int32_t)), 0);
}

// Of the first postmortem symbol that begins with this.
std::optional<int32_t> Postmortem(const RuntimeFile& file, std::string_view prefix) {
  const std::string wanted = std::string(kPostmortem) + std::string(prefix);
  const auto found = file.symbols().lower_bound(wanted);
  if (found == file.symbols().end() || !found->first.starts_with(wanted)) return std::nullopt;
  return NumberOf(file, found->second);
}

std::optional<V8Version> VersionOfSymbols(const RuntimeFile& file) {
  V8Version version;
  for (const auto& [part, name] :
       {std::pair(&version.major, "major_E"), std::pair(&version.minor, "minor_E"),
        std::pair(&version.build, "build_E"), std::pair(&version.patch, "patch_E")}) {
    const FoundSymbol* const symbol = file.Find(std::string("_ZN2v88internal7Version6") + name);
    if (symbol == nullptr) return std::nullopt;
    *part = static_cast<uint32_t>(NumberOf(file, *symbol));
  }
  return version;
}

// A text "15.0.245.2-rusty" among the constants of a file without symbols.
std::optional<V8Version> VersionOfText(const RuntimeFile& file) {
  constexpr std::string_view kMark = "-rusty";
  std::optional<V8Version> version;
  file.VisitConstants([&](std::string_view piece) {
    for (size_t at = piece.find(kMark); at != std::string_view::npos;
         at = piece.find(kMark, at + 1)) {
      size_t begin = at;
      while (begin > 0 && at - begin < RuntimeFile::kOverlapBytes / 2 && piece[begin - 1] != 0)
        --begin;
      const absl::StatusOr<V8Version> found = ParseVersion(piece.substr(begin, at - begin));
      if (found.ok()) version = *found;
    }
    return !version.has_value();
  });
  return version;
}

V8Layout Unsupported(const V8Version& version, std::string reason) {
  V8Layout layout;
  layout.version = version;
  layout.reason = std::move(reason);
  return layout;
}

void TakeSymbols(const RuntimeFile& file, V8Layout* layout) {
  for (const Wanted16& wanted : kWanted16) {
    const std::optional<int32_t> value = Postmortem(file, wanted.prefix);
    if (value && *value >= 0 && *value < kMostOffset)
      layout->*wanted.field = static_cast<uint16_t>(*value);
  }
  for (const Wanted8& wanted : kWanted8) {
    const std::optional<int32_t> value = Postmortem(file, wanted.name);
    if (value && *value > 0 && *value < 64) layout->*wanted.field = static_cast<uint8_t>(*value);
  }
  // Two kinds of it, or four: those with a job lie behind them.
  for (const std::string_view last : {"type_UncompiledDataWithoutPreparseData__",
                                      "type_UncompiledDataWithoutPreparseDataWithJob__"})
    if (const std::optional<int32_t> value = Postmortem(file, last))
      layout->last_uncompiled_type = static_cast<uint16_t>(*value);
  if (const std::optional<int32_t> mask = Postmortem(file, "IsNotStringMask"))
    layout->first_nonstring_type = static_cast<uint16_t>(-*mask);
  // Maglev and Turbofan follow baseline code since both exist.
  if (layout->kind_maglev != 0xff) {
    layout->kind_maglev = static_cast<uint8_t>(layout->kind_baseline + 1);
    layout->kind_turbofan = static_cast<uint8_t>(layout->kind_baseline + 2);
  }
}

}  // namespace

std::string V8Version::Text() const {
  return fmt::format("{}.{}.{}.{}", major, minor, build, patch);
}

bool IsLayoutSymbol(std::string_view name) {
  return name.starts_with(kPostmortem) || name.starts_with("_ZN2v88internal7Version6") ||
         name == kBytecodeSizesSymbol;
}

absl::StatusOr<V8Version> ParseVersion(std::string_view text) {
  V8Version version;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (uint32_t* part : {&version.major, &version.minor, &version.build, &version.patch}) {
    if (part != &version.major) {
      if (at == end || *at != '.') return absl::NotFoundError("no version");
      ++at;
    }
    const auto [next, error] = std::from_chars(at, end, *part);
    if (error != std::errc()) return absl::NotFoundError("no version");
    at = next;
  }
  return version;
}

absl::StatusOr<V8Layout> ReadLayout(const RuntimeFile& file) {
  const bool has_symbols = Postmortem(file, "").has_value();
  std::optional<V8Version> version = VersionOfSymbols(file);
  if (!version && !has_symbols) version = VersionOfText(file);
  if (!version) return absl::NotFoundError("no V8");
  const std::optional<int32_t> tagged_bytes = Postmortem(file, "TaggedSize");
  if (tagged_bytes && *tagged_bytes != kWordBytes)
    return Unsupported(*version, "its pointers are compressed");
  absl::StatusOr<V8Layout> layout = LayoutOfVersion(*version);
  if (!layout.ok()) return Unsupported(*version, std::string(layout.status().message()));
  TakeSymbols(file, &*layout);
  if (layout->kind_baseline != 0xff) layout->bytecode_sizes = ReadBytecodeSizes(file);
  return layout;
}

}  // namespace stackray::v8
