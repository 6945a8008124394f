// What the agent asks of the process that runs collectors. Both are one program, forked, so their
// structs agree. The commands themselves are not in a request: that process has had them since the
// start, so an agent that was taken over cannot have others run.
#ifndef STACKRAY_AGENT_PRIVILEGES_COLLECTOR_PROTOCOL_H_
#define STACKRAY_AGENT_PRIVILEGES_COLLECTOR_PROTOCOL_H_

#include <cstdint>

namespace stackray {

// With the descriptor of a socket for the reply.
struct CollectorRequest {
  uint32_t collector = 0;  // Its place in the list.
  uint32_t pid = 0;
};

enum class CollectorEnd : uint32_t {
  kExited = 0,
  kSignal = 1,         // `code` is the signal.
  kDeadline = 2,       // It and its children were killed.
  kMemory = 3,         // Killed likewise.
  kOutput = 4,         // Killed likewise: it wrote more than it may.
  kNotStarted = 5,     // `code` is errno.
  kOtherCommand = 6,   // The process has another name by now.
  kUserNamespace = 7,  // The process has a user namespace of its own.
  kCgroup = 8,         // Its cgroup cannot be entered; `code` is errno.
  kNoProgram = 9,      // There can be no program in memory; `code` is errno.
};

// With a descriptor of what it wrote, unless it was not started.
struct CollectorReply {
  CollectorEnd end = CollectorEnd::kNotStarted;
  int32_t code = 0;
  uint64_t bytes = 0;
};

// Did the command run at all?
inline bool WasStarted(const CollectorReply& reply) {
  return reply.end < CollectorEnd::kNotStarted;
}

}  // namespace stackray

#endif  // STACKRAY_AGENT_PRIVILEGES_COLLECTOR_PROTOCOL_H_
