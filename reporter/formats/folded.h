// Folded stacks: one line a stack, `process;frame;…;frame COUNT`, root first (design.md §10).
//
// Kernel frames end in `_[k]`, inlined ones in `_[i]`; a frame without a name is
// `[FILE+0xADDRESS]`. Lines are sorted as bytes (`LC_ALL=C sort`), each stack stands once, the last
// line ends in a newline.
#ifndef STACKRAY_REPORTER_FORMATS_FOLDED_H_
#define STACKRAY_REPORTER_FORMATS_FOLDED_H_

#include <string>

#include "absl/status/status.h"
#include "reporter/formats/profile_view.h"
#include "reporter/formats/sink.h"

namespace stackray {

// Errors: the sink's. Memory: the tree, not the lines, which may be much longer together.
absl::Status WriteFolded(const ProfileView& view, TextSink sink);

// The same in one string.
std::string FoldedText(const ProfileView& view);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_FOLDED_H_
