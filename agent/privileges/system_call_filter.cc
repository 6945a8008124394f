#include "agent/privileges/system_call_filter.h"

#include <fmt/format.h>
#include <sched.h>
#include <seccomp.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "agent/privileges/system_calls.h"

namespace stackray {
namespace {

struct ReleaseFilter {
  void operator()(void* filter) const { seccomp_release(filter); }
};
using Filter = std::unique_ptr<void, ReleaseFilter>;

uint32_t ActionOf(CallsOutside outside) {
  switch (outside) {
    case CallsOutside::kNotify: return SCMP_ACT_NOTIFY;
    case CallsOutside::kErrno: return SCMP_ACT_ERRNO(ENOSYS);
    case CallsOutside::kEnd: return SCMP_ACT_KILL_PROCESS;
  }
  return SCMP_ACT_KILL_PROCESS;
}

// A name that this machine, or this libseccomp, does not know is no call that could be made.
int AddRule(void* filter, uint32_t action, const char* name) {
  const int number = seccomp_syscall_resolve_name(name);
  if (number < 0) return 0;
  return seccomp_rule_add(filter, action, number, 0);
}

// Threads may be started, processes may not. clone3's flags lie in memory, where no filter can
// look: glibc takes clone where clone3 is ENOSYS.
int AddThreads(void* filter, CallsOutside outside) {
  const scmp_arg_cmp is_thread = SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD);
  const int clone = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, &is_thread);
  if (clone != 0 || outside == CallsOutside::kErrno) return clone;  // clone3 fails so already.
  return seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

int AddRules(void* filter, CallsOutside outside) {
  int error = AddThreads(filter, outside);
  for (const char* name : AllowedSystemCalls())
    if (error == 0) error = AddRule(filter, SCMP_ACT_ALLOW, name);
  if (outside == CallsOutside::kEnd) return error;  // They end it already.
  for (const char* name : EndingSystemCalls())
    if (error == 0) error = AddRule(filter, SCMP_ACT_KILL_PROCESS, name);
  return error;
}

}  // namespace

absl::StatusOr<UniqueFd> LoadSystemCallFilter(CallsOutside outside) {
  const Filter filter(seccomp_init(ActionOf(outside)));
  if (!filter) return absl::UnavailableError("libseccomp knows no filter of this kind");
  int error = AddRules(filter.get(), outside);
  if (error == 0) error = seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  if (error == 0) error = seccomp_load(filter.get());
  if (error != 0)
    return absl::UnavailableError(fmt::format("no seccomp filter: {}", strerror(-error)));
  if (outside != CallsOutside::kNotify) return UniqueFd();
  return UniqueFd(seccomp_notify_fd(filter.get()));
}

std::string SystemCallName(int number) {
  char* const name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
  std::string text = name != nullptr ? std::string(name) : fmt::format("system call {}", number);
  std::free(name);
  return text;
}

}  // namespace stackray
