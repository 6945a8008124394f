// What the end of a walk says of a user stack: the one place that decides what counts as complete.
// Who makes a batch asks by reason; who reads one asks by marker (profile/marker.h), and both get
// one answer.
#ifndef STACKRAY_PROFILE_STACK_END_H_
#define STACKRAY_PROFILE_STACK_END_H_

#include <cstdint>

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
    case END_NULL_RA:
    case END_NULL_RECORD: return StackEnd::kComplete;
    case END_NULL_FP:
    case END_DOUBTED:
    case END_GUESSED_NULL_RA: return StackEnd::kGuessed;
    case END_KERNEL_THREAD:
    case END_NO_ADDRESS_SPACE: return StackEnd::kNoStack;
    case END_OUTSIDE_NAMESPACE: return StackEnd::kOutside;
  }
  return StackEnd::kCut;
}

}  // namespace stackray

#endif  // STACKRAY_PROFILE_STACK_END_H_
