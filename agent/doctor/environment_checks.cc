#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "agent/doctor/checks.h"
#include "agent/doctor/text.h"
#include "kernel/kernel_version.h"

namespace stackray::doctor {
namespace {

// Enough lines of /proc/kallsyms to meet a symbol that is not per-CPU (those may start at 0).
constexpr size_t kKallsymsBytes = 256 << 10;

bool AnyAddressShown(std::string_view kallsyms) {
  for (std::string_view line : Split(kallsyms, '\n')) {
    const std::string_view address = line.substr(0, line.find(' '));
    if (address.size() >= 8 && address.find_first_not_of('0') != address.npos) return true;
  }
  return false;
}

}  // namespace

Findings CheckKernelSymbols(const HostProbe& host) {
  const absl::StatusOr<std::string> symbols = host.ReadText("/proc/kallsyms", kKallsymsBytes);
  if (symbols.ok() && AnyAddressShown(*symbols)) {
    return {Good("kernel_symbols", "/proc/kallsyms shows addresses")};
  }
  const std::string restriction = ReadSetting(host, "/proc/sys/kernel/kptr_restrict");
  const std::string what = !symbols.ok() ? "/proc/kallsyms cannot be read"
                           : restriction == "2"
                               ? "/proc/kallsyms hides its addresses (kernel.kptr_restrict is 2)"
                               : "/proc/kallsyms hides its addresses";
  const std::string fix = restriction == "2" ? "sysctl kernel.kptr_restrict=1"
                          : symbols.ok()     ? "run as root, or with CAP_SYSLOG"
                                             : "use a kernel with CONFIG_KALLSYMS=y, as root";
  return {Warning("kernel_symbols", what, "kernel frames are addresses without names", fix)};
}

Findings CheckControlGroups(const HostProbe& host) {
  if (host.Exists("/sys/fs/cgroup/cgroup.controllers")) {
    return {Good("cgroup", "control groups, version 2")};
  }
  if (host.Exists("/sys/fs/cgroup/unified/cgroup.controllers") ||
      host.Exists("/sys/fs/cgroup/cpu") || host.Exists("/sys/fs/cgroup/memory")) {
    return {Good("cgroup", "control groups, version 1 or mixed")};
  }
  return {Warning("cgroup", "no control groups below /sys/fs/cgroup",
                  "--cgroup and --container do not work; samples do not name their container",
                  "mount -t cgroup2 none /sys/fs/cgroup; in a container, mount the host's")};
}

Findings CheckUprobes(const HostProbe& host) {
  if (host.Exists("/sys/bus/event_source/devices/uprobe/type")) {
    return {Good("uprobes", "probes in user programs are possible")};
  }
  return {Warning("uprobes", "the kernel offers no uprobes",
                  "no probes in user programs; sampling by time is not touched by this",
                  "use a kernel with CONFIG_UPROBE_EVENTS=y")};
}

Findings CheckStateDirectory(const HostProbe& host, const std::string& folder) {
  const Attempt attempt = host.WriteBelow(folder);
  if (attempt.ok()) return {Good("state_directory", fmt::format("{} can be written", folder))};
  const char* words = strerrordesc_np(attempt.error);
  return {Warning("state_directory",
                  fmt::format("{} cannot be written: {}", folder, words ? words : "unknown error"),
                  "no local history and no spool: what a receiver misses is lost at a restart",
                  "choose another one: --state-dir DIR, or STACKRAY_STATE_DIR")};
}

Findings CheckPagePort(const HostProbe& host, uint16_t port) {
  const Attempt attempt = host.ListenOn(port);
  if (attempt.ok()) return {Good("page_port", fmt::format("port {} is free", port))};
  if (attempt.error == EADDRINUSE) {
    const std::string owner = host.OwnerOfPort(port);
    // A command is its process's own word; a user stands there where it is another's.
    if (owner.starts_with("stackray ") && owner.find(", user ") == std::string::npos)
      return {
          Good("page_port", fmt::format("port {} serves the agent that runs: {}", port, owner))};
    return {Warning(
        "page_port",
        fmt::format("port {} of 127.0.0.1 is taken{}{}", port, owner.empty() ? "" : " by ", owner),
        "the local page gets the next free port", "choose another port: --listen PORT")};
  }
  const char* words = strerrordesc_np(attempt.error);
  return {Warning("page_port",
                  fmt::format("127.0.0.1:{} cannot be opened: {}", port, words ? words : "?"),
                  "no local page", "bring up the loopback interface: ip link set lo up")};
}

// Settings that people change for profilers in vain; said so that nobody loosens a host for us.
Findings CheckHarmlessSettings(const HostProbe& host) {
  Findings findings;
  const std::string paranoid = ReadSetting(host, "/proc/sys/kernel/perf_event_paranoid");
  if (!paranoid.empty()) {
    findings.push_back(
        Good("perf_event_paranoid",
             fmt::format("kernel.perf_event_paranoid is {}: does not matter with CAP_PERFMON",
                         paranoid)));
  }
  const std::string unprivileged = ReadSetting(host, "/proc/sys/kernel/unprivileged_bpf_disabled");
  if (!unprivileged.empty()) {
    findings.push_back(
        Good("unprivileged_bpf",
             fmt::format("kernel.unprivileged_bpf_disabled is {}: does not matter with CAP_BPF",
                         unprivileged)));
  }
  const auto version = UpstreamVersion(host.KernelRelease(), host.KernelBuild(), "");
  const bool counts = version && *version < KernelVersion{5, 11, 0};
  findings.push_back(Good(
      "memlock", counts ? "RLIMIT_MEMLOCK is raised when BPF is loaded: before Linux 5.11 BPF "
                          "maps count against it"
                        : "RLIMIT_MEMLOCK does not matter: BPF maps are charged to the control "
                          "group since Linux 5.11"));
  return findings;
}

}  // namespace stackray::doctor
