// Who was sampled.
#ifndef STACKRAY_PROFILE_PROCESS_H_
#define STACKRAY_PROFILE_PROCESS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stackray {

// One program image of one process. A reused pid differs in start_time_ns, an exec in exec_id.
struct ProcessId {
  uint32_t pid = 0;      // As /proc has it; with PID_OUTSIDE (bpf/shared/records.h) the host's.
  uint32_t exec_id = 0;  // task_struct.self_exec_id.
  uint64_t start_time_ns = 0;  // CLOCK_BOOTTIME of the leader's start.

  friend bool operator==(const ProcessId&, const ProcessId&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ProcessId& id) {
    return H::combine(std::move(h), id.pid, id.exec_id, id.start_time_ns);
  }
};

// The kinds of values that a process's own attributes have in a batch.
using AttributeValue = std::variant<std::string, bool, int64_t, double>;

// What a batch says about a process: its OTLP resource. Empty strings and zeros are left out.
// Strings may hold any bytes.
// ProcessId{} (pid 0) stands for the host itself: markers of lost samples belong to it.
struct ProcessInfo {
  uint32_t pid = 0;
  bool is_outside = false;      // Of the agent's pid namespace: the pid is the host's.
  std::string command;          // The leader's comm.
  std::string executable_path;  // From the root of its mount namespace, as /proc/PID/exe says it.
  int64_t creation_time_unix_ns = 0;
  std::string cgroup_path;
  std::string container_id;    // 64 hex digits.
  std::string container_name;  // Of containers that have no such id.
  std::string pod_uid;         // Kubernetes.
  std::string service_name;
  // By the word of the process, or of somebody who may name its cgroup.
  bool is_container_claimed = false, is_pod_claimed = false, is_service_claimed = false;
  std::vector<std::pair<std::string, AttributeValue>> extra;    // More resource attributes.
  std::vector<std::pair<std::string, AttributeValue>> claimed;  // By the process's own word.
};

}  // namespace stackray

#endif  // STACKRAY_PROFILE_PROCESS_H_
