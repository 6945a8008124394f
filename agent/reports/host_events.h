// Processes that come to a bad end, as the kernel tells of them (bpf/host_events.bpf.c). The
// programs are loaded when a trigger wants them first.
//
// Cost:    nothing while nothing happens; some µs an event.
// Threads: one.
#ifndef STACKRAY_AGENT_REPORTS_HOST_EVENTS_H_
#define STACKRAY_AGENT_REPORTS_HOST_EVENTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "bpf/shared/host_events.h"

namespace stackray {

class HostEvents {
 public:
  HostEvents();
  ~HostEvents();

  // Errors: FailedPrecondition, with the kernel's reason.
  absl::Status Load();
  // Takes what has happened; the events of the last Read() are those since the one before.
  void Read();
  const std::vector<host_event>& events() const { return events_; }

 private:
  struct Programs;
  static int OnEvent(void* context, void* data, size_t bytes);

  std::unique_ptr<Programs> programs_;
  std::vector<host_event> events_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_HOST_EVENTS_H_
