#include "kernel/running_kernel.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace stackray {

absl::Status CheckKernel(const KernelVersion& version) {
  switch (JudgeKernel(version)) {
    case KernelJudgement::kSupported: return absl::OkStatus();
    case KernelJudgement::kTooOld:
      return absl::FailedPreconditionError(fmt::format(
          "Linux {} is older than 5.10, the oldest that stackray samples.", version.ToString()));
    case KernelJudgement::kRefused:
      return absl::FailedPreconditionError(fmt::format(
          "Linux {} can hang when a profiler reads user memory from an interrupt; it was fixed in "
          "6.1.36, 6.3.10 and 6.4. Update the kernel, or set STACKRAY_ALLOW_KERNEL=1 to sample "
          "anyway.",
          version.ToString()));
  }
  return absl::InternalError("unknown judgement");
}

absl::Status CheckRunningKernel() {
  const char* allow = std::getenv("STACKRAY_ALLOW_KERNEL");
  if (allow != nullptr && std::string_view(allow) == "1") return absl::OkStatus();
  utsname name = {};
  if (uname(&name) != 0) return absl::FailedPreconditionError("cannot tell the kernel's release");
  std::ifstream file("/proc/version_signature");
  std::string signature;
  std::getline(file, signature);
  const std::optional<KernelVersion> version =
      UpstreamVersion(name.release, name.version, signature);
  if (!version)
    return absl::FailedPreconditionError(
        fmt::format("cannot tell the kernel's version from \"{}\"", name.release));
  return CheckKernel(*version);
}

}  // namespace stackray
