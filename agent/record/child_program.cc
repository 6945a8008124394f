#include "agent/record/child_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "agent/privileges/core_dumps.h"
#include "agent/record/child_environment.h"
#include "agent/stop_signal.h"

namespace stackray {
namespace {

bool BecomeUser(const SudoUser& user) {
  return initgroups(user.name.c_str(), user.gid) == 0 && setgid(user.gid) == 0 &&
         setuid(user.uid) == 0;
}

void ResetSignals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  RestoreSignals();
}

constexpr unsigned kCloseRangeCloexec = 4;  // include/uapi/linux/close_range.h since Linux 5.11.
constexpr int kMostFds = 1 << 16;

// What root has open beside the standard streams is not the user's.
void KeepStandardStreamsAlone() {
  constexpr int kFirst = STDERR_FILENO + 1;
  if (syscall(SYS_close_range, kFirst, ~0U, kCloseRangeCloexec) == 0) return;
  const int most = static_cast<int>(std::min<long>(sysconf(_SC_OPEN_MAX), kMostFds));
  for (int fd = kFirst; fd < most; ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);
}

std::vector<char*> PointersTo(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// In the child. Never returns.
[[noreturn]] void RunChild(int go, int result, char* const* argv, char* const* environment,
                           const std::optional<SudoUser>& user) {
  char byte = 0;
  if (read(go, &byte, 1) != 1) _exit(127);  // The parent is gone or gave up.
  ResetSignals();
  RestoreCoreLimit();
  if (user) KeepStandardStreamsAlone();
  int error = 0;
  if (user && !BecomeUser(*user)) {
    error = EPERM;
  } else {
    execvpe(argv[0], argv, environment);
    error = errno;
  }
  (void)!write(result, &error, sizeof(error));
  _exit(127);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProgram>> ChildProgram::Fork(
    const std::vector<std::string>& argv, const std::optional<SudoUser>& user) {
  int go[2], result[2];
  if (pipe2(go, O_CLOEXEC) != 0 || pipe2(result, O_CLOEXEC) != 0)
    return absl::ResourceExhaustedError(fmt::format("cannot make a pipe: {}", strerror(errno)));
  std::vector<std::string> words = argv, variables;
  if (user) variables = EnvironmentFor(AccountOf(*user), environ);
  const std::vector<char*> arguments = PointersTo(words), of_user = PointersTo(variables);
  const pid_t pid = fork();
  if (pid < 0) return absl::ResourceExhaustedError(fmt::format("cannot fork: {}", strerror(errno)));
  if (pid == 0) {
    close(go[1]);
    RunChild(go[0], result[1], arguments.data(), user ? of_user.data() : environ, user);
  }
  close(go[0]);
  close(result[1]);
  return std::unique_ptr<ChildProgram>(
      new ChildProgram(pid, UniqueFd(go[1]), UniqueFd(result[0]), argv[0]));
}

ChildProgram::~ChildProgram() {
  if (!go_.valid() || exit_code_) return;
  go_.reset();  // It reads end of file and leaves.
  waitpid(pid_, nullptr, 0);
}

absl::Status ChildProgram::Release() {
  const char byte = 1;
  if (write(go_.get(), &byte, 1) != 1) return absl::InternalError("cannot start the command");
  go_.reset();
  int error = 0;
  ssize_t n;
  do {
    n = read(result_.get(), &error, sizeof(error));
  } while (n < 0 && errno == EINTR);
  if (n != sizeof(error)) return absl::OkStatus();
  waitpid(pid_, nullptr, 0);
  exit_code_ = error == ENOENT ? 127 : 126;
  if (error == ENOENT)
    return absl::NotFoundError(
        access(name_.c_str(), F_OK) == 0
            ? fmt::format("{}: the interpreter that its first line names is not there", name_)
            : fmt::format("{}: command not found", name_));
  return absl::PermissionDeniedError(fmt::format("{}: {}", name_, strerror(error)));
}

std::optional<int> ChildProgram::Poll() {
  int status = 0;
  if (!exit_code_ && waitpid(pid_, &status, WNOHANG) == pid_)
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return exit_code_;
}

}  // namespace stackray
