// libs: stackray_interpreters
// V8's heap in memory that says anything: reading names must end, stay inside of its buffers and
// give bounded texts.
//
// The input is the process's memory, over and over from address 0 on, so that pointers in it lead
// to other parts of it. Its first byte chooses V8's version.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "interpreters/v8/bytecode_sizes.h"
#include "interpreters/v8/function_names.h"
#include "interpreters/v8/position_table.h"
#include "interpreters/v8/shared_function.h"
#include "interpreters/v8/strings.h"
#include "interpreters/v8/version_layouts.h"
#include "interpreters/v8/wasm_binary.h"
#include "tests/fuzz/input_memory.h"

namespace {

namespace v8 = stackray::v8;
constexpr size_t kMostLines = 65, kMostText = 4096;
constexpr v8::V8Version kVersions[] = {{8, 4},  {9, 4},  {10, 2}, {11, 3}, {12, 4},
                                       {13, 6}, {14, 1}, {14, 6}, {15, 0}};

void Check(const std::string& text) {
  if (text.size() > kMostText) std::abort();
}

void Name(stackray::ProcessMemory& memory, const v8::V8Layout& layout, const v8::V8Frame& frame) {
  v8::ScriptCache scripts;
  const auto code = ReadV8Code(memory, layout, scripts, frame);
  if (!code.ok()) return;
  const auto lines = (*code)->LinesAt(frame.bytecode_offset);
  if (lines.empty() || lines.size() > kMostLines) std::abort();
  for (const stackray::SourceLine& line : lines) {
    Check(line.function);
    Check(line.file);
  }
}

void ReadParts(stackray::ProcessMemory& memory, const v8::V8Layout& layout, uint64_t object) {
  v8::Heap heap(memory, layout);
  Check(ReadString(heap, object).value_or(""));
  const v8::ScopeNames names = ReadScopeInfo(heap, object);
  Check(names.name);
  Check(names.inferred);
}

void ReadTables(std::span<const uint8_t> data, const v8::V8Layout& layout) {
  const auto entries = v8::ReadPositions(data, layout.positions);
  if (!std::ranges::is_sorted(entries, {}, &v8::PositionEntry::code_offset)) std::abort();
  if (entries.size() > v8::kMostPositions) std::abort();
  const size_t half = data.size() / 2;
  (void)BytecodeOfBaseline(data.first(half), data.subspan(half), layout, data[1]);
  for (const v8::SafepointForm& form : {layout.safepoints, layout.maglev_safepoints}) {
    if (BytesOfSafepoints(data, form) > v8::kMostSafepointBytes) std::abort();
    (void)PlannedReturn(data, form, data[1]);
  }
  const v8::WasmNames names = v8::NamesOf(data, data[1]);
  Check(names.function);
  Check(names.module);
  (void)v8::SizesAt({reinterpret_cast<const char*>(data.data()), data.size()});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  const std::span<const uint8_t> data(input, size);
  if (size < 32) return 0;
  v8::V8Layout layout = *v8::LayoutOfVersion(kVersions[data[0] % std::size(kVersions)]);
  for (std::vector<uint8_t>& sizes : layout.bytecode_sizes) sizes.assign(200, 2);
  layout.wasm_code_size = 24;
  layout.wasm_code_index = 40;
  stackray::InputMemory memory(data, 1 << 16);
  for (const auto kind :
       {v8::V8Frame::Kind::kInterpreted, v8::V8Frame::Kind::kCompiled, v8::V8Frame::Kind::kStub,
        v8::V8Frame::Kind::kWasm, v8::V8Frame::Kind::kRegExp, v8::V8Frame::Kind::kAwaiting})
    Name(memory, layout,
         {.kind = kind,
          .shared_function = stackray::NumberAt<uint16_t>(data, 2) & ~uint64_t{7},
          .instance = stackray::NumberAt<uint16_t>(data, 4) & ~uint64_t{7},
          .regexp = stackray::NumberAt<uint16_t>(data, 4) & ~uint64_t{7},
          .pc = stackray::NumberAt<uint16_t>(data, 6),
          .bytecode_offset = data[8]});
  ReadParts(memory, layout, stackray::NumberAt<uint16_t>(data, 10) | 1U);
  ReadTables(data, layout);
  (void)v8::FindNameSection(memory, data[12], data.size());
  return 0;
}
