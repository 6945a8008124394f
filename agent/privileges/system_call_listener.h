// Answers the system calls that are not on the list (system_call_filter.h) with ENOSYS, and logs
// the first of each number.
// Threads: one, which no such filter binds.
#ifndef STACKRAY_AGENT_PRIVILEGES_SYSTEM_CALL_LISTENER_H_
#define STACKRAY_AGENT_PRIVILEGES_SYSTEM_CALL_LISTENER_H_

#include <set>
#include <utility>

#include "kernel/unique_fd.h"

namespace stackray {

class SystemCallListener {
 public:
  SystemCallListener() = default;
  explicit SystemCallListener(UniqueFd fd) : fd_(std::move(fd)) {}

  int fd() const { return fd_.get(); }  // -1: there is none; poll() ignores it.
  // Answers one call. `events` as poll() gave them.
  void Answer(short events);

 private:
  UniqueFd fd_;
  std::set<int> logged_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_PRIVILEGES_SYSTEM_CALL_LISTENER_H_
