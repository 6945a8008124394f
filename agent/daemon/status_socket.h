// A Unix socket that answers every connection with one text and closes it: how `stackray agent --status` asks
// a running agent. Only its owner can reach it: the directory is his alone (0700).
//
// Threads: one of its own. A client that does not read holds it up for a second at most.
#ifndef STACKRAY_AGENT_DAEMON_STATUS_SOCKET_H_
#define STACKRAY_AGENT_DAEMON_STATUS_SOCKET_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "kernel/unique_fd.h"

namespace stackray {

class StatusSocket {
 public:
  // Makes DIRECTORY/status.sock, in the place of an older one: whoever calls this holds the directory's lock.
  // `directory` is used during the call only; `text` is called on the socket's thread.
  // Errors: Unavailable.
  static absl::StatusOr<std::unique_ptr<StatusSocket>> Start(int directory,
                                                             std::function<std::string()> text);
  ~StatusSocket();  // The file stays; nobody answers there.

 private:
  StatusSocket(UniqueFd listening, UniqueFd stop, std::function<std::string()> text);
  void Run();

  const UniqueFd listening_, stop_;
  const std::function<std::string()> text_;
  std::thread thread_;
};

// The other side: the text of the agent whose state directory this is. Errors: NotFound (no agent
// runs there), PermissionDenied, Unavailable (it does not answer); each with what to do.
absl::StatusOr<std::string> AskStatus(const std::string& state_dir);

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_STATUS_SOCKET_H_
