#include "agent/daemon/state_keeper.h"

#include <fmt/format.h>

#include <utility>

#include "agent/daemon/agent_requests.h"
#include "agent/daemon/page_token.h"
#include "agent/log.h"
#include "agent/privileges/thread_priority.h"

namespace stackray {

absl::StatusOr<std::unique_ptr<StateKeeper>> StateKeeper::Start(const std::string& state_dir,
                                                                const SnapshotBoard& board,
                                                                Mailbox& mailbox) {
  std::unique_ptr<StateKeeper> keeper(new StateKeeper(state_dir));
  absl::StatusOr<std::unique_ptr<StateDirectory>> directory = StateDirectory::Open(state_dir);
  if (absl::IsFailedPrecondition(directory.status())) return directory.status();
  if (!directory.ok()) {
    LogWarning(fmt::format("no control socket and no heartbeat: {}",
                           std::string(directory.status().message())));
    keeper->page_token_ = MakePageToken();
    return keeper;
  }
  keeper->directory_ = *std::move(directory);
  keeper->ReadLastHeartbeat();
  keeper->page_token_ = PageTokenIn(keeper->directory_->fd());
  absl::StatusOr<std::unique_ptr<ControlServer>> socket = ControlServer::Start(
      keeper->directory_->fd(),
      [&](ControlRequest request, const ControlServer::Reply& reply) {
        HandleRequest(std::move(request), reply, board, mailbox);
      },
      [] { PreferThisThread(); });
  if (socket.ok()) {
    keeper->socket_ = *std::move(socket);
  } else {
    LogWarning(fmt::format("nobody can ask this agent (agent --status): {}",
                           std::string(socket.status().message())));
  }
  return keeper;
}

void StateKeeper::ReadLastHeartbeat() {
  const std::optional<Heartbeat>& last = directory_->last_heartbeat();
  if (!last) return;
  unclean_stop_ = FindUncleanStop(*last, HeartbeatNow());
  if (unclean_stop_) LogWarning(DescribeUncleanStop(*last, *unclean_stop_));
}

void StateKeeper::Beat(uint64_t samples_in_memory) {
  Heartbeat heartbeat = HeartbeatNow();
  heartbeat.samples_in_memory = samples_in_memory;
  Write(heartbeat);
}

void StateKeeper::End() {
  Heartbeat heartbeat = HeartbeatNow();
  heartbeat.running = false;
  Write(heartbeat);
}

void StateKeeper::Write(const Heartbeat& heartbeat) {
  if (directory_ != nullptr && !directory_->Write(heartbeat))
    LogWarning("the heartbeat cannot be written; after an unclean stop the gap will not be known");
}

}  // namespace stackray
