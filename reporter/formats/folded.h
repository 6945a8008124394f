// Folded stacks: one line a stack, `process;frame;…;frame COUNT`, root first. COUNT is in the unit
// of the type that is written, but nanoseconds are written as whole microseconds, which is what
// flame graph scripts expect of waiting time.
//
// Kernel frames end in `_[k]`, inlined ones in `_[i]`; a frame without a name is
// `[FILE+0xADDRESS]`. Innermost of a stack of a wait is what was waited for: `[blocked]`,
// `[run queue]` or `[preempted]`. Lines are sorted as bytes (`LC_ALL=C sort`), each stack stands
// once, the last line ends in a newline.
#ifndef STACKRAY_REPORTER_FORMATS_FOLDED_H_
#define STACKRAY_REPORTER_FORMATS_FOLDED_H_

#include <string>

#include "absl/status/status.h"
#include "reporter/formats/profile_view.h"
#include "reporter/formats/sink.h"

namespace stackray {

// `type`: its number in the view. Errors: the sink's. Memory: the tree, not the lines, which may
// be much longer together.
absl::Status WriteFolded(const ProfileView& view, uint32_t type, TextSink sink);

// All of it in one string; of the default type where none is given.
std::string FoldedText(const ProfileView& view);
std::string FoldedText(const ProfileView& view, uint32_t type);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_FOLDED_H_
