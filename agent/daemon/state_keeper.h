// The running agent's mark on its host: the state directory's lock, the heartbeat in it, and the
// socket that answers requests. Where the directory cannot be used the agent works without these.
// Threads: one; the socket has one of its own.
#ifndef STACKRAY_AGENT_DAEMON_STATE_KEEPER_H_
#define STACKRAY_AGENT_DAEMON_STATE_KEEPER_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "agent/control/control_server.h"
#include "agent/control/mailbox.h"
#include "agent/daemon/agent_snapshot.h"
#include "agent/daemon/state_directory.h"

namespace stackray {

class StateKeeper {
 public:
  // Says in the log what does not work, and that the agent before did not stop in order. `board`
  // and `mailbox` outlive this. Errors: FailedPrecondition: another agent uses this directory.
  static absl::StatusOr<std::unique_ptr<StateKeeper>> Start(const std::string& state_dir,
                                                            const SnapshotBoard& board,
                                                            Mailbox& mailbox);

  const std::string& state_dir() const { return state_dir_; }
  const std::optional<UncleanStop>& unclean_stop() const { return unclean_stop_; }
  // Of this directory; where it cannot be used, of this object.
  const std::string& page_token() const { return page_token_; }
  // Not before sampling has begun: a start that fails hides nothing from the next one.
  void Beat(uint64_t samples_in_memory);
  // The last beat of an agent that ends in order.
  void End();

 private:
  explicit StateKeeper(std::string state_dir) : state_dir_(std::move(state_dir)) {}
  void ReadLastHeartbeat();
  void Write(const Heartbeat& heartbeat);

  const std::string state_dir_;
  std::unique_ptr<StateDirectory> directory_;  // nullptr: cannot be used.
  std::unique_ptr<ControlServer> socket_;
  std::optional<UncleanStop> unclean_stop_;
  std::string page_token_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_STATE_KEEPER_H_
