#include "interpreters/python/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "interpreters/accessor.h"
#include "interpreters/python/call_carriers.h"
#include "interpreters/python/python_data.h"
#include "interpreters/runtime_file.h"

namespace stackray {
namespace {

constexpr std::string_view kLoop = "_PyEval_EvalFrameDefault";
constexpr std::string_view kOldLoop = "PyEval_EvalFrameEx";
constexpr std::string_view kMadeCodeEntry = "_PyJIT_Entry";    // 3.15
constexpr std::string_view kTailCallHandlers = "_TAIL_CALL_";  // 3.14: one function an instruction.
constexpr uint32_t kFirstMinor = 6;

// Functions of the C API and the first version that exports them.
struct Milestone {
  std::string_view function;
  uint32_t minor;
};
constexpr Milestone kMilestones[] = {
    {"_PyRuntime", 7},
    {"PyCode_NewWithPosOnlyArgs", 8},
    {"PyThreadState_GetFrame", 9},
    {"PyIter_Send", 10},
};

bool IsLoop(std::string_view name) {
  return name == kLoop || name.starts_with("_PyEval_EvalFrameDefault.") ||
         name.starts_with(kTailCallHandlers);
}

bool IsWanted(std::string_view name) {
  for (const Milestone& milestone : kMilestones)
    if (name == milestone.function) return true;
  return IsLoop(name) || IsCallCarrier(name) || name == kOldLoop || name == kMadeCodeEntry ||
         name == "Py_Version" || name == "_PyThreadState_Current" ||
         name == "_PyThreadState_UncheckedGet" || name == "PyThreadState_GetUnchecked" ||
         name == "PyInterpreterState_Head" || name == "PyString_FromString";
}

uint64_t RuntimeAddress(const RuntimeFile& file) {
  if (const FoundSymbol* runtime = file.Find("_PyRuntime")) return runtime->address;
  const ElfSection* section = file.image().FindSection(".PyRuntime");
  return section == nullptr ? 0 : section->address;
}

std::vector<FileRange> LoopCode(const RuntimeFile& file) {
  std::vector<FileRange> ranges;
  for (const auto& [name, symbol] : file.symbols())
    if (IsLoop(name) || name == kOldLoop) file.AddRange(symbol.address, symbol.size_bytes, &ranges);
  return ranges;
}

std::vector<FileRange> CallCarriers(const RuntimeFile& file) {
  std::vector<FileRange> ranges;
  for (const auto& [name, symbol] : file.symbols())
    if (IsCallCarrier(name)) file.AddRange(symbol.address, symbol.size_bytes, &ranges);
  std::ranges::sort(ranges, {}, &FileRange::begin);
  return ranges;
}

// Up to 3.11: the thread that holds the lock.
uint64_t FindCurrentVariable(const RuntimeFile& file, const PythonFields& fields) {
  if (const FoundSymbol* alone = file.Find("_PyThreadState_Current")) return alone->address;
  const uint64_t runtime = RuntimeAddress(file);
  const Accessed found = ReadAccessor(file, "_PyThreadState_UncheckedGet");
  if (runtime != 0 && found.inside) return runtime + *found.inside;
  if (found.address != 0 && found.tls_kind == PYTHON_TLS_NONE) return found.address;
  return runtime == 0 ? 0 : runtime + fields.runtime_current;
}

PythonVariables FindVariables(const RuntimeFile& file, const PythonFields& fields) {
  PythonVariables variables;
  const auto place = [&](uint64_t address) { return address == 0 ? 0 : file.PlaceOf(address); };
  const uint64_t runtime = RuntimeAddress(file);
  if (runtime != 0 && fields.runtime_interpreters != kAbsent)
    variables.interpreters_at = place(runtime + fields.runtime_interpreters);
  else  // 3.6: a variable of its own, without a symbol.
    variables.interpreters_at = place(ReadAccessor(file, "PyInterpreterState_Head").address);
  if (fields.runtime_current != kAbsent) {
    variables.current_at = place(FindCurrentVariable(file, fields));
    return variables;
  }
  Accessed found = ReadAccessor(file, "PyThreadState_GetUnchecked");
  if (found.tls_kind == PYTHON_TLS_NONE) found = ReadAccessor(file, "_PyThreadState_UncheckedGet");
  variables.tls_kind = found.tls_kind;
  variables.tls_at = place(found.address);
  variables.tls_offset = found.tls_offset;
  return variables;
}

// The version of a build that says nothing else, by what it exports; 0: before 3.6.
uint32_t MinorByMilestones(const RuntimeFile& file) {
  uint32_t minor = file.Find(kLoop) != nullptr ? kFirstMinor : 0;
  for (const Milestone& milestone : kMilestones)
    if (minor != 0 && file.Find(milestone.function) != nullptr) minor = milestone.minor;
  return minor;
}

PythonBuild FindBuild(const RuntimeFile& file, const std::vector<uint8_t>& debug_offsets) {
  if (const std::optional<PythonBuild> build = DebugOffsetsBuild(debug_offsets)) return *build;
  if (const FoundSymbol* version = file.Find("Py_Version"))
    return {.version_hex = NumberAt<uint32_t>(file.BytesAt(version->address, 4), 0)};
  const uint32_t minor = MinorByMilestones(file);
  return {.version_hex = minor == 0 ? 0 : 3u << 24 | minor << 16};
}

std::string VersionText(const RuntimeFile& file, const PythonBuild& build) {
  const uint32_t major = build.version_hex >> 24, minor = build.version_hex >> 16 & 0xff;
  if (build.version_hex != 0)
    return fmt::format("{}.{}{}", major, minor, build.free_threaded ? "t" : "");
  return file.Find("PyString_FromString") != nullptr ? "2" : "before 3.6";
}

}  // namespace

std::shared_ptr<const RuntimeData> PythonLoader::Recognise(const ElfImage& image,
                                                           const ByteSource& source) const {
  // Nearly every file: no symbol table is read for it.
  if (image.FindSection(".PyRuntime") == nullptr &&
      !HasDynamicSymbol(image, source, kLoop).value_or(true) &&
      !HasDynamicSymbol(image, source, kOldLoop).value_or(true))
    return nullptr;
  RuntimeFile file(image, source, kLoop, IsWanted);
  if (file.Find(kLoop) != nullptr || image.FindSection(".PyRuntime") != nullptr)
    file.AddAllSymbols(IsWanted);
  else if (file.Find(kOldLoop) == nullptr)
    return nullptr;
  std::vector<uint8_t> debug_offsets;
  if (const uint64_t runtime = RuntimeAddress(file); runtime != 0)
    debug_offsets = file.BytesAt(runtime, kDebugOffsetsBytes);
  const PythonBuild build = FindBuild(file, debug_offsets);
  const uint32_t minor = build.version_hex >> 16 & 0xff;
  const PythonLayoutRow* row =
      build.version_hex >> 24 == 3 ? FindPythonLayout(minor, build.free_threaded) : nullptr;
  PythonFields fields = row == nullptr ? PythonFields{} : row->fields;
  const bool describes_itself = DebugOffsetsBuild(debug_offsets).has_value();
  if (row == nullptr || (describes_itself && !ApplyDebugOffsets(debug_offsets, minor, &fields)))
    return PythonData::MakeUnsupported(VersionText(file, build), LoopCode(file));
  PythonCodePlaces code{
      .loop = LoopCode(file), .carriers = CallCarriers(file), .made_code_entry = {}};
  file.AddRange(kMadeCodeEntry, &code.made_code_entry);
  return PythonData::Make(build, fields, FindVariables(file, fields), std::move(code));
}

}  // namespace stackray
