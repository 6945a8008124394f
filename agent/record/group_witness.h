// Tells a signal that came to this process alone from one for its whole process group.
//
// A Ctrl-C of the terminal reaches every process of the group, and so does kill(-PGID). The kernel
// does not say of the latter whether others got it. So a child that blocks all signals and never
// takes one stands in the group: what is pending there went to the group.
//
// Memory:  one process, a copy of this one that never runs.
// Threads: made before there is any.
#ifndef STACKRAY_AGENT_RECORD_GROUP_WITNESS_H_
#define STACKRAY_AGENT_RECORD_GROUP_WITNESS_H_

#include <sys/types.h>

#include <memory>
#include <string_view>

namespace stackray {

class GroupWitness {
 public:
  // nullptr: no process can be made.
  static std::unique_ptr<GroupWitness> Fork();
  ~GroupWitness();
  GroupWitness(const GroupWitness&) = delete;
  GroupWitness& operator=(const GroupWitness&) = delete;

  // The group has got this signal since Fork().
  bool Got(int signal) const;

 private:
  explicit GroupWitness(pid_t pid) : pid_(pid) {}
  const pid_t pid_;
};

// In the text of /proc/PID/status, among the signals pending for the process.
bool IsPending(std::string_view status, int signal);

}  // namespace stackray

#endif  // STACKRAY_AGENT_RECORD_GROUP_WITNESS_H_
