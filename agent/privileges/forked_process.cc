#include "agent/privileges/forked_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>

#include "agent/privileges/core_dumps.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

// What the agent has open is nothing to hold on to: pipes, the terminal's end of a file's output.
void CloseOthers(int keep) {
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO})
    if (null.valid()) (void)dup2(null.get(), fd);
  const int most = static_cast<int>(std::min<long>(sysconf(_SC_OPEN_MAX), 1 << 16));
  for (int fd = STDERR_FILENO + 1; fd < most; ++fd)
    if (fd != keep && fd != null.get()) close(fd);
}

}  // namespace

void BecomeForked(pid_t agent, int socket, const char* name) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != agent) _exit(0);
  // The agent decides when it ends: Ctrl-C and a service's stop reach every process of the group.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(number, SIG_IGN);
  signal(SIGCHLD, SIG_DFL);
  CloseOthers(socket);
  ForbidCoreDumps();
  prctl(PR_SET_NAME, name);
}

}  // namespace stackray
