// What CPython says of its own layout from 3.13 on: struct _Py_DebugOffsets, the first thing in
// _PyRuntime.
//
// It is a constant of the executable, so it is read from the file. Its own layout differs between
// minor versions; the positions of its fields come from the headers of each (tools/layout_probe.c).
#ifndef STACKRAY_INTERPRETERS_PYTHON_DEBUG_OFFSETS_H_
#define STACKRAY_INTERPRETERS_PYTHON_DEBUG_OFFSETS_H_

#include <cstdint>
#include <optional>
#include <span>

#include "interpreters/python/python_layouts.h"

namespace stackray {

inline constexpr size_t kDebugOffsetsHeaderBytes = 24;  // Cookie, version, free_threaded.
inline constexpr size_t kDebugOffsetsBytes = 1024;      // More than any known version's.

struct PythonBuild {
  uint32_t version_hex = 0;  // PY_VERSION_HEX: 0x030d00f0.
  bool free_threaded = false;
};

// nullopt: these bytes are not the start of a struct _Py_DebugOffsets.
std::optional<PythonBuild> DebugOffsetsBuild(std::span<const uint8_t> bytes);

// Replaces in `fields` what the process says itself. False: this minor version's positions are not
// known, or a value makes no sense.
bool ApplyDebugOffsets(std::span<const uint8_t> bytes, uint32_t minor, PythonFields* fields);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_PYTHON_DEBUG_OFFSETS_H_
