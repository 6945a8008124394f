#include "interpreters/v8/wasm_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "interpreters/v8/wasm_binary.h"
#include "interpreters/v8/wasm_module.h"

namespace stackray::v8 {
namespace {

WasmNames ReadNames(Heap& heap, const ByteRange& module, uint32_t function) {
  const auto section = FindNameSection(heap.pages(), module.begin, module.bytes);
  if (!section) return {};
  std::vector<uint8_t> names(std::min(section->bytes, kMostNameBytes));
  if (!heap.direct().Read(section->begin, names)) return {};
  return NamesOf(names, function);
}

}  // namespace

SourceLine WasmLine(Heap& heap, const V8Frame& frame) {
  SourceLine line{.function = "wasm function"};
  const uint64_t pc = frame.is_return && frame.pc > 0 ? frame.pc - 1 : frame.pc;
  const std::optional<WasmPlace> place = FindWasmPlace(heap, Tagged(frame.instance), pc);
  if (!place || !place->function) return line;
  line.function = fmt::format("wasm-function[{}]", *place->function);
  if (!place->bytes) return line;
  WasmNames names = ReadNames(heap, *place->bytes, *place->function);
  if (!names.function.empty()) line.function = std::move(names.function);
  line.file = std::move(names.module);
  return line;
}

}  // namespace stackray::v8
