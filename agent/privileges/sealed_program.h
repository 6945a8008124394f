// The program that enters a target's world (target_entry.c), in a file that only memory holds.
#ifndef STACKRAY_AGENT_PRIVILEGES_SEALED_PROGRAM_H_
#define STACKRAY_AGENT_PRIVILEGES_SEALED_PROGRAM_H_

#include "kernel/unique_fd.h"

namespace stackray {

// A new file without a name, for fexecve(). Nobody can change its bytes, root neither: it is
// sealed. Memory: 0.7 MB while it is open or runs. Not valid: errno says why; EACCES is the
// setting vm.memfd_noexec=2, by which no such file may be executed.
UniqueFd MakeSealedProgram();

}  // namespace stackray

#endif  // STACKRAY_AGENT_PRIVILEGES_SEALED_PROGRAM_H_
