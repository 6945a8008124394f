#include "interpreters/v8/wasm_names.h"

namespace stackray::v8 {

std::string WasmFunctionName(Heap&, const V8Frame&) { return "wasm function"; }

}  // namespace stackray::v8
