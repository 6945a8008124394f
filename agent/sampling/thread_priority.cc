#include "agent/sampling/thread_priority.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

namespace stackray {

bool PreferThisThread() {
  const auto thread = static_cast<id_t>(gettid());
  errno = 0;
  const int now = getpriority(PRIO_PROCESS, thread);
  if (errno == 0 && now <= kPreferredNice) return true;
  return setpriority(PRIO_PROCESS, thread, kPreferredNice) == 0;
}

}  // namespace stackray
