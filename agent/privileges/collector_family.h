// A process's descendants, counted and killed: what a collector has started.
// Threads: one.
#ifndef STACKRAY_AGENT_PRIVILEGES_COLLECTOR_FAMILY_H_
#define STACKRAY_AGENT_PRIVILEGES_COLLECTOR_FAMILY_H_

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace stackray {

class CollectorFamily {
 public:
  // Of the calling process, which becomes the parent of orphans among them. In another PID
  // namespace it cannot be; there the watcher of target_entry.c is.
  CollectorFamily();

  uint64_t ResidentBytes() const;
  // Kills until nobody is left, or for a second.
  void KillAll() const;

 private:
  struct Process {
    pid_t pid = 0, parent = 0;
    uint64_t resident_pages = 0;
  };
  std::vector<Process> Members() const;

  const pid_t own_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_PRIVILEGES_COLLECTOR_FAMILY_H_
