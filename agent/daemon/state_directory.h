// STATE_DIR/agent: what the running agent itself keeps there. Its lock, so that one state directory
// has one agent; its control socket; its heartbeat.
#ifndef STACKRAY_AGENT_DAEMON_STATE_DIRECTORY_H_
#define STACKRAY_AGENT_DAEMON_STATE_DIRECTORY_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "agent/daemon/heartbeat.h"
#include "agent/history/history_directory.h"

namespace stackray {

inline constexpr char kAgentFolder[] = "agent";

// Threads: one.
class StateDirectory {
 public:
  // Errors: FailedPrecondition: another agent uses it, and which one. Any other: it cannot be made
  // or written; the agent works without it.
  static absl::StatusOr<std::unique_ptr<StateDirectory>> Open(const std::string& state_dir);

  int fd() const { return folder_.directory.get(); }
  // What the agent before has left.
  const std::optional<Heartbeat>& last_heartbeat() const { return last_; }
  // False: it could not be written (disk full), which does no harm but to the next start's message.
  bool Write(const Heartbeat& heartbeat);

 private:
  explicit StateDirectory(HistoryDirectory folder);

  const HistoryDirectory folder_;
  UniqueFd file_;
  std::optional<Heartbeat> last_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_STATE_DIRECTORY_H_
