// The agent's side of its helper process.
#ifndef STACKRAY_AGENT_PRIVILEGES_HELPER_CLIENT_H_
#define STACKRAY_AGENT_PRIVILEGES_HELPER_CLIENT_H_

#include <cstdint>
#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agent/privileges/helper_process.h"
#include "agent/privileges/helper_protocol.h"
#include "kernel/refused_files.h"

namespace stackray {

// An answer is waited for 2 s. Whose files take longer is left alone for a minute, and everybody
// for 20 s: a hostile file system cannot hold the agent up for more than a tenth of the time. A
// user whom a file refused is not asked for again within a second; the answer is then the last one.
// Bounds of copies: kernel/foreign/copy_room.h.
// Threads: any.
class HelperClient : public RefusedFiles {
 public:
  explicit HelperClient(HelperProcess process);

  absl::StatusOr<CopiedFile> Copy(int path_fd, uint32_t pid) override;
  absl::StatusOr<CopiedFile> Look(int path_fd, uint32_t pid) override;
  // The helper answers system calls that are not on the list. False: it is gone.
  bool AnswerSystemCalls(UniqueFd listener);
  // The nice value of a thread of ours; needs a helper that may lower it (CAP_SYS_NICE).
  absl::Status SetNice(pid_t tid, int nice);
  pid_t pid() const { return process_.pid; }

 private:
  absl::StatusOr<CopiedFile> Ask(int path_fd, uint32_t pid, uint64_t most_bytes);
  absl::StatusOr<CopiedFile> AskHelper(const HelperRequest& request, int path_fd)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Not OK: whom not to ask now, and why.
  absl::Status MayAsk(uint32_t uid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LeaveAlone(uint32_t uid, const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const HelperProcess process_;
  struct Pause {
    uint64_t end_ns = 0;
    absl::Status why;
  };
  absl::Mutex mutex_;  // Held while an answer is waited for: one at a time.
  uint64_t nobody_before_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint32_t, Pause> pauses_ ABSL_GUARDED_BY(mutex_);  // By user.
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_PRIVILEGES_HELPER_CLIENT_H_
