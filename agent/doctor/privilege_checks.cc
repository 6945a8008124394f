#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "agent/doctor/checks.h"
#include "agent/doctor/text.h"
#include "agent/privileges/capability_set.h"

namespace stackray::doctor {
namespace {

constexpr size_t kStatusBytes = 16 << 10;
constexpr size_t kMountBytes = 256 << 10;

struct CapabilityNeed {
  Capability number;
  std::string_view id, name;
  bool admin_covers;  // CAP_SYS_ADMIN includes it.
  bool blocking;
  std::string_view cost;
};

constexpr std::array<CapabilityNeed, 6> kNeeds{{
    {Capability::kBpf, "bpf", "CAP_BPF", true, true, "no BPF program can be loaded"},
    {Capability::kPerfmon, "perfmon", "CAP_PERFMON", true, true,
     "no CPU can be sampled and BPF programs may not read memory"},
    {Capability::kSysPtrace, "sys_ptrace", "CAP_SYS_PTRACE", false, false,
     "no stack of other users' programs is whole or named (measured: 0 % of theirs, 37 % of all "
     "stacks of a host were complete), and no function of an interpreter"},
    {Capability::kCheckpointRestore, "checkpoint_restore", "CAP_CHECKPOINT_RESTORE", true, false,
     "libraries that were deleted or replaced while they run have no names, and stacks through "
     "them "
     "are not whole (measured: 0 % of these were)"},
    {Capability::kDacReadSearch, "dac_read_search", "CAP_DAC_READ_SEARCH", false, false,
     "programs that their owner made unreadable have no names, and their stacks are not whole "
     "(measured: 0 % of them were)"},
    {Capability::kSyslog, "syslog", "CAP_SYSLOG", true, false,
     "kernel frames have no names, unless kernel.kptr_restrict is 0 and "
     "kernel.perf_event_paranoid below 2"},
}};

// As /proc/self/status says, or nullopt.
std::optional<TaskPrivileges> Own(const HostProbe& host) {
  const absl::StatusOr<std::string> status = host.ReadText("/proc/self/status", kStatusBytes);
  return status.ok() ? ParseTaskPrivileges(*status) : std::nullopt;
}

// Root's whole set is too long to be read.
std::string Held(CapabilitySet set) {
  constexpr int kMostNamed = 14;
  const int count = std::popcount(set.bits());
  return count <= kMostNamed ? NamesOf(set) : fmt::format("{} capabilities", count);
}

std::string CapabilityFix(std::string_view name) {
  return fmt::format("run as root; container: privileged; systemd: AmbientCapabilities={}", name);
}

// The option `key` of the first proc file system on /proc, or "".
std::string ProcMountOption(const HostProbe& host, std::string_view key) {
  const absl::StatusOr<std::string> mounts = host.ReadText("/proc/self/mounts", kMountBytes);
  if (!mounts.ok()) return "";
  for (std::string_view line : Split(*mounts, '\n')) {
    const std::vector<std::string_view> fields = Split(line, ' ');
    if (fields.size() < 4 || fields[1] != "/proc" || fields[2] != "proc") continue;
    for (std::string_view option : Split(fields[3], ',')) {
      if (option.starts_with(key)) return std::string(option.substr(key.size()));
    }
  }
  return "";
}

}  // namespace

Findings CheckCapabilities(const HostProbe& host) {
  const std::optional<TaskPrivileges> own = Own(host);
  if (!own) {
    return {Warning("capabilities", "/proc/self/status does not show our capabilities",
                    "missing privileges are only noticed where something fails",
                    "mount a proc file system on /proc")};
  }
  Findings findings;
  for (const CapabilityNeed& need : kNeeds) {
    if (own->effective.Has(need.number) ||
        (need.admin_covers && own->effective.Has(Capability::kSysAdmin)))
      continue;
    Finding finding =
        Warning(fmt::format("capability.{}", need.id), fmt::format("{} is missing", need.name),
                std::string(need.cost), CapabilityFix(need.name));
    if (need.blocking) finding.level = FindingLevel::kBlocking;
    findings.push_back(std::move(finding));
  }
  if (findings.empty())
    findings.push_back(Good("capabilities", "all needed capabilities are held"));
  findings.push_back(
      Good("privileges",
           fmt::format("held here: {}; NoNewPrivs {}, seccomp {}. A started agent keeps what is "
                       "needed of it (agent --status)",
                       Held(own->effective), own->no_new_privs ? 1 : 0,
                       SeccompModeName(own->seccomp_mode))));
  return findings;
}

// In a user namespace of its own root has every capability, and over the kernel none.
Findings CheckUserNamespace(const HostProbe& host) {
  const std::string map = ReadSetting(host, "/proc/self/uid_map");
  if (map.empty()) return {};  // A kernel without user namespaces.
  const std::vector<std::string_view> fields = Split(map, ' ');
  const bool initial =
      fields.size() == 3 && fields[0] == "0" && fields[1] == "0" && fields[2] == "4294967295";
  if (initial) return {Good("user_namespace", "in the host's user namespace")};
  return {
      Blocking("user_namespace", "inside a user namespace (rootless container?)",
               "the kernel grants BPF and whole-CPU sampling to the host's own root only",
               "start stackray on the host, or in a privileged container that is not rootless")};
}

Findings CheckPidNamespace(const HostProbe& host) {
  // PROC_PID_INIT_INO of linux/proc_ns.h: the number of the first pid namespace.
  constexpr std::string_view kHostNamespace = "pid:[4026531836]";
  const absl::StatusOr<std::string> link = host.ReadLink("/proc/self/ns/pid");
  if (link.ok() && *link == kHostNamespace) {
    return {Good("pid_namespace", "in the host's pid namespace")};
  }
  if (!link.ok()) {
    return {Warning("pid_namespace", "/proc/self/ns/pid cannot be read",
                    "unknown whether every process of this host is visible",
                    "mount a proc file system on /proc")};
  }
  return {
      Warning("pid_namespace", "inside a pid namespace: /proc shows only this container",
              "programs outside it are sampled as [outside this pid namespace]: their command and "
              "kernel frames, no functions. -p, -- and everything inside it work",
              "Kubernetes: hostPID: true; docker: --pid=host")};
}

Findings CheckLockdown(const HostProbe& host) {
  const std::string modes = ReadSetting(host, "/sys/kernel/security/lockdown");
  if (modes.find("[confidentiality]") != modes.npos) {
    return {Blocking("lockdown", "kernel lockdown is in confidentiality mode",
                     "BPF programs may not read kernel memory, so no stack can be taken",
                     "boot with lockdown=integrity, or without lockdown=")};
  }
  if (modes.find("[integrity]") != modes.npos) {
    return {Good("lockdown", "kernel lockdown is in integrity mode, which allows sampling")};
  }
  return {Good("lockdown", "kernel lockdown is off")};
}

// Yama asks this before one process may read another's memory; 3 forbids it even to root.
Findings CheckPtraceScope(const HostProbe& host) {
  if (ReadSetting(host, "/proc/sys/kernel/yama/ptrace_scope") != "3") return {};
  return {Warning("ptrace_scope", "kernel.yama.ptrace_scope is 3: nobody may read others' memory",
                  "`stackray dump`, and names of Python, Ruby and other runtimes' functions",
                  "it can only be lowered by a reboot: remove kernel.yama.ptrace_scope=3 from "
                  "/etc/sysctl.d")};
}

Findings CheckHiddenProcesses(const HostProbe& host) {
  const std::string subset = ProcMountOption(host, "subset=");
  if (subset == "pid") {
    return {Warning("proc_subset", "/proc is mounted with subset=pid",
                    "/proc/kallsyms and /proc/sys are hidden: kernel frames have no names",
                    "mount -o remount,subset= /proc is refused: mount a full proc on /proc")};
  }
  const std::string hidden = ProcMountOption(host, "hidepid=");
  if (hidden.empty() || hidden == "0" || hidden == "off") return {};
  const std::optional<TaskPrivileges> own = Own(host);
  if (own && own->effective.Has(Capability::kSysPtrace)) {
    return {Good("hidepid", "/proc hides others' processes, though not from us (CAP_SYS_PTRACE)")};
  }
  return {Warning("hidepid", fmt::format("/proc is mounted with hidepid={}", hidden),
                  "programs of other users keep addresses instead of names",
                  "run with CAP_SYS_PTRACE, or mount -o remount,hidepid=0 /proc")};
}

// Whether what samples may go before what is measured (agent/privileges/thread_priority.h).
Findings CheckPriority(const HostProbe& host) {
  constexpr std::string_view kLimit = "Max nice priority";
  constexpr int kForNiceMinus10 = 30;  // 20 - nice (setrlimit(2)).
  const absl::StatusOr<std::string> limits = host.ReadText("/proc/self/limits", kStatusBytes);
  int most = 0;
  if (limits.ok() && limits->find(kLimit) != std::string::npos)
    most = std::atoi(limits->c_str() + limits->find(kLimit) + kLimit.size());
  const std::optional<TaskPrivileges> own = Own(host);
  if (own && !own->effective.Has(Capability::kSysNice) && most < kForNiceMinus10) {
    return {Warning("priority", "no thread may have nice -10",
                    "samples are lost where all CPUs are busy for seconds",
                    "run with CAP_SYS_NICE; systemd: LimitNICE=-10")};
  }
  if (ReadSetting(host, "/proc/sys/kernel/sched_autogroup_enabled") != "1")
    return {Good("priority", "what samples goes before what is measured (nice -10)")};
  return {
      Good("priority",
           "CPU time is shared by session (sched_autogroup): an agent that leads its session, as "
           "a service, a pod's first process or below setsid, goes before the others (nice -10); "
           "any other goes first within its own alone")};
}

}  // namespace stackray::doctor
