#include "agent/sampling/thread_priority.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include "agent/privileges/sandbox.h"

namespace stackray {

bool PreferThisThread() {
  const pid_t thread = gettid();
  errno = 0;
  const int now = getpriority(PRIO_PROCESS, static_cast<id_t>(thread));
  if (errno == 0 && now <= kPreferredNice) return true;
  return SetThreadNice(thread, kPreferredNice).ok();
}

bool PreferThisThreadAlone() {
  const sched_param none = {};
  if (sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none) != 0) return false;
  return PreferThisThread();
}

}  // namespace stackray
