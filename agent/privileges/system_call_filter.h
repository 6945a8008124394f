// The seccomp filter over the list in system_calls.h.
//
// What becomes of a call that is not on the list: libraries of another release, and modules that
// NSS loads, make calls of their own, so the call fails with ENOSYS, as on a kernel that lacks it.
// Who reads the returned descriptor (helper_process.cc) answers it and logs the first of each
// number; when nobody reads it any more the kernel itself answers ENOSYS. SIGSYS with a handler
// would end every thread that blocks signals; SECCOMP_RET_ERRNO would say nothing.
#ifndef STACKRAY_AGENT_PRIVILEGES_SYSTEM_CALL_FILTER_H_
#define STACKRAY_AGENT_PRIVILEGES_SYSTEM_CALL_FILTER_H_

#include <string>

#include "absl/status/statusor.h"
#include "kernel/unique_fd.h"

namespace stackray {

enum class CallsOutside {
  kNotify,  // ENOSYS, and a notification.
  // ENOSYS without one: another filter of this process has the only listener, or there is no
  // reader.
  kErrno,
  kEnd,  // The process ends, as at a call that system_calls.h says ends it.
};

// Binds the calling thread and those that it starts later; needs no_new_privs. The descriptor of
// the notifications with kNotify, otherwise an invalid one.
// Errors: Unavailable (a kernel without seccomp, or another listener).
absl::StatusOr<UniqueFd> LoadSystemCallFilter(CallsOutside outside);

// "openat", or "system call 999".
std::string SystemCallName(int number);

}  // namespace stackray

#endif  // STACKRAY_AGENT_PRIVILEGES_SYSTEM_CALL_FILTER_H_
