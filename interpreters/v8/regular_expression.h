// The name of a regular expression's code: its source and its flags.
//
// Input:   a foreign heap, so nothing in it is trusted.
// Threads: functions without state.
#ifndef STACKRAY_INTERPRETERS_V8_REGULAR_EXPRESSION_H_
#define STACKRAY_INTERPRETERS_V8_REGULAR_EXPRESSION_H_

#include <cstdint>
#include <string>

#include "interpreters/v8/compiled_code.h"
#include "interpreters/v8/frame.h"
#include "interpreters/v8/heap.h"

namespace stackray::v8 {

inline constexpr uint32_t kMostRegExpCharacters = 60;  // Of a source; what is longer is cut.

// "RegExp: /a+b/g", as V8's own profiler begins such names; "RegExp" where the frame's data is none
// that has this code.
std::string NameOfRegExp(Heap& heap, const CodeObject& code, const V8Frame& frame);

}  // namespace stackray::v8

#endif  // STACKRAY_INTERPRETERS_V8_REGULAR_EXPRESSION_H_
