#include "interpreters/v8/shared_function.h"

#include "interpreters/v8/strings.h"

namespace stackray::v8 {
namespace {

// Flags of a ScopeInfo (src/objects/scope-info.tq), the same in V8 8.4 to 15.0.
constexpr uint32_t kScopeTypeMask = 15, kHasSavedClassVariable = 1 << 10,
                   kHasInferredName = 1 << 14;
constexpr uint32_t kReceiverShift = 7, kFunctionVariableShift = 12, kVariableMask = 3;
constexpr uint32_t kOnStack = 1, kInContext = 2;
constexpr uint32_t kMostLocals = 1 << 16;
constexpr uint16_t kWordBytes = 8;
// UncompiledData; BaselineData and InterpreterData lead to a BytecodeArray.
constexpr uint16_t kInferredName = 8, kStartPosition = 16, kEndPosition = 20,
                   kInterpreterBytecode = 8, kBaselineData = 16;

std::string NameAt(Heap& heap, uint64_t string) { return ReadString(heap, string).value_or(""); }

}  // namespace

ScopeNames ReadScopeInfo(Heap& heap, uint64_t scope_info) {
  const V8Layout& layout = heap.layout();
  const uint32_t flags =
      layout.are_scope_flags_smi
          ? static_cast<uint32_t>(heap.Smi(scope_info, layout.scope_flags).value_or(0))
          : heap.Number<uint32_t>(scope_info, layout.scope_flags);
  const auto locals =
      static_cast<uint32_t>(heap.Smi(scope_info, layout.scope_local_count).value_or(0));
  if (locals > kMostLocals) return {};
  uint64_t at = layout.scope_locals;
  if (layout.is_module_count_first && (flags & kScopeTypeMask) == layout.module_scope)
    at += kWordBytes;
  const bool is_table = locals >= layout.most_inlined_names;
  at += uint64_t{kWordBytes} * (locals + (is_table ? 1 : locals));
  if ((flags & kHasSavedClassVariable) != 0) at += kWordBytes;
  const uint32_t receiver = flags >> kReceiverShift & kVariableMask;
  if (layout.has_receiver_slot && (receiver == kOnStack || receiver == kInContext))
    at += kWordBytes;
  ScopeNames names;
  if ((flags >> kFunctionVariableShift & kVariableMask) != 0) {
    names.name = NameAt(heap, heap.Word(scope_info, at));
    at += uint64_t{2} * kWordBytes;
  }
  if ((flags & kHasInferredName) != 0) {
    names.inferred = NameAt(heap, heap.Word(scope_info, at));
    at += kWordBytes;
  }
  if (layout.scope_start != kNoField) at = layout.scope_start;
  names.start = heap.Smi(scope_info, at).value_or(-1);
  names.end = heap.Smi(scope_info, at + kWordBytes).value_or(-1);
  return names;
}

uint64_t BytecodeOf(Heap& heap, uint64_t data) {
  const V8Layout& layout = heap.layout();
  // Code leads to InterpreterData at most, and that to bytecode.
  for (int i = 0; i < 3; ++i) {
    const uint16_t type = heap.TypeOf(data);
    if (type == kNoType) return 0;
    if (type == layout.bytecode_type) return data;
    if (type == layout.interpreter_data_type)
      data = heap.Word(data, kInterpreterBytecode);
    else if (type == layout.baseline_data_type)
      data = heap.Word(data, kBaselineData);
    else if (type == layout.code_type)
      data = heap.Word(data, layout.code_data);
    else
      return 0;
  }
  return 0;
}

absl::StatusOr<SharedFunction> ReadSharedFunction(Heap& heap, uint64_t shared) {
  const V8Layout& layout = heap.layout();
  if (!heap.Is(shared, layout.shared_type)) return heap.Failure("no function");
  SharedFunction function;
  function.identity = heap.Number<uint32_t>(shared, layout.shared_identity());
  function.script = heap.Word(shared, layout.shared_script);
  const uint64_t name = heap.Word(shared, layout.shared_name);
  const uint64_t data = heap.Word(shared, layout.shared_data);
  std::string inferred;
  if (heap.IsString(name)) {
    function.name = NameAt(heap, name);
  } else if (heap.Is(name, layout.scope_info_type)) {
    ScopeNames names = ReadScopeInfo(heap, name);
    function.name = std::move(names.name);
    inferred = std::move(names.inferred);
    function.start = names.start;
    function.end = names.end;
  }
  if (const uint16_t type = heap.TypeOf(data);
      type >= layout.first_uncompiled_type && type <= layout.last_uncompiled_type) {
    if (inferred.empty()) inferred = NameAt(heap, heap.Word(data, kInferredName));
    function.start = heap.Number<int32_t>(data, kStartPosition);
    function.end = heap.Number<int32_t>(data, kEndPosition);
  } else {
    function.bytecode = BytecodeOf(heap, data);
  }
  if (function.name.empty()) function.name = std::move(inferred);
  if (function.name.empty()) function.name = kAnonymous;
  return function;
}

}  // namespace stackray::v8
