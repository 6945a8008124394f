// What the agent asks of its helper process. Both are one program, forked, so their structs agree.
#ifndef STACKRAY_AGENT_PRIVILEGES_HELPER_PROTOCOL_H_
#define STACKRAY_AGENT_PRIVILEGES_HELPER_PROTOCOL_H_

#include <cstdint>

namespace stackray {

inline constexpr uint32_t kHelperProtocol = 1;
inline constexpr uint32_t kMostGroups = 64;

enum class HelperTask : uint32_t {
  // Descriptors: the file (O_PATH), a socket for the reply. Reads the file as a user.
  kCopyFile = 1,
  // Descriptors: the listener of system_call_filter.h. No reply.
  kAnswerSystemCalls = 2,
  // Descriptors: a socket for the reply. Changes the nice value of one of the agent's threads.
  kSetNice = 3,
};

struct HelperRequest {
  uint32_t protocol = kHelperProtocol;
  HelperTask task = HelperTask::kCopyFile;
  // kCopyFile: whom to become.
  uint32_t uid = 0, gid = 0, group_count = 0;
  uint32_t groups[kMostGroups] = {};
  uint64_t most_bytes = 0;    // kCopyFile: a larger file is refused; 0: only its facts are wanted.
  int32_t tid = 0, nice = 0;  // kSetNice.
};

// With the copy's descriptor, when there is one.
struct HelperReply {
  int32_t error = 0;  // errno.
  uint32_t mode = 0;
  uint64_t device = 0, inode = 0, size_bytes = 0;
  int64_t mtime_s = 0;
  uint64_t mtime_ns = 0;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_PRIVILEGES_HELPER_PROTOCOL_H_
