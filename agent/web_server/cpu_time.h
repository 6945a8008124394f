// What work costs, whatever else the host does.
#ifndef STACKRAY_AGENT_WEB_SERVER_CPU_TIME_H_
#define STACKRAY_AGENT_WEB_SERVER_CPU_TIME_H_

#include <time.h>

namespace stackray {

// CPU time of the calling thread.
inline double ThreadCpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

}  // namespace stackray

#endif  // STACKRAY_AGENT_WEB_SERVER_CPU_TIME_H_
