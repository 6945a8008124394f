// Code that V8 has made: found by an address in it, and what it says of its function, of those that
// are inlined in it and of lines.
//
// Input:   a foreign heap, so nothing in it is trusted: searches and counts are bounded.
// Threads: functions without state.
#ifndef STACKRAY_INTERPRETERS_V8_COMPILED_CODE_H_
#define STACKRAY_INTERPRETERS_V8_COMPILED_CODE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "interpreters/v8/heap.h"
#include "interpreters/v8/position_table.h"

namespace stackray::v8 {

inline constexpr uint64_t kMostCodeBytes = 4 << 20;
inline constexpr size_t kMostInlined = 64;  // Levels; deeper ones are cut off outside.

struct CodeObject {
  enum class Kind { kBuiltin, kRegExp, kBaseline, kOptimized, kOther };
  Kind kind = Kind::kOther;
  bool is_maglev = false;
  uint64_t code = 0;   // Tagged.
  uint64_t start = 0;  // Of the instructions.
  uint32_t size_bytes = 0;
  uint64_t data = 0;       // DeoptimizationData; of baseline code what leads to the bytecode.
  uint64_t positions = 0;  // Byte array; of baseline code the bytecode offset table.
};

// The code whose instructions hold `pc`; nullopt: there is none.
std::optional<CodeObject> FindCode(Heap& heap, uint64_t pc);

// One function at a place of optimized code.
struct InlinedPlace {
  uint64_t shared = 0;         // Tagged.
  int32_t script_offset = -1;  // In the function's script; -1: not known.
};

// The function that optimized code was made for; 0: it does not say.
uint64_t FunctionOfCode(Heap& heap, const CodeObject& code);

// The functions at this place of optimized code, innermost first, the last is the code's own.
// `is_call`: the byte is the last one before the address that a call returns to. Where the code was
// given up meanwhile, V8 has replaced that address by one of the code's exits, and the table of
// safepoints says which call has it. Without an answer, and in an exit that no call has, the code's
// own function alone. Empty: it does not say.
std::vector<InlinedPlace> PlacesAt(Heap& heap, const CodeObject& code, uint32_t code_offset,
                                   bool is_call);

}  // namespace stackray::v8

#endif  // STACKRAY_INTERPRETERS_V8_COMPILED_CODE_H_
