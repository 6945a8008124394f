// The C++ side of a WebAssembly module in V8: which function the code at a pc is, and where the
// module's bytes are. No symbol and no version says where a NativeModule has its tables, so they
// are found by what must be true of them: each WasmCode begins with its module's address and the
// address of its instructions; a module's bytes begin as WebAssembly begins.
//
// Input:   a foreign process's memory, so nothing in it is trusted: searches are bounded.
// Threads: functions without state.
#ifndef STACKRAY_INTERPRETERS_V8_WASM_MODULE_H_
#define STACKRAY_INTERPRETERS_V8_WASM_MODULE_H_

#include <cstdint>
#include <optional>

#include "interpreters/v8/heap.h"
#include "interpreters/v8/wasm_binary.h"

namespace stackray::v8 {

struct WasmPlace {
  std::optional<uint32_t> function;  // Its index, imported ones counted; nullopt: not found.
  std::optional<ByteRange> bytes;    // The module's.
};

// `instance`: tagged, what a frame of wasm has in its slot. nullopt: no module was found.
std::optional<WasmPlace> FindWasmPlace(Heap& heap, uint64_t instance, uint64_t pc);

}  // namespace stackray::v8

#endif  // STACKRAY_INTERPRETERS_V8_WASM_MODULE_H_
