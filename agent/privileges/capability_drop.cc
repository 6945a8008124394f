#include "agent/privileges/capability_drop.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>

namespace stackray {
namespace {

constexpr int kHighestCapability = 63;

absl::Status Refused(const char* what) {
  return absl::InternalError(fmt::format("{}: {}", what, strerror(errno)));
}

absl::Status SetCapabilities(CapabilitySet effective, CapabilitySet permitted) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; ++i) {
    data[i].effective = static_cast<uint32_t>(effective.bits() >> (32 * i));
    data[i].permitted = static_cast<uint32_t>(permitted.bits() >> (32 * i));
  }
  if (syscall(SYS_capset, &header, data) != 0) return Refused("capset");
  return absl::OkStatus();
}

// A number that the kernel does not know is EINVAL. A process without CAP_SETPCAP keeps its
// bounding set, which then binds nobody: no_new_privs keeps an exec from gaining anything.
void DropBounding(CapabilitySet keep) {
  for (int i = 0; i <= kHighestCapability; ++i)
    if ((keep.bits() >> i & 1) == 0) (void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
}

bool IsOnlyThread() {
  std::error_code error;
  const std::filesystem::directory_iterator tasks("/proc/self/task", error);
  return error || std::distance(tasks, std::filesystem::directory_iterator()) == 1;
}

}  // namespace

absl::Status LowerEffective(CapabilitySet keep) {
  const std::optional<TaskPrivileges> own = OwnPrivileges();
  if (!own) return absl::InternalError("/proc does not show our capabilities");
  return SetCapabilities(keep.And(own->permitted), own->permitted);
}

absl::Status KeepOnly(CapabilitySet keep) {
  if (!IsOnlyThread())
    return absl::FailedPreconditionError("there are threads that would keep all capabilities");
  const std::optional<TaskPrivileges> own = OwnPrivileges();
  if (!own) return absl::InternalError("/proc does not show our capabilities");
  // CAP_SETPCAP is among the permitted ones, though perhaps lowered.
  if (absl::Status status = SetCapabilities(own->permitted, own->permitted); !status.ok())
    return status;
  DropBounding(keep);
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
    return Refused("the ambient set");
  const CapabilitySet left = keep.And(own->permitted);
  if (absl::Status status = SetCapabilities(left, left); !status.ok()) return status;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Refused("no_new_privs");
  return absl::OkStatus();
}

}  // namespace stackray
