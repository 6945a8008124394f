// Giving capabilities up for good.
#ifndef STACKRAY_AGENT_PRIVILEGES_CAPABILITY_DROP_H_
#define STACKRAY_AGENT_PRIVILEGES_CAPABILITY_DROP_H_

#include "absl/status/status.h"
#include "agent/privileges/capability_set.h"

namespace stackray {

// Lowers the calling thread's effective set to what it holds of `keep`; the permitted set stays, so
// that the step can be taken back. Errors: Internal (capset refused).
absl::Status LowerEffective(CapabilitySet keep);

// Leaves the calling thread what it holds of `keep`, effective and permitted, and nothing to
// inherit, bound or ambient beyond it. no_new_privs is set. Only the calling thread and those that
// it starts later are changed, so call it before there is a second one.
// Errors: Internal (the kernel refused), FailedPrecondition (there are other threads).
absl::Status KeepOnly(CapabilitySet keep);

}  // namespace stackray

#endif  // STACKRAY_AGENT_PRIVILEGES_CAPABILITY_DROP_H_
