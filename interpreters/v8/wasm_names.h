// Functions of WebAssembly modules.
#ifndef STACKRAY_INTERPRETERS_V8_WASM_NAMES_H_
#define STACKRAY_INTERPRETERS_V8_WASM_NAMES_H_

#include <string>

#include "interpreters/v8/frame.h"
#include "interpreters/v8/heap.h"

namespace stackray::v8 {

std::string WasmFunctionName(Heap& heap, const V8Frame& frame);

}  // namespace stackray::v8

#endif  // STACKRAY_INTERPRETERS_V8_WASM_NAMES_H_
