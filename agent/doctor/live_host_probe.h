// HostProbe of the machine we run on.
#ifndef STACKRAY_AGENT_DOCTOR_LIVE_HOST_PROBE_H_
#define STACKRAY_AGENT_DOCTOR_LIVE_HOST_PROBE_H_

#include <string>

#include "agent/doctor/host_probe.h"

namespace stackray {

// Every experiment is undone before its function returns. libbpf's messages are kept from standard
// error while one runs, which is a setting of the whole process: no other thread may load programs
// meanwhile.
class LiveHostProbe : public HostProbe {
 public:
  absl::StatusOr<std::string> ReadText(const std::string& path, size_t limit) const override;
  absl::StatusOr<std::string> ReadLink(const std::string& path) const override;
  bool Exists(const std::string& path) const override;
  std::string KernelRelease() const override;
  std::string KernelBuild() const override;
  std::string Machine() const override;
  Attempt OpenCpuClock() const override;
  Attempt OpenHardwareCycles() const override;
  Attempt LoadPerfProgram() const override;
  Attempt AttachPerfProgram() const override;
  Attempt AttachProcessEvents() const override;
  Attempt CreateRingBuffer() const override;
  Attempt ListenOn(uint16_t port) const override;
  std::string OwnerOfPort(uint16_t port) const override;
  Attempt WriteBelow(const std::string& folder) const override;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_DOCTOR_LIVE_HOST_PROBE_H_
