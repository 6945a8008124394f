// What a process says of itself, in its environment and in the context that it publishes: under
// which keys a batch has it.
//
// What the kernel knows of a process, and what the agent knows of its host, is never taken from a
// process: keys below process, container, host, os, thread and stackray are left out, as is
// k8s.pod.uid, which a cgroup's path has. The agent does not know the others below k8s and cloud;
// receivers may know them (OpenTelemetry Collector's k8sattributes), and keep what a resource has
// already. So they get a prefix: "claimed.k8s.pod.name".
//
// Input:   any bytes. Receivers write keys anew, "process_user_name" for "process.user.name". So
//          what is compared is a key without its case and with one mark for all marks, and a key of
//          other characters than ASCII's letters, digits and "._-/:" is left out.
// Threads: plain functions.
#ifndef STACKRAY_AGENT_SAMPLING_CLAIMED_ATTRIBUTES_H_
#define STACKRAY_AGENT_SAMPLING_CLAIMED_ATTRIBUTES_H_

#include <optional>
#include <string>
#include <string_view>

namespace stackray {

// The key that `key` of a process's own gets; nullopt: it is left out. service.name is left out
// too: service_name.h chooses it.
std::optional<std::string> ClaimedKey(std::string_view key);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_CLAIMED_ATTRIBUTES_H_
