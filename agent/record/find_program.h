// Can CMD be started? Asked before anything else is done, because loading takes a second.
#ifndef STACKRAY_AGENT_RECORD_FIND_PROGRAM_H_
#define STACKRAY_AGENT_RECORD_FIND_PROGRAM_H_

#include <string>

#include "absl/status/status.h"

namespace stackray {

// What a shell answers with when it cannot start a command.
inline constexpr int kExitCannotExecute = 126, kExitNotFound = 127;

// `name` as execvp() reads it, `path` in the place of $PATH. Errors: NotFound (there is no such
// file), PermissionDenied (there is one, and nobody may execute it). OK promises nothing: exec has
// the last word.
absl::Status FindProgram(const std::string& name, const std::string& path);

// 127 for NotFound, else 126.
int ExitCodeOfExec(const absl::Status& failure);

}  // namespace stackray

#endif  // STACKRAY_AGENT_RECORD_FIND_PROGRAM_H_
