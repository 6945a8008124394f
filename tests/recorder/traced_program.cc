#include "tests/recorder/traced_program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

namespace stackray {

pid_t StartTraced(char** command, const std::filesystem::path& source, bool wants_dash) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  dup2(open(source.c_str(), O_RDONLY), STDIN_FILENO);
  ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  std::vector<char*> words;
  for (; *command != nullptr; ++command) words.push_back(*command);
  char standard_input[] = "-";
  if (wants_dash) words.push_back(standard_input);
  words.push_back(nullptr);
  execvp(words[0], words.data());
  _exit(127);
}

bool RunToStop(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
    const int signal = WSTOPSIG(status);
    if (signal == SIGSTOP) return true;
    ptrace(PTRACE_CONT, pid, nullptr, signal == SIGTRAP ? 0 : signal);
  }
  return false;
}

}  // namespace stackray
