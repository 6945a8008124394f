// The memory of a run holds tokens, receivers' secrets and pieces of every program's stack, so the
// kernel writes none of it to a disk, and no process without CAP_SYS_PTRACE looks into it.
#ifndef STACKRAY_AGENT_PRIVILEGES_CORE_DUMPS_H_
#define STACKRAY_AGENT_PRIVILEGES_CORE_DUMPS_H_

namespace stackray {

// Of this process and those that it forks. An exec ends the second half (prctl(2),
// PR_SET_DUMPABLE), which also binds where core_pattern is a program: such a one gets cores
// whatever RLIMIT_CORE is.
void ForbidCoreDumps();

// For a child that is about to execute another program: the limit as it was before.
// Async-signal-safe.
void RestoreCoreLimit();

}  // namespace stackray

#endif  // STACKRAY_AGENT_PRIVILEGES_CORE_DUMPS_H_
