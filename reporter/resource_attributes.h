// The Resource message of one process: who it is and where it runs.
#ifndef STACKRAY_REPORTER_RESOURCE_ATTRIBUTES_H_
#define STACKRAY_REPORTER_RESOURCE_ATTRIBUTES_H_

#include <string>

#include "profile/process.h"
#include "reporter/batch.h"

namespace stackray {

// The body of an opentelemetry.proto.resource.v1.Resource. All attributes are inline. Keys are
// unique: where `info.extra` or `info.claimed` repeats one, the first stays. Empty values are left
// out, and the keys of `settings.left_out`. Any bytes are taken.
//   process.pid, stackray.process.pid_namespace ("host": the agent is in a pid namespace, this
//   process is outside of it, and its pid is the host's), process.command (the leader's comm),
//   process.executable.{path,name}, process.creation.time (ISO 8601, milliseconds, UTC),
//   process.linux.cgroup, container.{id,name}, k8s.pod.uid, service.name, host.{name,id,arch},
//   os.{type,version}, then `info.extra`, `info.claimed`, stackray.claimed, and
//   `settings.resource_attributes` (of these, host.… and os.… come before the fields they replace).
// stackray.claimed is the list of those keys here whose values are the process's own word; keys
// that begin with "claimed." say so themselves and are not in it. Without such a key it is left
// out.
std::string EncodeResource(const ProcessInfo& info, const BatchSettings& settings);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_RESOURCE_ATTRIBUTES_H_
