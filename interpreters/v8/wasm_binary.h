// Names of functions in a WebAssembly module's bytes: its custom section "name".
//
// Input:   bytes of a foreign process, so nothing in them is trusted.
// Threads: functions without state.
#ifndef STACKRAY_INTERPRETERS_V8_WASM_BINARY_H_
#define STACKRAY_INTERPRETERS_V8_WASM_BINARY_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "interpreters/process_memory.h"

namespace stackray::v8 {

inline constexpr uint64_t kMostModuleBytes = uint64_t{1} << 30, kMostNameBytes = 16 << 20;

// Where the content of a module's name section lies; nullopt: it has none, or is no module.
struct ByteRange {
  uint64_t begin = 0, bytes = 0;
};
std::optional<ByteRange> FindNameSection(ProcessMemory& memory, uint64_t module, uint64_t bytes);

struct WasmNames {
  std::string module, function;  // Empty: none is given.
};
// `names`: the section's content.
WasmNames NamesOf(std::span<const uint8_t> names, uint32_t function);

}  // namespace stackray::v8

#endif  // STACKRAY_INTERPRETERS_V8_WASM_BINARY_H_
