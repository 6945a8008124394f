#include "agent/reports/host_events.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
// Behind the structs that it names.
#include "bpf/host_events.skel.h"
#include "kernel/libbpf_log.h"
#include "kernel/pid_namespace.h"

namespace stackray {
namespace {

constexpr size_t kMostEvents = 1024;  // Of one reading.

struct DestroySkeleton {
  void operator()(host_events_bpf* skeleton) const { host_events_bpf__destroy(skeleton); }
};
struct FreeRing {
  void operator()(ring_buffer* ring) const { ring_buffer__free(ring); }
};

absl::Status Refused(const char* what, int error) {
  return absl::FailedPreconditionError(
      absl::StrCat("the kernel tells of no ended processes: ", what, ": ", strerror(error)));
}

}  // namespace

struct HostEvents::Programs {
  std::unique_ptr<host_events_bpf, DestroySkeleton> skeleton;
  std::unique_ptr<ring_buffer, FreeRing> ring;
};

HostEvents::HostEvents() = default;
HostEvents::~HostEvents() = default;

int HostEvents::OnEvent(void* context, void* data, size_t bytes) {
  auto& events = static_cast<HostEvents*>(context)->events_;
  host_event event = {};
  if (bytes < sizeof(event) || events.size() >= kMostEvents) return 0;
  std::memcpy(&event, data, sizeof(event));
  events.push_back(event);
  return 0;
}

absl::Status HostEvents::Load() {
  if (programs_ != nullptr) return absl::OkStatus();
  const LibbpfLog log;
  auto programs = std::make_unique<Programs>();
  programs->skeleton.reset(host_events_bpf__open());
  if (programs->skeleton == nullptr) return Refused("open", errno);
  programs->skeleton->rodata->pid_namespace = PidNamespaceOfProc();
  if (const int error = host_events_bpf__load(programs->skeleton.get()); error != 0)
    return Refused("load", -error);
  if (const int error = host_events_bpf__attach(programs->skeleton.get()); error != 0)
    return Refused("attach", -error);
  programs->ring.reset(ring_buffer__new(bpf_map__fd(programs->skeleton->maps.host_events),
                                        &HostEvents::OnEvent, this, nullptr));
  if (programs->ring == nullptr) return Refused("ring", errno);
  programs_ = std::move(programs);
  return absl::OkStatus();
}

void HostEvents::Read() {
  events_.clear();
  if (programs_ != nullptr) ring_buffer__consume(programs_->ring.get());
}

}  // namespace stackray
