#include "agent/record/group_witness.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

namespace stackray {
namespace {

// Returns never; the end of the parent ends it.
[[noreturn]] void Stand(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, "stackray-group");
  if (getppid() != parent) _exit(0);
  for (int fd = 0; fd < 64; ++fd)
    close(fd);  // A reader of our output must not wait for this process.
  for (;;) pause();
}

}  // namespace

// Signals are blocked before the fork, so that none is taken by the child.
std::unique_ptr<GroupWitness> GroupWitness::Fork() {
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) Stand(parent);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return nullptr;
  return std::unique_ptr<GroupWitness>(new GroupWitness(pid));
}

GroupWitness::~GroupWitness() {
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

bool GroupWitness::Got(int signal) const {
  std::ifstream file(fmt::format("/proc/{}/status", pid_));
  const std::string status{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return IsPending(status, signal);
}

bool IsPending(std::string_view status, int signal) {
  constexpr std::string_view kLine = "\nShdPnd:\t";
  const size_t at = status.find(kLine);
  if (at == std::string_view::npos || signal < 1 || signal > 64) return false;
  uint64_t pending = 0;
  const char* const end = status.data() + status.size();
  const auto read = std::from_chars(status.data() + at + kLine.size(), end, pending, 16);
  return read.ec == std::errc() && (pending >> (signal - 1) & 1) != 0;
}

}  // namespace stackray
