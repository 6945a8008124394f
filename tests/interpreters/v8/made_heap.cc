#include "tests/interpreters/v8/made_heap.h"

#include <string>

namespace stackray::v8::test {
namespace {

constexpr uint16_t kForeignFields = 160;  // Room for an object's fields.
constexpr uint16_t kCodeTables = 64;      // Room behind instructions.

}  // namespace

uint8_t CodeDelta(const V8Layout& layout, uint8_t delta) {
  const int shift = layout.positions == PositionEncoding::kSigned     ? 1
                    : layout.positions == PositionEncoding::kUnsigned ? 2
                                                                      : 3;
  return static_cast<uint8_t>(delta << shift);
}

MadeFunction::MadeFunction(const V8Layout& layout) : heap(layout) {
  script = heap.Object(layout.script_type, kForeignFields);
  heap.Set(script, layout.script_source, heap.String("function f(a) {\n  g(a);\n}"));
  heap.Set(script, layout.script_name, heap.String("/srv/f.js"));
  heap.Set(script, layout.script_id, SmiWord(7));
  // From the entry on: code 4 is at character 18.
  const std::vector<uint8_t> table = {CodeDelta(layout, 5), static_cast<uint8_t>(19 << 2)};
  bytecode = heap.Object(layout.bytecode_type, 96);
  heap.Set(bytecode, layout.bytecode_length, SmiWord(8));
  heap.Set(bytecode, layout.bytecode_positions, heap.Bytes(table));
  shared = Shared(layout, heap.String("f"), 0x1234'5678);
  inlined = Shared(layout, heap.String("g"), 0x8765'4321);
}

uint64_t MadeFunction::Shared(const V8Layout& layout, uint64_t name, uint32_t identity) {
  const uint64_t scope = heap.Object(layout.scope_info_type, 128);
  constexpr uint32_t kNameOnStack = 1 << 12, kFunction = 4;
  if (layout.are_scope_flags_smi)
    heap.Set(scope, layout.scope_flags, SmiWord(kNameOnStack | kFunction));
  else
    heap.Set<uint32_t>(scope, layout.scope_flags, kNameOnStack | kFunction);
  heap.Set(scope, layout.scope_locals, name);
  const uint16_t start =
      layout.scope_start != kNoField ? layout.scope_start : layout.scope_locals + 16;
  heap.Set(scope, start, SmiWord(10));
  heap.Set(scope, start + 8, SmiWord(25));
  const uint64_t function = heap.Object(layout.shared_type, 96);
  heap.Set(function, layout.shared_data, bytecode);
  heap.Set(function, layout.shared_name, scope);
  heap.Set(function, layout.shared_script, script);
  heap.Set(function, layout.shared_identity(), identity);
  return function;
}

uint64_t MadeFunction::Code(const V8Layout& layout, uint8_t kind, uint64_t data, uint64_t positions,
                            uint32_t bytes) {
  const uint64_t header = layout.has_stream ? layout.stream_header : layout.code_header;
  heap.next = (heap.next + 4095) / 4096 * 4096 + 1024 - header;  // Code is aligned.
  uint64_t code = 0;
  const uint64_t at = heap.next;
  heap.next = at + header + bytes;
  for (uint64_t i = at; i < heap.next; ++i) heap.memory.Put<uint8_t>(i, 0x90);
  heap.next = (heap.next + kCodeTables + 63) / 64 * 64;
  if (layout.has_stream) {
    code = heap.Object(layout.code_type, 128);
    heap.memory.Put(at, heap.MapOf(layout.stream_type));
    heap.memory.Put(at + layout.stream_code, code);
    heap.Set(code, layout.code_start, at + header);
  } else {
    code = at | 1;
    heap.memory.Put(at, heap.MapOf(layout.code_type));
  }
  heap.Set(code, layout.code_size, bytes);
  heap.Set(code, layout.code_flags, static_cast<uint32_t>(kind) << layout.kind_shift);
  heap.Set(code, layout.code_data, data);
  heap.Set(code, layout.code_positions, positions);
  return at + header;
}

uint64_t MadeFunction::DeoptimizationData(const V8Layout& layout) {
  // g is inlined in f at character 18.
  std::vector<uint8_t> inlining(16);
  const uint64_t position = uint64_t{19} << 1;
  std::memcpy(inlining.data(), &position, sizeof(position));
  uint64_t own = shared;
  if (layout.is_deopt_shared_wrapped) {
    own = heap.Object(0x7f1, 16);
    heap.Set(own, 8, shared);
  }
  std::vector<uint64_t> words(16);
  words[layout.deopt_literals] = heap.Array({inlined});
  words[layout.deopt_shared] = own;
  words[layout.deopt_positions] = heap.Bytes(inlining);
  words[layout.deopt_inlined_count] = SmiWord(1);
  if (layout.deopt_exit_start != 0) words[layout.deopt_exit_start] = SmiWord(200);
  return heap.Array(words);
}

}  // namespace stackray::v8::test
