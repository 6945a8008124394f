// Builtins that only carry a call from one function to the next, or run one: nobody who looks at a
// program asks for them.
// Source: the comments of V8's src/builtins/builtins-definitions.h, 8.4 to 15.0.
#ifndef STACKRAY_INTERPRETERS_V8_PLUMBING_H_
#define STACKRAY_INTERPRETERS_V8_PLUMBING_H_

#include <cstddef>
#include <optional>
#include <string_view>

namespace stackray::v8 {

// `name` of a builtin, as in builtins.h.
bool IsPlumbing(std::string_view name);
// Runs bytecodes of all functions: what returns to it is an interpreted frame.
bool RunsBytecodes(std::string_view name);
// Goes on with an interpreted frame that the deoptimizer has made: such a frame returns to the
// builtin's first byte, where no call stands before.
bool ResumesBytecodes(std::string_view name);
// Resumes an async function: 0 whose promise was kept, 1 broken; nullopt: it does not.
std::optional<size_t> ResumesAwaiting(std::string_view name);
// Gives a frame of optimized code up, and makes others in its place (deoptimization).
bool GivesUp(std::string_view name);

}  // namespace stackray::v8

#endif  // STACKRAY_INTERPRETERS_V8_PLUMBING_H_
