// A piece of a test that runs in a process of its own, because what it does cannot be undone.
#ifndef STACKRAY_TESTS_AGENT_PRIVILEGES_IN_CHILD_H_
#define STACKRAY_TESTS_AGENT_PRIVILEGES_IN_CHILD_H_

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace stackray {

// What became of it: "exit 3", "signal 31".
template <typename Body>
std::string InChild(Body body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return "no process";
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  return fmt::format("exit {}", WEXITSTATUS(status));
}

}  // namespace stackray

#endif  // STACKRAY_TESTS_AGENT_PRIVILEGES_IN_CHILD_H_
