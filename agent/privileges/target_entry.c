/* The program that takes a collector's command into its target's world: namespaces, root directory,
 * user. It is linked statically and runs from a sealed file in memory (sealed_program.h), so
 * /proc/PID/exe, /proc/PID/map_files and the interpreter `#!/proc/self/exe` lead to that file and
 * never to a file of the host.
 *
 *   entering process   in the host's PID namespace: enters the namespaces, changes its root, then
 *                      holds no rights and waits
 *     watcher          the first process that the target's world sees: becomes the target's user
 *                      without capabilities, bound by target_entry_filter.h; parent of what the
 *                      command leaves behind
 *       command        is executed
 *
 * No process of these may be traced or dumped, and each dies with its parent.
 * Input: whoever starts this program (`#!/proc/self/exe` does, within the target) gives the order
 *        and the arguments. What it does needs the rights of its caller, so nobody gains any.
 */
#define _GNU_SOURCE
#include "agent/privileges/target_entry.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/privileges/target_entry_filter.h"

enum { EXIT_NOTHING_DONE = 127, MOST_FDS = 1024 };

static void Report(uint32_t event, int32_t value) {
  const struct TargetEntryReport report = {event, value};
  ssize_t written;
  do {
    written = write(ENTRY_FD_REPORT, &report, sizeof(report));
  } while (written < 0 && errno == EINTR);
}

static void Fail(void) {
  Report(ENTRY_NOT_STARTED, errno);
  _exit(EXIT_NOTHING_DONE);
}

static void CloseFrom(unsigned first) {
  if (syscall(SYS_close_range, first, ~0u, 0) == 0) return;
  for (int fd = (int)first; fd < MOST_FDS; ++fd) close(fd);
}

static int KeepCapabilities(uint64_t keep) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};
  for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; ++i)
    sets[i].effective = sets[i].permitted = (uint32_t)(keep >> (32 * i));
  return (int)syscall(SYS_capset, &header, sets);
}

/* A change of the user or of capabilities takes both back. The report's reader is the last
 * ancestor; where it is gone, the parent may have died before the signal was asked for.
 */
static void BindToParent(void) {
  struct pollfd reader = {ENTRY_FD_REPORT, 0, 0};
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) Fail();
  if (poll(&reader, 1, 0) > 0 && (reader.revents & POLLERR) != 0) _exit(EXIT_NOTHING_DONE);
}

/* Before anybody in the target's PID namespace can see this process. */
static void EnterWorld(const struct TargetEntryOrder* order) {
  for (uint32_t i = 0; i < order->namespace_count; ++i) {
    const int fd = ENTRY_FD_FIRST_NAMESPACE + (int)i;
    if (setns(fd, 0) != 0) Fail();
    close(fd);
  }
  if (fchdir(ENTRY_FD_ROOT) != 0 || chroot(".") != 0 || chdir("/") != 0) Fail();
  close(ENTRY_FD_ROOT);
  if (KeepCapabilities(1u << CAP_SETUID | 1u << CAP_SETGID) != 0) Fail();
  BindToParent();
}

/* The agent's session keyring may hold keys that root's processes share. Without keyrings, or where
 * a filter keeps them from everybody here, there is nothing to leave behind.
 */
static void LeaveKeyring(void) {
  if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0) return;
  if (errno != ENOSYS && errno != EPERM) Fail();
}

static void BecomeUser(const struct TargetEntryOrder* order) {
  if (syscall(SYS_setgroups, (size_t)order->group_count, order->groups) != 0 ||
      syscall(SYS_setresgid, order->gid, order->gid, order->gid) != 0 ||
      syscall(SYS_setresuid, order->uid, order->uid, order->uid) != 0 || KeepCapabilities(0) != 0 ||
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || FilterSystemCalls() != 0)
    Fail();
  BindToParent();
}

static void Execute(char** arguments, int problem) {
  setsid();
  BindToParent();
  close(ENTRY_FD_REPORT);
  execvpe(arguments[0], arguments, environ);
  const int error = errno;
  (void)!write(problem, &error, sizeof(error));
  _exit(EXIT_NOTHING_DONE);
}

/* Orphans of the command come to this process. It stays until collector_run.cc kills it, so that
 * none of them finds another parent before all are killed.
 */
static void WatchCommand(pid_t command, int problem) {
  int error = 0, status = 0;
  ssize_t got;
  do {
    got = read(problem, &error, sizeof(error));
  } while (got < 0 && errno == EINTR);
  close(problem);
  if (got == sizeof(error)) {
    errno = error;
    Fail();
  }
  Report(ENTRY_STARTED, 0);
  for (;;) {
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended == command) Report(ENTRY_ENDED, status);
    if (ended < 0 && errno != EINTR) pause();
  }
}

static void RunCommand(const struct TargetEntryOrder* order, char** arguments) {
  int problem[2];
  BindToParent();
  setsid();
  LeaveKeyring();
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || pipe2(problem, O_CLOEXEC) != 0) Fail();
  BecomeUser(order);
  const pid_t command = fork();
  if (command < 0) Fail();
  if (command == 0) Execute(arguments, problem[1]);
  close(problem[1]);
  close(ENTRY_FD_ORDER);
  close(ENTRY_FD_OUTPUT);
  close(ENTRY_FD_ERRORS);
  WatchCommand(command, problem[0]);
}

int main(int argc, char** argv) {
  struct TargetEntryOrder order;
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || argc < 2 ||
      read(ENTRY_FD_ORDER, &order, sizeof(order)) != sizeof(order) ||
      order.group_count > ENTRY_MOST_GROUPS || order.namespace_count > ENTRY_MOST_NAMESPACES ||
      fcntl(ENTRY_FD_REPORT, F_SETFD, FD_CLOEXEC) != 0)
    return EXIT_NOTHING_DONE;
  prctl(PR_SET_NAME, "stackray-enter");
  CloseFrom(ENTRY_FD_FIRST_NAMESPACE + order.namespace_count);
  EnterWorld(&order);
  const pid_t watcher = fork();
  if (watcher < 0) Fail();
  if (watcher == 0) RunCommand(&order, argv + 1);
  if (KeepCapabilities(0) != 0) Fail();
  BindToParent();
  CloseFrom(ENTRY_FD_REPORT + 1);
  close(ENTRY_FD_ORDER);
  close(ENTRY_FD_OUTPUT);
  close(ENTRY_FD_ERRORS);
  close(ENTRY_FD_REPORT);
  while (waitpid(watcher, NULL, 0) < 0 && errno == EINTR) continue;
  return 0;
}
