#include "interpreters/hotspot/loader.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "interpreters/hotspot/hotspot_data.h"
#include "interpreters/runtime_file.h"

namespace stackray {
namespace {

constexpr std::string_view kStructs = "gHotSpotVMStructs", kCreate = "JNI_CreateJavaVM";
using Place = std::pair<std::string_view, uint64_t hotspot::VmSymbols::*>;
constexpr std::array<Place, 6> kTables = {{
    {kStructs, &hotspot::VmSymbols::structs},
    {"gHotSpotVMTypes", &hotspot::VmSymbols::types},
    {"gHotSpotVMIntConstants", &hotspot::VmSymbols::int_constants},
    {"gHotSpotVMStructEntryArrayStride", &hotspot::VmSymbols::struct_stride},
    {"gHotSpotVMTypeEntryArrayStride", &hotspot::VmSymbols::type_stride},
    {"gHotSpotVMIntConstantEntryArrayStride", &hotspot::VmSymbols::int_constant_stride},
}};
// StubRoutines::_cont_returnBarrier, ContinuationEntry::_return_pc, ZGeneration::_young and _old,
// StubCodeDesc::_list: in .symtab alone.
constexpr std::array<Place, 5> kNotExported = {{
    {"_ZN12StubCodeDesc5_listE", &hotspot::VmSymbols::stubs},
    {"_ZN12StubRoutines19_cont_returnBarrierE", &hotspot::VmSymbols::return_barrier},
    {"_ZN17ContinuationEntry10_return_pcE", &hotspot::VmSymbols::continuation_return},
    {"_ZN11ZGeneration6_youngE", &hotspot::VmSymbols::young_generation},
    {"_ZN11ZGeneration4_oldE", &hotspot::VmSymbols::old_generation},
}};

bool IsWanted(std::string_view name) {
  return name == kCreate || name.starts_with("gHotSpotVM") ||
         std::ranges::find(kNotExported, name, &Place::first) != kNotExported.end();
}

}  // namespace

std::shared_ptr<const RuntimeData> HotSpotLoader::Recognise(const ElfImage& image,
                                                            const ByteSource& source) const {
  // Nearly every file: no symbol table is read for it.
  if (!HasDynamicSymbol(image, source, kStructs).value_or(true)) return nullptr;
  RuntimeFile file(image, source, kCreate, IsWanted);
  if (file.Find(kStructs) == nullptr) return nullptr;
  file.AddAllSymbols(IsWanted);
  hotspot::VmSymbols places;
  bool is_complete = image.machine() == EM_X86_64;
  for (const auto& [name, place] : kTables) {
    places.*place = file.PlaceOf(name);
    is_complete = is_complete && places.*place != 0;
  }
  for (const auto& [name, place] : kNotExported) places.*place = file.PlaceOf(name);
  return std::make_shared<const HotSpotData>(places, is_complete);
}

}  // namespace stackray
