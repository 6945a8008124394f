// Whether the running kernel is one that is sampled.
#ifndef STACKRAY_KERNEL_RUNNING_KERNEL_H_
#define STACKRAY_KERNEL_RUNNING_KERNEL_H_

#include "absl/status/status.h"
#include "kernel/kernel_version.h"

namespace stackray {

// OK, or FailedPrecondition that says why not and what to do.
absl::Status CheckKernel(const KernelVersion& version);

// CheckKernel() of the running one. STACKRAY_ALLOW_KERNEL=1 in the environment says "sample
// anyway".
absl::Status CheckRunningKernel();

}  // namespace stackray

#endif  // STACKRAY_KERNEL_RUNNING_KERNEL_H_
