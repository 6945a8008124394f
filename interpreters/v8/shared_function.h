// A function's SharedFunctionInfo: its name, its script, where it begins, its bytecode.
//
// Input:   a foreign heap, so nothing in it is trusted.
// Threads: functions without state.
#ifndef STACKRAY_INTERPRETERS_V8_SHARED_FUNCTION_H_
#define STACKRAY_INTERPRETERS_V8_SHARED_FUNCTION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "interpreters/v8/heap.h"

namespace stackray::v8 {

// What people know functions without a name as, from Chrome and from Node.
inline constexpr char kAnonymous[] = "(anonymous)";

struct SharedFunction {
  std::string name;     // Never empty.
  uint64_t script = 0;  // Tagged; no Script: none.
  // In the script, where its parameters begin and where it ends; -1: not known.
  int32_t start = -1, end = -1;
  uint64_t bytecode = 0;  // Tagged BytecodeArray; 0: none (flushed, not compiled yet, built in).
  uint32_t identity = 0;  // V8Layout::shared_identity().

  // Can code of this function be at that place of its script? Also where one of the two is not
  // known. Some places are in front of the parameters: the word `function`, the name.
  bool MayHold(int32_t script_offset) const {
    constexpr int32_t kMostBeforeParameters = 1024;
    if (script_offset < 0 || start < 0 || end < start) return true;
    return script_offset >= start - kMostBeforeParameters && script_offset <= end;
  }
};

// `shared`: tagged. Errors: NotFound (the process is gone), DataLoss (no such object any more).
absl::StatusOr<SharedFunction> ReadSharedFunction(Heap& heap, uint64_t shared);

// The BytecodeArray that a function's data leads to: itself, or behind baseline code or data; 0.
uint64_t BytecodeOf(Heap& heap, uint64_t data);

// What a ScopeInfo says of its function.
struct ScopeNames {
  std::string name, inferred;
  int32_t start = -1, end = -1;
};
ScopeNames ReadScopeInfo(Heap& heap, uint64_t scope_info);

}  // namespace stackray::v8

#endif  // STACKRAY_INTERPRETERS_V8_SHARED_FUNCTION_H_
