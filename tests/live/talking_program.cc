#include "tests/live/talking_program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace stackray::test {

TalkingProgram::TalkingProgram(const std::vector<std::string>& argv) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) return;
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  to_.reset(in[1]);
  from_.reset(out[0]);
  fcntl(from_.get(), F_SETFL, O_NONBLOCK);
  if (pid_ < 0) pid_ = 0;
}

TalkingProgram::~TalkingProgram() {
  if (pid_ == 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void TalkingProgram::Say(const std::string& line) {
  (void)!write(to_.get(), (line + "\n").data(), line.size() + 1);
}

const std::string& TalkingProgram::Heard() {
  char bytes[4096];
  for (ssize_t n = 0; (n = read(from_.get(), bytes, sizeof(bytes))) > 0;)
    heard_.append(bytes, static_cast<size_t>(n));
  return heard_;
}

}  // namespace stackray::test
