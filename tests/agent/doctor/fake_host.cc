#include "tests/agent/doctor/fake_host.h"

#include <fmt/format.h>

#include "absl/status/status.h"

namespace stackray {

FakeHost::FakeHost() {
  files = {
      {"/proc/self/uid_map", "         0          0 4294967295\n"},
      {"/proc/self/mounts", "sysfs /sys sysfs rw 0 0\nproc /proc proc rw,nosuid,relatime 0 0\n"},
      {"/proc/kallsyms", "0000000000000000 A fixed_percpu_data\nffffffff81000000 T _text\n"},
      {"/proc/sys/kernel/kptr_restrict", "1\n"},
      {"/proc/sys/kernel/perf_event_paranoid", "3\n"},
      {"/proc/sys/kernel/perf_event_max_sample_rate", "100000\n"},
      {"/proc/sys/kernel/unprivileged_bpf_disabled", "2\n"},
      {"/proc/sys/kernel/yama/ptrace_scope", "1\n"},
      {"/sys/kernel/security/lockdown", "[none] integrity confidentiality\n"},
      {"/sys/kernel/btf/vmlinux", ""},
      {"/sys/fs/cgroup/cgroup.controllers", "cpu memory\n"},
      {"/sys/bus/event_source/devices/uprobe/type", "9\n"},
  };
  links = {{"/proc/self/ns/pid", "pid:[4026531836]"}};
  DropCapabilities({});
}

void FakeHost::DropCapabilities(const std::set<int>& numbers) {
  uint64_t held = 0x1ffffffffff;
  for (int number : numbers) held &= ~(uint64_t{1} << number);
  files["/proc/self/status"] =
      fmt::format("Name:\tstackray\nCapPrm:\t0000000000000000\nCapEff:\t{:016x}\n", held);
}

absl::StatusOr<std::string> FakeHost::ReadText(const std::string& path, size_t limit) const {
  const auto found = files.find(path);
  if (found == files.end()) return absl::NotFoundError(path);
  return found->second.substr(0, limit);
}

absl::StatusOr<std::string> FakeHost::ReadLink(const std::string& path) const {
  const auto found = links.find(path);
  if (found == links.end()) return absl::NotFoundError(path);
  return found->second;
}

}  // namespace stackray
