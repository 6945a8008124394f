// The upstream version of a running kernel, and whether sampling on it is safe.
#ifndef STACKRAY_KERNEL_KERNEL_VERSION_H_
#define STACKRAY_KERNEL_KERNEL_VERSION_H_

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace stackray {

struct KernelVersion {
  int major = 0;
  int minor = 0;
  int patch = 0;
  auto operator<=>(const KernelVersion&) const = default;
  std::string ToString() const;
};

// "6.1.76-foo" is 6.1.76; nullopt when there is no "number.number" in front. Any bytes are fine.
std::optional<KernelVersion> ParseKernelVersion(std::string_view text);

// Debian says 6.1.0-18-amd64 as release and "… Debian 6.1.76-1 (date)" as build; Ubuntu says
// 6.2.0-39-generic and, in /proc/version_signature, "Ubuntu 6.2.0-39.40-generic 6.2.16". What
// counts is the stable release behind it. `signature` may be empty.
std::optional<KernelVersion> UpstreamVersion(std::string_view release, std::string_view build,
                                             std::string_view signature);

enum class KernelJudgement {
  kSupported,
  kTooOld,   // Before 5.10: its BPF lacks too much.
  kRefused,  // Reading user memory from an interrupt can hang it: 5.19, 6.0, 6.1 before .36,
             // 6.2, 6.3 before .10.
};
KernelJudgement JudgeKernel(const KernelVersion& version);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_KERNEL_VERSION_H_
