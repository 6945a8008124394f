// A host in memory. Fresh from the constructor it lacks nothing; each test takes one thing away.
#ifndef STACKRAY_TESTS_AGENT_DOCTOR_FAKE_HOST_H_
#define STACKRAY_TESTS_AGENT_DOCTOR_FAKE_HOST_H_

#include <map>
#include <set>
#include <string>

#include "agent/doctor/host_probe.h"

namespace stackray {

class FakeHost : public HostProbe {
 public:
  FakeHost();

  // Everything but the capabilities of these numbers is held.
  void DropCapabilities(const std::set<int>& numbers);

  absl::StatusOr<std::string> ReadText(const std::string& path, size_t limit) const override;
  absl::StatusOr<std::string> ReadLink(const std::string& path) const override;
  bool Exists(const std::string& path) const override { return files.contains(path); }
  std::string KernelRelease() const override { return release; }
  std::string KernelBuild() const override { return build; }
  std::string Machine() const override { return machine; }
  Attempt OpenCpuClock() const override { return cpu_clock; }
  Attempt OpenHardwareCycles() const override { return hardware_cycles; }
  Attempt LoadPerfProgram() const override { return load; }
  Attempt AttachPerfProgram() const override { return attach; }
  Attempt AttachProcessEvents() const override { return process_events; }
  Attempt CreateRingBuffer() const override { return ring_buffer; }
  Attempt ListenOn(uint16_t) const override { return listen; }
  std::string OwnerOfPort(uint16_t) const override { return port_owner; }
  Attempt WriteBelow(const std::string&) const override { return write; }

  std::map<std::string, std::string> files, links;
  std::string release = "6.12.5-amd64";
  std::string build = "#1 SMP PREEMPT_DYNAMIC Debian 6.12.5-1 (2024-12-15)";
  std::string machine = "x86_64", port_owner;
  Attempt cpu_clock, hardware_cycles, load, attach, process_events, ring_buffer, listen, write;
};

}  // namespace stackray

#endif  // STACKRAY_TESTS_AGENT_DOCTOR_FAKE_HOST_H_
