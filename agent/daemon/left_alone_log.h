// Says in the log that reads of a process did not return, once for each look that sees new ones.
// Threads: one.
#ifndef STACKRAY_AGENT_DAEMON_LEFT_ALONE_LOG_H_
#define STACKRAY_AGENT_DAEMON_LEFT_ALONE_LOG_H_

#include <cstdint>

#include "kernel/foreign/left_alone.h"

namespace stackray {

class LeftAloneLog {
 public:
  void Look(const LeftAlone::Counts& counts);

 private:
  uint64_t told_hangs_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_LEFT_ALONE_LOG_H_
