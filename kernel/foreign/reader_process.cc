#include "kernel/foreign/reader_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "kernel/fd_message.h"
#include "kernel/foreign/shared_futex.h"

namespace stackray {
namespace {

constexpr int kReapMs = 200;  // While an abandoned reader is there.

// What the agent has open is nothing to hold on to. Standard error neither: whoever reads the other
// end of a pipe would wait for a reader that hangs.
void KeepOnlyDescriptors(std::vector<int> keep) {
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (null.valid()) (void)dup2(null.get(), fd);
  std::ranges::sort(keep);
  unsigned first = STDERR_FILENO + 1;
  for (const int fd : keep) {
    const auto kept = static_cast<unsigned>(fd);
    if (kept > first) close_range(first, kept - 1, 0);
    first = std::max(first, kept + 1);
  }
  close_range(first, UINT_MAX, 0);
}

void Answer(ReaderSlot& slot, int socket, const ReaderShared& shared) {
  const uint32_t number = slot.asked.load(std::memory_order_acquire);
  slot.device.store(0, std::memory_order_relaxed);
  ForeignJob job(slot.process, {slot.input, std::min<size_t>(slot.input_bytes, kInputBytes)},
                 slot.room, &shared, {.device = &slot.device, .progress = &slot.progress});
  slot.work(job);
  slot.error = job.error();
  slot.room_bytes = static_cast<uint32_t>(job.room_used());
  slot.has_spilled = job.spilled().valid() ? 1 : 0;
  slot.has_file = job.file().valid() ? 1 : 0;
  for (const int fd : {job.spilled().get(), job.file().get()})
    if (fd >= 0 && !SendMessage(socket, number, {fd})) slot.error = EMFILE;
  job.file().reset();  // It may be the last one, and closing it may wait: not after the answer.
  slot.answered.store(number, std::memory_order_release);
  Wake(slot.answered);
}

[[noreturn]] void RunReader(ReaderShared* shared, size_t index, int socket, pid_t parent,
                            const ReaderLimits& limits) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  prctl(PR_SET_NAME, "stackray-reader");
  KeepOnlyDescriptors({socket});
  limits.reader();
  ReaderSlot& slot = shared->slots[index];
  for (;;) {
    const uint32_t done = slot.answered.load(std::memory_order_relaxed);
    while (slot.asked.load(std::memory_order_acquire) == done) WaitWhile(slot.asked, done, 0);
    Answer(slot, socket, *shared);
  }
}

class Parent {
 public:
  Parent(ReaderShared* shared, UniqueFd orders, std::array<UniqueFd, kMostReaders> sockets,
         const ReaderLimits& limits)
      : shared_(shared),
        orders_(std::move(orders)),
        sockets_(std::move(sockets)),
        limits_(limits) {}

  void Run() {
    for (;;) {
      pollfd wait = {orders_.get(), POLLIN, 0};
      const int ready = poll(&wait, 1, kReapMs);
      if (ready < 0 && errno != EINTR) return;
      Reap();
      if (ready > 0 && !Obey()) return;
    }
  }

 private:
  bool Obey() {
    ReaderOrder order;
    if (!ReceiveMessage(orders_.get(), &order) || order.slot >= kMostReaders) return false;
    ReaderSlot& slot = shared_->slots[order.slot];
    if (order.kind == ReaderOrder::kEnd) {
      if (const pid_t pid = slot.reader_pid; pid > 0) kill(pid, SIGKILL);
      return true;
    }
    const pid_t own = getpid();
    const pid_t pid = fork();
    if (pid == 0) RunReader(shared_, order.slot, sockets_[order.slot].get(), own, limits_);
    slot.reader_pid = pid;
    if (pid < 0) SetNone(slot);
    return true;
  }

  void SetNone(ReaderSlot& slot) {
    slot.reader_pid = 0;
    slot.state.store(ReaderState::kNone, std::memory_order_release);
    Wake(slot.answered);
  }

  void Reap() {
    for (pid_t pid; (pid = waitpid(-1, nullptr, WNOHANG)) > 0;)
      for (ReaderSlot& slot : shared_->slots)
        if (slot.reader_pid == pid) SetNone(slot);
  }

  ReaderShared* const shared_;
  const UniqueFd orders_;
  const std::array<UniqueFd, kMostReaders> sockets_;
  const ReaderLimits& limits_;
};

[[noreturn]] void RunParent(ReaderShared* shared, UniqueFd orders,
                            std::array<UniqueFd, kMostReaders> sockets, pid_t agent,
                            const ReaderLimits& limits) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != agent) _exit(0);
  // The agent decides when they end: Ctrl-C and a service's stop reach every process of the group.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(number, SIG_IGN);
  signal(SIGCHLD, SIG_DFL);
  prctl(PR_SET_NAME, "stackray-files");
  std::vector<int> keep = {orders.get()};
  for (const UniqueFd& socket : sockets) keep.push_back(socket.get());
  KeepOnlyDescriptors(std::move(keep));
  limits.parent();
  Parent(shared, std::move(orders), std::move(sockets), limits).Run();
  _exit(0);
}

}  // namespace

absl::StatusOr<ReaderParent> ForkReaderParent(ReaderShared* shared, const ReaderLimits& limits) {
  ReaderParent parent;
  std::array<UniqueFd, kMostReaders> theirs;
  std::optional<SocketPair> orders = MakeSocketPair();
  bool is_complete = orders.has_value();
  for (size_t i = 0; is_complete && i < kMostReaders; ++i) {
    std::optional<SocketPair> pair = MakeSocketPair();
    is_complete = pair.has_value();
    if (!is_complete) break;
    parent.sockets[i] = std::move(pair->ours);
    theirs[i] = std::move(pair->theirs);
  }
  if (!is_complete) return absl::ResourceExhaustedError(fmt::format("socket: {}", strerror(errno)));
  const pid_t agent = getpid();
  parent.pid = fork();
  if (parent.pid < 0) return absl::ResourceExhaustedError(fmt::format("fork: {}", strerror(errno)));
  if (parent.pid == 0) {
    UniqueFd own = std::move(orders->theirs);
    RunParent(shared, std::move(own), std::move(theirs), agent, limits);
  }
  parent.orders = std::move(orders->ours);
  return parent;
}

}  // namespace stackray
