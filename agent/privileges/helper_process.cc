#include "agent/privileges/helper_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "agent/privileges/capability_drop.h"
#include "agent/privileges/file_copy.h"
#include "agent/privileges/forked_process.h"
#include "agent/privileges/helper_protocol.h"
#include "agent/privileges/system_call_listener.h"
#include "kernel/fd_message.h"

namespace stackray {
namespace {

constexpr size_t kMostCopies = 16;
constexpr int kMostCopiesOfUser = 4;  // One that has answered may not be gone yet.
constexpr int kReapMs = 1000;
constexpr time_t kLongestCopySeconds = 10;
constexpr int kLowestNice = -10;
constexpr CapabilitySet kKept{Capability::kSetuid, Capability::kSetgid, Capability::kSysNice};

// The kernel kills the calling process when its time is over. The user whom it has become may stop
// it, and a stopped process wakes for this signal alone; without CAP_KILL the helper could not send
// it.
bool EndInTime() {
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGKILL;
  const itimerspec end = {.it_interval = {}, .it_value = {.tv_sec = kLongestCopySeconds}};
  timer_t timer;
  return timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 &&
         timer_settime(timer, 0, &end, nullptr) == 0;
}

class Helper {
 public:
  Helper(UniqueFd socket, pid_t agent, std::string copy_directory)
      : socket_(std::move(socket)), agent_(agent), copy_directory_(std::move(copy_directory)) {}

  // Until the agent is gone.
  void Run() {
    for (;;) {
      pollfd waits[2] = {{socket_.get(), POLLIN, 0}, {listener_.fd(), POLLIN, 0}};
      if (poll(waits, 2, copies_.empty() ? -1 : kReapMs) < 0 && errno != EINTR) return;
      Reap();
      if (waits[1].revents != 0) listener_.Answer(waits[1].revents);
      if (waits[0].revents != 0 && !TakeRequest()) return;
    }
  }

 private:
  bool TakeRequest() {
    HelperRequest request;
    std::optional<std::vector<UniqueFd>> fds = ReceiveMessage(socket_.get(), &request);
    if (!fds || request.protocol != kHelperProtocol) return false;
    switch (request.task) {
      case HelperTask::kCopyFile:
        if (fds->size() == 2) StartCopy(request, (*fds)[0].get(), (*fds)[1].get());
        return true;
      case HelperTask::kAnswerSystemCalls:
        if (fds->size() == 1) listener_ = SystemCallListener(std::move((*fds)[0]));
        return true;
      case HelperTask::kSetNice:
        if (fds->size() == 1) SetNice(request, (*fds)[0].get());
        return true;
    }
    return false;
  }

  // Closing the reply's socket is an answer too: refused.
  void StartCopy(const HelperRequest& request, int path_fd, int reply_to) {
    const auto own = std::ranges::count_if(
        copies_, [&](const auto& copy) { return copy.second == request.uid; });
    if (own >= kMostCopiesOfUser || copies_.size() >= kMostCopies) return;
    const pid_t pid = fork();
    if (pid < 0) return;
    if (pid > 0) {
      copies_.emplace(pid, request.uid);
      return;
    }
    socket_.reset();  // Whoever hangs here must not look like the helper.
    listener_ = SystemCallListener();
    if (!EndInTime()) _exit(1);
    const FileCopy copy = CopyFileAsUser(request, path_fd, copy_directory_);
    if (copy.fd.valid()) {
      SendMessage(reply_to, copy.reply, {copy.fd.get()});
    } else {
      SendMessage(reply_to, copy.reply, {});
    }
    _exit(0);
  }

  void SetNice(const HelperRequest& request, int reply_to) {
    HelperReply reply;
    const std::string thread = fmt::format("/proc/{}/task/{}", agent_, request.tid);
    if (request.tid <= 0 || request.nice < kLowestNice || access(thread.c_str(), F_OK) != 0) {
      reply.error = EINVAL;
    } else if (setpriority(PRIO_PROCESS, static_cast<id_t>(request.tid), request.nice) != 0) {
      reply.error = errno;
    }
    SendMessage(reply_to, reply, {});
  }

  void Reap() {
    for (pid_t pid; (pid = waitpid(-1, nullptr, WNOHANG)) > 0;) copies_.erase(pid);
  }

  UniqueFd socket_;
  const pid_t agent_;
  const std::string copy_directory_;
  SystemCallListener listener_;
  std::map<pid_t, uint32_t> copies_;  // Children that read as these users.
};

[[noreturn]] void RunHelper(UniqueFd socket, pid_t agent, const std::string& copy_directory) {
  BecomeForked(agent, socket.get(), "stackray-helper");
  KeepOnly(kKept).IgnoreError();  // It has what it had then, and does no more for that.
  Helper(std::move(socket), agent, copy_directory).Run();
  _exit(0);
}

}  // namespace

absl::StatusOr<HelperProcess> ForkHelper(const std::string& copy_directory) {
  std::optional<SocketPair> sockets = MakeSocketPair();
  if (!sockets) return absl::ResourceExhaustedError(fmt::format("socket: {}", strerror(errno)));
  const pid_t agent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return absl::ResourceExhaustedError(fmt::format("fork: {}", strerror(errno)));
  if (pid == 0) RunHelper(std::move(sockets->theirs), agent, copy_directory);
  return HelperProcess{.pid = pid, .socket = std::move(sockets->ours)};
}

}  // namespace stackray
