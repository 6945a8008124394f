// Whose process numbers /proc has: the host's, or those of a pid namespace (a container without the
// host's pids). Threads: any.
#ifndef STACKRAY_KERNEL_PID_NAMESPACE_H_
#define STACKRAY_KERNEL_PID_NAMESPACE_H_

#include <cstdint>

namespace stackray {

// Inode number of the pid namespace that /proc shows; 0: the host's, or there is no telling.
uint32_t PidNamespaceOfProc();

// The number in /proc of this process, and of a child that it knows by `pid`. They differ from
// getpid() and `pid` where /proc shows a namespace around this process's own. Of a child that is
// not found: `pid`.
uint32_t OwnPidInProc();
uint32_t ChildPidInProc(uint32_t pid);

// The number that a thread has in its own pid namespace. One that is gone: `tid`.
uint32_t InnerThreadId(uint32_t tid);

// Is there a process with that number in /proc?
bool IsProcess(uint32_t pid);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_PID_NAMESPACE_H_
