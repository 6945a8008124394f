// What the end of a walk says of a user stack, and what the markers of a batch say: the one place that decides what
// counts as complete. Who makes a batch asks by reason, who reads one asks by marker, and both get the same answer.
#ifndef STACKRAY_PROFILE_STACK_END_H_
#define STACKRAY_PROFILE_STACK_END_H_

#include <cstdint>
#include <string_view>

#include "bpf/shared/end_reason.h"

namespace stackray {

enum class StackEnd : uint8_t {
  kNoStack,   // The sample has no user stack: a kernel thread, or a task inside exec or exit.
  kComplete,  // The last frame is known to be the outermost one.
  kGuessed,   // A guess led to what looks like the end. Not complete.
  kOutside,   // Of a process outside the agent's pid namespace, whose files cannot be opened.
  kCut,       // Frames are missing.
};

// `end`: an enum end_reason.
constexpr StackEnd ClassOfEnd(uint32_t end) {
  switch (end) {
    case END_UNDEFINED_RA:
    case END_NULL_RA: return StackEnd::kComplete;
    case END_NULL_FP:
    case END_GUESSED_NULL_RA: return StackEnd::kGuessed;
    case END_KERNEL_THREAD:
    case END_NO_ADDRESS_SPACE: return StackEnd::kNoStack;
    case END_OUTSIDE_NAMESPACE: return StackEnd::kOutside;
  }
  return StackEnd::kCut;
}

enum class MarkerClass : uint8_t {
  kLost,         // Samples that never arrived.
  kUserCut,      // The user stack is not complete.
  kKernelCut,    // The kernel stack is not.
  kNoStack,      // The sample has no stack at all.
  kOutside,      // The user stack is of a process outside the agent's pid namespace.
  kUnknownCode,  // A frame of code that nothing describes, through which the walk found its way.
  kBetween,      // No frame: says how the frames on its two sides belong together.
  kOther,        // A frame that could not be read, of a known kind.
};

// `text`: the name of a frame of type "abort-marker".
constexpr MarkerClass ClassOfMarker(std::string_view text) {
  if (text.starts_with("[lost")) return MarkerClass::kLost;
  if (text.starts_with("[truncated: kernel")) return MarkerClass::kKernelCut;
  if (text.starts_with("[truncated")) return MarkerClass::kUserCut;
  if (text.starts_with("[outside")) return MarkerClass::kOutside;
  if (text.starts_with("[no stack")) return MarkerClass::kNoStack;
  if (text.starts_with("[native stack")) return MarkerClass::kBetween;
  if (text.starts_with("[unknown")) return MarkerClass::kUnknownCode;
  return MarkerClass::kOther;
}

}  // namespace stackray

#endif  // STACKRAY_PROFILE_STACK_END_H_
