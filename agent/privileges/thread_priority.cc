#include "agent/privileges/thread_priority.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "agent/privileges/sandbox.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

bool SharesBySession() {
  const UniqueFd fd(open("/proc/sys/kernel/sched_autogroup_enabled", O_RDONLY | O_CLOEXEC));
  char digit = '0';
  return fd.valid() && read(fd.get(), &digit, 1) == 1 && digit != '0';
}

}  // namespace

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

SessionPriority PreferThisSession() {
  if (!SharesBySession()) return SessionPriority::kByThread;
  if (getsid(0) != getpid()) return SessionPriority::kShared;
  const UniqueFd fd(open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC));
  const std::string nice = std::to_string(kPreferredNice);
  const bool written = fd.valid() && write(fd.get(), nice.data(), nice.size()) > 0;
  return written ? SessionPriority::kPreferred : SessionPriority::kRefused;
}

}  // namespace stackray
