#include "kernel/sampler_programs.h"

#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "bpf/shared/counters.h"
#include "bpf/shared/runtime.h"
// Behind the structs that it names.
#include "bpf/sampler.skel.h"
#include "kernel/later_programs.h"
#include "kernel/libbpf_log.h"

namespace stackray {
namespace {

// Root of such a namespace is nobody to the kernel's BPF and perf events. The host's own maps every
// user id to itself.
bool IsInUserNamespace() {
  std::ifstream map("/proc/self/uid_map");
  uint64_t inside = 0, outside = 0, count = 0;
  if (!(map >> inside >> outside >> count)) return false;
  return inside != 0 || outside != 0 || count != UINT32_MAX;
}

absl::Status LoadFailure(int error, const std::string& log) {
  if (error == EPERM || error == EACCES) {
    if (IsInUserNamespace())
      return absl::FailedPreconditionError(
          "the kernel refused BPF: this is a user namespace (a rootless container?), whose root "
          "has no "
          "rights over the kernel. Run stackray on the host, or in a privileged container that is "
          "not "
          "rootless.");
    if (log.find("-- BEGIN PROG LOAD LOG --") == std::string::npos)
      return absl::FailedPreconditionError(
          "the kernel refused BPF: not permitted. Run stackray as root (sudo), or give it CAP_BPF, "
          "CAP_PERFMON and CAP_SYS_PTRACE. `stackray doctor` tells more.");
  }
  if (log.find("vmlinux BTF") != std::string::npos || error == ESRCH)
    return absl::FailedPreconditionError(
        "this kernel has no BTF (/sys/kernel/btf/vmlinux): stackray needs one built with "
        "CONFIG_DEBUG_INFO_BTF=y, as distributions' kernels are.");
  return absl::InternalError(
      absl::StrCat("the kernel refused a sampling program: ", strerror(error), "\n", log));
}

// The verifier's last words.
std::string RefusalOf(const absl::Status& status) {
  constexpr size_t kLogTail = 300;
  const std::string text(status.message());
  return text.substr(text.size() - std::min(text.size(), kLogTail));
}

}  // namespace

std::vector<std::string> RuntimeNames(RuntimeSet runtimes) {
  std::vector<std::string> names;
#define STACKRAY_RUNTIME_NAME(number, NAME, name, ...) \
  if (runtimes & 1u << (number)) names.insert(names.begin(), #name);
  FOR_EACH_RUNTIME(STACKRAY_RUNTIME_NAME)
#undef STACKRAY_RUNTIME_NAME
  return names;
}

absl::StatusOr<RuntimeSet> LoadWithFewestLeftOut(
    const std::function<absl::Status(RuntimeSet left_out)>& load) {
  RuntimeSet left_out = 0;
  const absl::Status first = load(left_out);
  if (first.ok()) return left_out;
  if (!absl::IsInternal(first)) return first;
  for (int newest = RUNTIME_KINDS - 1; newest > RUNTIME_NONE; --newest) {
    left_out |= 1u << newest;
    if (load(left_out).ok()) return left_out;
  }
  return first;
}

absl::StatusOr<LoadedSampler> LoadSamplerPrograms(
    const std::function<absl::Status(sampler_bpf*)>& prepare) {
  LoadedSampler loaded;
  const auto load = [&](RuntimeSet left_out) -> absl::Status {
    const LibbpfLog log;
    loaded.skeleton = sampler_bpf__open();
    if (loaded.skeleton == nullptr) return LoadFailure(errno, log.text());
    loaded.skeleton->rodata->left_out_runtimes = left_out;
    absl::Status status = prepare(loaded.skeleton);
    if (status.ok()) {
      LeaveOutLaterPrograms(loaded.skeleton);
      const int error = sampler_bpf__load(loaded.skeleton);
      if (error == 0) return absl::OkStatus();
      status = LoadFailure(-error, log.text());
    }
    sampler_bpf__destroy(loaded.skeleton);
    loaded.skeleton = nullptr;
    if (loaded.refusal.empty()) loaded.refusal = RefusalOf(status);
    return status;
  };
  const absl::StatusOr<RuntimeSet> left_out = LoadWithFewestLeftOut(load);
  if (!left_out.ok()) return left_out.status();
  loaded.left_out = *left_out;
  return loaded;
}

}  // namespace stackray
