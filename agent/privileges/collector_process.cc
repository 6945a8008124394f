#include "agent/privileges/collector_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "agent/privileges/capability_drop.h"
#include "agent/privileges/collector_protocol.h"
#include "agent/privileges/collector_run.h"
#include "agent/privileges/forked_process.h"
#include "kernel/fd_message.h"

namespace stackray {
namespace {

// SYS_ADMIN and SYS_CHROOT: namespaces. SYS_PTRACE: those of other users' processes. KILL: what it
// has started as another user.
constexpr CapabilitySet kKept{Capability::kSysAdmin, Capability::kSysChroot, Capability::kSysPtrace,
                              Capability::kSetuid,   Capability::kSetgid,    Capability::kKill};

void RunOne(const std::vector<CollectorEntry>& collectors, const CollectorRequest& request,
            const UniqueFd& reply_to) {
  if (request.collector >= collectors.size()) return;
  const CollectorEntry& collector = collectors[request.collector];
  const pid_t child = fork();
  if (child == 0) {
    CollectorReply reply;
    const UniqueFd output = RunCollector(collector, request.pid, reply);
    if (output.valid()) {
      SendMessage(reply_to.get(), reply, {output.get()});
    } else {
      SendMessage(reply_to.get(), reply, {});
    }
    _exit(0);
  }
  if (child > 0)
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
}

[[noreturn]] void RunCollectors(UniqueFd socket, pid_t agent,
                                const std::vector<CollectorEntry>& collectors) {
  BecomeForked(agent, socket.get(), "stackray-collec");
  if (!KeepOnly(kKept).ok()) _exit(1);
  for (;;) {
    CollectorRequest request;
    const std::optional<std::vector<UniqueFd>> fds = ReceiveMessage(socket.get(), &request);
    if (!fds) _exit(0);
    if (fds->size() == 1) RunOne(collectors, request, fds->front());
  }
}

}  // namespace

absl::StatusOr<HelperProcess> ForkCollectors(const std::vector<CollectorEntry>& collectors) {
  std::optional<SocketPair> sockets = MakeSocketPair();
  if (!sockets) return absl::ResourceExhaustedError(fmt::format("socket: {}", strerror(errno)));
  const pid_t agent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return absl::ResourceExhaustedError(fmt::format("fork: {}", strerror(errno)));
  if (pid == 0) RunCollectors(std::move(sockets->theirs), agent, collectors);
  return HelperProcess{.pid = pid, .socket = std::move(sockets->ours)};
}

}  // namespace stackray
