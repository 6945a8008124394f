// Functions of WebAssembly modules, by name where the module has names.
#ifndef STACKRAY_INTERPRETERS_V8_WASM_NAMES_H_
#define STACKRAY_INTERPRETERS_V8_WASM_NAMES_H_

#include "interpreters/v8/frame.h"
#include "interpreters/v8/heap.h"
#include "profile/frame.h"

namespace stackray::v8 {

// As people know them from Node: the name, else "wasm-function[12]"; "wasm function" where not even
// its index is to be had. The module's name is the file.
SourceLine WasmLine(Heap& heap, const V8Frame& frame);

}  // namespace stackray::v8

#endif  // STACKRAY_INTERPRETERS_V8_WASM_NAMES_H_
