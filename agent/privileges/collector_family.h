// A process's descendants, counted and killed: what a collector has started.
// Threads: one.
#ifndef STACKRAY_AGENT_PRIVILEGES_COLLECTOR_FAMILY_H_
#define STACKRAY_AGENT_PRIVILEGES_COLLECTOR_FAMILY_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace stackray {

class CollectorFamily {
 public:
  // Of the calling process, which becomes the parent of orphans among them. `target`: orphans in
  // its PID namespace have its first process as their parent.
  explicit CollectorFamily(uint32_t target);

  uint64_t ResidentBytes() const;
  // Kills until nobody is left, or for a second.
  void KillAll() const;

 private:
  struct Process {
    pid_t pid = 0, parent = 0;
    uint64_t resident_pages = 0, start_ticks = 0;
  };
  std::vector<Process> Members() const;
  bool IsOrphan(const Process& process) const;

  pid_t own_ = 0;
  uint64_t began_ticks_ = 0;
  std::string cgroups_;           // Our own.
  std::string target_namespace_;  // Empty: orphans come to us.
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_PRIVILEGES_COLLECTOR_FAMILY_H_
