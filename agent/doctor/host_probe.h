// What the doctor may ask a host: small reads and short experiments, so that tests can play any
// host.
#ifndef STACKRAY_AGENT_DOCTOR_HOST_PROBE_H_
#define STACKRAY_AGENT_DOCTOR_HOST_PROBE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace stackray {

// Outcome of one experiment: error is 0 or an errno.
struct Attempt {
  int error = 0;
  std::string detail;  // The verifier's log, when there is one.
  bool ok() const { return error == 0; }
};

// Everything here is harmless: nothing stays loaded, open or written.
// Input:   what the kernel answers is bounded by `limit`, and otherwise not judged here.
// Threads: one.
class HostProbe {
 public:
  virtual ~HostProbe() = default;

  // Errors: NotFound, PermissionDenied, Unknown. At most `limit` bytes.
  virtual absl::StatusOr<std::string> ReadText(const std::string& path, size_t limit) const = 0;
  virtual absl::StatusOr<std::string> ReadLink(const std::string& path) const = 0;
  virtual bool Exists(const std::string& path) const = 0;

  // The fields of uname(2).
  virtual std::string KernelRelease() const = 0;
  virtual std::string KernelBuild() const = 0;
  virtual std::string Machine() const = 0;

  // Opens a disabled counter for a whole CPU, as the sampler does.
  virtual Attempt OpenCpuClock() const = 0;
  virtual Attempt OpenHardwareCycles() const = 0;
  // Loads a two-instruction perf-event program; detail is the verifier's log.
  virtual Attempt LoadPerfProgram() const = 0;
  // Attaches that program to a disabled cpu-clock counter.
  virtual Attempt AttachPerfProgram() const = 0;
  // Loads and attaches an empty program at sched_process_exec, for a moment.
  virtual Attempt AttachProcessEvents() const = 0;
  virtual Attempt CreateRingBuffer() const = 0;
  // Binds 127.0.0.1:port for a moment.
  virtual Attempt ListenOn(uint16_t port) const = 0;
  // "nginx (process 12)", which listens on that TCP port; empty: it cannot be told.
  virtual std::string OwnerOfPort(uint16_t port) const = 0;
  // Makes and removes a file in that folder, or in the nearest parent that exists.
  virtual Attempt WriteBelow(const std::string& folder) const = 0;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_DOCTOR_HOST_PROBE_H_
