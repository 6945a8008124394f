// What a HotSpot JVM says of itself: gHotSpotVMStructs and its sisters, tables of the fields, types
// and constants of its C++ classes, made for the serviceability agent
// (src/hotspot/share/runtime/vmStructs.hpp). They are filled by static constructors, so they are
// read from a living process and not from the file.
//
// Input:   the memory of a foreign process: nothing is trusted, at most kMostEntries of each table
//          and kMostNameBytes of each name are read.
// Memory:  some 200 KiB while a table is read and asked.
// Threads: immutable after Read().
#ifndef STACKRAY_INTERPRETERS_HOTSPOT_VM_TABLES_H_
#define STACKRAY_INTERPRETERS_HOTSPOT_VM_TABLES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "interpreters/process_memory.h"

namespace stackray::hotspot {

inline constexpr size_t kMostEntries = 4096, kMostNameBytes = 256;

// Addresses of the exported variables in the process; the tables' are those of pointers to them.
struct VmSymbols {
  uint64_t structs = 0, types = 0, int_constants = 0;
  // The distance of two entries, which is 0 before the library's constructors have run.
  uint64_t struct_stride = 0, type_stride = 0, int_constant_stride = 0;
  // Of virtual threads, where the file has symbols that no table has; 0: it has none.
  uint64_t return_barrier = 0, continuation_return = 0;
  uint64_t young_generation = 0, old_generation = 0;  // Of the generational ZGC; likewise.
  uint64_t stubs = 0;                                 // StubCodeDesc::_list; likewise.
};

struct VmField {
  uint64_t offset = 0;   // In the object; of a static field 0.
  uint64_t address = 0;  // Of a static field.
  std::string type;      // As C++ spells it: "int16_t".
  friend bool operator==(const VmField&, const VmField&) = default;
};

class VmTables {
 public:
  // Errors: Unavailable (the process has not come that far yet, or is gone), Unimplemented (entries
  // of another shape), DataLoss (no such tables there).
  static absl::StatusOr<VmTables> Read(ProcessMemory& memory, const VmSymbols& symbols);

  // By "Type::field"; nullptr: there is none.
  const VmField* Field(std::string_view name) const;
  std::optional<uint64_t> TypeBytes(std::string_view type) const;
  std::optional<int32_t> Constant(std::string_view name) const;

 private:
  std::map<std::string, VmField, std::less<>> fields_;
  std::map<std::string, uint64_t, std::less<>> type_bytes_;
  std::map<std::string, int32_t, std::less<>> constants_;
};

}  // namespace stackray::hotspot

#endif  // STACKRAY_INTERPRETERS_HOTSPOT_VM_TABLES_H_
