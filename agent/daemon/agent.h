// Everything that one set of settings starts: sampling, the receiver's queue, the local history and
// its page.
//
//   Agent agent(settings);
//   if (absl::Status status = agent.Start(); !status.ok()) …
//   agent.Run();     // Until a signal asks for something.
//   agent.Finish();  // Delivers what it can.
//
// Threads: all functions from the one thread that is the agent's loop.
#ifndef STACKRAY_AGENT_DAEMON_AGENT_H_
#define STACKRAY_AGENT_DAEMON_AGENT_H_

#include <memory>

#include "absl/status/status.h"
#include "agent/daemon/page_source.h"
#include "agent/daemon/receiver.h"
#include "agent/history/history.h"
#include "agent/host_facts.h"
#include "agent/sampling/sampling_session.h"
#include "agent/settings/settings.h"
#include "agent/web_server/web_server.h"

namespace stackray {

class Agent {
 public:
  explicit Agent(AgentSettings settings);
  ~Agent();

  // Never waits for the receiver. Errors: InvalidArgument, NotFound (the settings ask for what is
  // not there), FailedPrecondition (this host cannot sample; another agent has the history open),
  // Unavailable (no free port).
  absl::Status Start();
  // Samples until StopRequested() or ReloadPending().
  void Run();
  // Ends sampling, then waits for the receiver to take what is queued, at most flush_timeout_ms.
  void Finish();

 private:
  absl::Status StartReceiver();
  absl::Status StartHistory();
  absl::Status StartPage();
  void OnSealed(const SealedBatchPtr& batch);
  // What the queue has lost travels in the batch that is open.
  void AddDeliveryLosses();
  void TakeSnapshot();
  void LogTotals();

  const AgentSettings settings_;
  const HostFacts host_ = ReadHostFacts();
  // Goes in the opposite order of its making.
  std::unique_ptr<History> history_;
  std::unique_ptr<HistoryPageSource> page_source_;
  std::unique_ptr<WebServer> page_;
  std::unique_ptr<Receiver> receiver_;
  std::unique_ptr<SamplingSession> session_;
  bool history_failing_ = false;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_AGENT_H_
