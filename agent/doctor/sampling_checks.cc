#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "agent/doctor/checks.h"
#include "kernel/kernel_version.h"

namespace stackray::doctor {
namespace {

std::string ErrorText(int error) {
  // strerror's table has no entry for what only the kernel says itself.
  constexpr int kNotSupportedInKernel = 524;
  if (error == kNotSupportedInKernel) return "not supported (ENOTSUPP)";
  const char* name = strerrorname_np(error);
  return fmt::format("{} ({})", strerrordesc_np(error) ? strerrordesc_np(error) : "unknown error",
                     name ? std::string(name) : std::to_string(error));
}

std::string RefusalFix(int error) {
  if (error == EPERM || error == EACCES) {
    return "run as root; in a container also lift the seccomp profile (privileged: true)";
  }
  if (error == ENOSYS) return "lift the seccomp profile, or use a kernel with CONFIG_BPF_SYSCALL=y";
  if (error == ENOMEM) return "raise the memory limit of the container or service";
  return "use a kernel of a current distribution (CONFIG_BPF_SYSCALL, CONFIG_BPF_EVENTS, "
         "CONFIG_PERF_EVENTS)";
}

// One finding for an experiment without which there are no samples.
Finding Essential(const char* id, const Attempt& attempt, const char* good, const char* bad,
                  const char* cost) {
  if (attempt.ok()) return Good(id, good);
  Finding finding = Blocking(id, fmt::format("{}: {}", bad, ErrorText(attempt.error)), cost,
                             RefusalFix(attempt.error));
  finding.detail = attempt.detail;
  return finding;
}

}  // namespace

Findings CheckKernel(const HostProbe& host) {
  Findings findings;
  const std::string release = host.KernelRelease();
  if (host.Machine() != "x86_64" && host.Machine() != "aarch64") {
    findings.push_back(Blocking("machine", fmt::format("the machine is {}", host.Machine()),
                                "stackray samples x86_64 and aarch64 only",
                                "run it on an x86_64 or aarch64 host"));
  }
  const auto version =
      UpstreamVersion(release, host.KernelBuild(), ReadSetting(host, "/proc/version_signature"));
  if (!version) {
    findings.push_back(Warning("kernel", fmt::format("unknown kernel version '{}'", release),
                               "unknown whether sampling is safe on it",
                               "use Linux 5.10 or newer"));
    return findings;
  }
  const std::string name = release.starts_with(version->ToString())
                               ? fmt::format("Linux {}", release)
                               : fmt::format("Linux {} ({})", release, version->ToString());
  switch (JudgeKernel(*version)) {
    case KernelJudgement::kSupported: findings.push_back(Good("kernel", name)); break;
    case KernelJudgement::kTooOld:
      findings.push_back(Blocking("kernel", name + " is older than 5.10",
                                  "its BPF lacks what the unwinder needs",
                                  "use Linux 5.10 (Debian 11), or 6.1.36 or newer (Debian 12)"));
      break;
    case KernelJudgement::kRefused:
      findings.push_back(Blocking("kernel", name + " can hang when a sampler reads user memory",
                                  "stackray refuses to sample on it",
                                  "update to 6.1.36, 6.3.10, 6.4 or newer"));
      break;
  }
  return findings;
}

Findings CheckBtf(const HostProbe& host) {
  if (host.Exists("/sys/kernel/btf/vmlinux"))
    return {Good("btf", "the kernel describes its types")};
  return {Blocking("btf", "/sys/kernel/btf/vmlinux is missing",
                   "the BPF programs cannot be fitted to this kernel",
                   "mount sysfs on /sys, or use a kernel with CONFIG_DEBUG_INFO_BTF=y")};
}

Findings CheckPrograms(const HostProbe& host) {
  Findings findings;
  const Attempt load = host.LoadPerfProgram();
  findings.push_back(Essential("bpf_load", load, "BPF programs can be loaded",
                               "loading a BPF program fails", "no sample can be taken"));
  if (!load.ok()) return findings;  // The others would fail for the same reason.
  findings.push_back(Essential("ring_buffer", host.CreateRingBuffer(),
                               "ring buffers can be created", "creating a ring buffer fails",
                               "samples have no way out of the kernel"));
  findings.push_back(Essential(
      "bpf_attach", host.AttachPerfProgram(), "BPF programs can be attached to a CPU's clock",
      "attaching a BPF program to a CPU's clock fails", "no sample can be taken"));
  const Attempt events = host.AttachProcessEvents();
  if (events.ok()) {
    findings.push_back(Good("process_events", "process starts and ends can be followed"));
  } else {
    findings.push_back(Blocking(
        "process_events",
        fmt::format("following process starts fails: {}", ErrorText(events.error)),
        "samples cannot be told apart by process",
        "use a kernel with BTF tracepoints (CONFIG_DEBUG_INFO_BTF=y, CONFIG_BPF_EVENTS=y)"));
    findings.back().detail = events.detail;
  }
  return findings;
}

Findings CheckClocks(const HostProbe& host) {
  Findings findings;
  findings.push_back(Essential("cpu_clock", host.OpenCpuClock(), "the clock cpu-clock works",
                               "opening the clock cpu-clock fails", "no sample can be taken"));
  const Attempt cycles = host.OpenHardwareCycles();
  if (cycles.ok()) {
    findings.push_back(Good("hardware_cycles", "hardware counters work"));
  } else {
    findings.push_back(
        Good("hardware_cycles", fmt::format("no hardware counters ({}): stackray does not use them",
                                            ErrorText(cycles.error))));
  }
  return findings;
}

Findings CheckSampleRate(const HostProbe& host, int sample_rate_hz) {
  const std::string text = ReadSetting(host, "/proc/sys/kernel/perf_event_max_sample_rate");
  int limit = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
  if (error != std::errc() || end == text.data()) return {};
  if (limit >= sample_rate_hz) {
    return {Good("sample_rate", fmt::format("up to {} samples a second are allowed", limit))};
  }
  return {Warning(
      "sample_rate",
      fmt::format("kernel.perf_event_max_sample_rate is {}, below {}", limit, sample_rate_hz),
      fmt::format("rates above {} are refused by the kernel", limit),
      "sysctl kernel.perf_event_max_sample_rate=100000")};
}

}  // namespace stackray::doctor
