#include "interpreters/python/loader.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "interpreters/accessor.h"
#include "interpreters/python/python_data.h"
#include "interpreters/symbol_finder.h"

namespace stackray {
namespace {

constexpr std::string_view kLoop = "_PyEval_EvalFrameDefault";
constexpr std::string_view kOldLoop = "PyEval_EvalFrameEx";
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
  return IsLoop(name) || name == kOldLoop || name == "Py_Version" ||
         name == "_PyThreadState_Current" || name == "_PyThreadState_UncheckedGet" ||
         name == "PyThreadState_GetUnchecked" || name == "PyInterpreterState_Head" ||
         name == "PyString_FromString";
}

// One ELF file and what was found in it.
class PythonFile {
 public:
  PythonFile(const ElfImage& image, const ByteSource& source) : image_(image), source_(source) {
    symbols_ = FindSymbols(image, source, SymbolSection::kDynamic, IsWanted);
    // Reading all symbols of every large file would cost too much: only where there is a sign.
    if (Find(kLoop) == nullptr && image.FindSection(".PyRuntime") == nullptr) return;
    symbols_.merge(FindSymbols(image, source, SymbolSection::kAll, IsWanted));
  }

  const FoundSymbol* Find(std::string_view name) const {
    const auto found = symbols_.find(name);
    return found == symbols_.end() ? nullptr : &found->second;
  }

  // Bytes at an ELF address, as they are in the file; empty: not there.
  std::vector<uint8_t> BytesAt(uint64_t address, uint64_t size_bytes) const {
    const std::optional<uint64_t> offset = image_.OffsetOfAddress(address);
    if (!offset) return {};
    absl::StatusOr<std::vector<uint8_t>> bytes =
        source_.Read(*offset, size_bytes, kDebugOffsetsBytes);
    return bytes.ok() ? *std::move(bytes) : std::vector<uint8_t>{};
  }

  uint64_t runtime_address() const {
    if (const FoundSymbol* runtime = Find("_PyRuntime")) return runtime->address;
    const ElfSection* section = image_.FindSection(".PyRuntime");
    return section == nullptr ? 0 : section->address;
  }

  // As python_layout counts: from where byte 0 of the text mapping would be.
  uint64_t PlaceOf(uint64_t address) const { return address - TextDistance(); }

  std::vector<FileRange> LoopCode() const {
    std::vector<FileRange> ranges;
    for (const auto& [name, symbol] : symbols_) {
      if (!IsLoop(name) && name != kOldLoop) continue;
      const std::optional<uint64_t> begin = image_.OffsetOfAddress(symbol.address);
      if (begin && symbol.size_bytes != 0)
        ranges.push_back({.begin = *begin, .end = *begin + symbol.size_bytes});
    }
    return ranges;
  }

 private:
  uint64_t TextDistance() const {
    const FoundSymbol* loop = Find(kLoop);
    const ElfSegment* text = nullptr;
    for (const ElfSegment& segment : image_.segments()) {
      if (!segment.executable) continue;
      const bool holds_loop =
          loop != nullptr && loop->address - segment.address < segment.memory_bytes;
      if (text == nullptr || holds_loop) text = &segment;
    }
    return text == nullptr ? 0 : text->address - text->file_offset;
  }

  const ElfImage& image_;
  const ByteSource& source_;
  SymbolsByName symbols_;
};

Accessed ReadAccessor(const PythonFile& file, std::string_view function) {
  const FoundSymbol* found = file.Find(function);
  return found == nullptr
             ? Accessed{}
             : stackray::ReadAccessor(file.BytesAt(found->address, kAccessorBytes), found->address);
}

// Up to 3.11: the thread that holds the lock.
uint64_t FindCurrentVariable(const PythonFile& file, const PythonFields& fields) {
  if (const FoundSymbol* alone = file.Find("_PyThreadState_Current")) return alone->address;
  const uint64_t runtime = file.runtime_address();
  const Accessed found = ReadAccessor(file, "_PyThreadState_UncheckedGet");
  if (runtime != 0 && found.inside) return runtime + *found.inside;
  if (found.address != 0 && found.tls_kind == PYTHON_TLS_NONE) return found.address;
  return runtime == 0 ? 0 : runtime + fields.runtime_current;
}

PythonVariables FindVariables(const PythonFile& file, const PythonFields& fields) {
  PythonVariables variables;
  const auto place = [&](uint64_t address) { return address == 0 ? 0 : file.PlaceOf(address); };
  const uint64_t runtime = file.runtime_address();
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
uint32_t MinorByMilestones(const PythonFile& file) {
  uint32_t minor = file.Find(kLoop) != nullptr ? kFirstMinor : 0;
  for (const Milestone& milestone : kMilestones)
    if (minor != 0 && file.Find(milestone.function) != nullptr) minor = milestone.minor;
  return minor;
}

PythonBuild FindBuild(const PythonFile& file, const std::vector<uint8_t>& debug_offsets) {
  if (const std::optional<PythonBuild> build = DebugOffsetsBuild(debug_offsets)) return *build;
  if (const FoundSymbol* version = file.Find("Py_Version"))
    return {.version_hex = NumberAt<uint32_t>(file.BytesAt(version->address, 4), 0)};
  const uint32_t minor = MinorByMilestones(file);
  return {.version_hex = minor == 0 ? 0 : 3u << 24 | minor << 16};
}

std::string VersionText(const PythonFile& file, const PythonBuild& build) {
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
  const PythonFile file(image, source);
  const bool is_python = file.Find(kLoop) != nullptr || file.Find(kOldLoop) != nullptr ||
                         image.FindSection(".PyRuntime") != nullptr;
  if (!is_python) return nullptr;
  std::vector<uint8_t> debug_offsets;
  if (const uint64_t runtime = file.runtime_address(); runtime != 0)
    debug_offsets = file.BytesAt(runtime, kDebugOffsetsBytes);
  const PythonBuild build = FindBuild(file, debug_offsets);
  const uint32_t minor = build.version_hex >> 16 & 0xff;
  const PythonLayoutRow* row =
      build.version_hex >> 24 == 3 ? FindPythonLayout(minor, build.free_threaded) : nullptr;
  PythonFields fields = row == nullptr ? PythonFields{} : row->fields;
  const bool describes_itself = DebugOffsetsBuild(debug_offsets).has_value();
  if (row == nullptr || (describes_itself && !ApplyDebugOffsets(debug_offsets, minor, &fields)))
    return PythonData::MakeUnsupported(VersionText(file, build), file.LoopCode());
  return PythonData::Make(build, fields, FindVariables(file, fields), file.LoopCode());
}

}  // namespace stackray
