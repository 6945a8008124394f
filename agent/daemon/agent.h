// The agent: sampling, the receivers, the local history and its page, and the numbers of all of
// them.
//
//   Agent agent(settings);
//   if (absl::Status status = agent.Start(); !status.ok()) …
//   agent.Run();              // Until a signal asks for something.
//   agent.Reload(settings);   // What has not changed goes on untouched.
//   agent.Finish();           // Delivers what it can.
//
// Threads: all functions from the one thread that is the agent's loop.
#ifndef STACKRAY_AGENT_DAEMON_AGENT_H_
#define STACKRAY_AGENT_DAEMON_AGENT_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/captures/capture_keeper.h"
#include "agent/control/mailbox.h"
#include "agent/daemon/agent_snapshot.h"
#include "agent/daemon/envelope_keeper.h"
#include "agent/daemon/left_alone_log.h"
#include "agent/daemon/local_history.h"
#include "agent/daemon/loss_log.h"
#include "agent/daemon/own_traces.h"
#include "agent/daemon/page_source.h"
#include "agent/daemon/receiver_set.h"
#include "agent/daemon/report_logs.h"
#include "agent/daemon/session_totals.h"
#include "agent/daemon/state_keeper.h"
#include "agent/host_facts.h"
#include "agent/reports/report_keeper.h"
#include "agent/sampling/sampling_session.h"
#include "agent/settings/settings.h"
#include "agent/web_server/web_server.h"

namespace stackray {

class Agent {
 public:
  explicit Agent(AgentSettings settings);
  ~Agent();

  // Never waits for a receiver. Errors: InvalidArgument, NotFound (the settings ask for what is
  // not there), FailedPrecondition (this host cannot sample; another agent uses the state
  // directory), Unavailable (no free port for the page).
  absl::Status Start();
  // Samples until StopRequested(), ReloadPending() or a request to reload.
  void Run();
  // Replaces what has changed and nothing else: another frequency or target begins a new session,
  // the old one samples until the new one can; a receiver whose settings changed hands its batches
  // over. Counts go on. On an error all is as before. Errors: as Start().
  absl::Status Reload(AgentSettings next);
  // Of a reload that has begun then: its span.
  void TraceReload(int64_t began_unix_ns, bool done);
  int64_t NowUnixNs() const { return traces_.NowUnixNs(); }
  // Tells those who asked for it how the reload went.
  void AnswerReloads(const absl::Status& status);
  // Ends sampling, then waits for the receivers to take what is queued, at most flush_timeout_ms.
  void Finish();

 private:
  struct Servers {
    std::unique_ptr<WebServer> local, metrics;
  };

  absl::StatusOr<std::unique_ptr<SamplingSession>> MakeSession(const AgentSettings& settings);
  absl::StatusOr<std::unique_ptr<WebServer>> MakeLocalServer(const AgentSettings& settings,
                                                             const StateKeeper& state);
  absl::StatusOr<std::unique_ptr<WebServer>> MakeMetricsServer(const AgentSettings& settings);
  static std::string PageToken(const AgentSettings& settings, const StateKeeper& state);
  void LookAtThePort();
  void SayWhereThePageIs() const;
  absl::Status StartSession(std::unique_ptr<SamplingSession> session);
  void EndSession();
  absl::Status Prepare(const AgentSettings& next, std::unique_ptr<SamplingSession>* session,
                       std::unique_ptr<StateKeeper>* state, Servers* servers);
  void OnSealed(const SealedBatchPtr& batch);
  void SendCapture(const SealedBatchPtr& batch, const SpanIds& capture);
  void LookForFirstSample();
  void EndStart();
  void TakeLetters();
  void SealBatch();
  void SendLosses(bool at_the_end);
  void SweepSpools();
  SessionTotals Totals();
  void TakeSnapshot(bool at_the_end = false);
  void LogTotals();

  AgentSettings settings_;
  const HostFacts host_ = ReadHostFacts();
  const uint64_t began_ns_;
  EnvelopeKeeper envelope_;
  SnapshotBoard board_;
  Mailbox mailbox_;
  std::vector<Mailbox::Letter> reloads_;  // Asked for and not answered.
  HistoryPageSource page_source_{board_};
  // Goes in the opposite order of its making.
  OwnTraces traces_;
  std::vector<OwnTraces::Step> steps_;  // Of the start or reload that goes on.
  int64_t start_began_unix_ns_ = 0;     // Of a start whose first sample is still to come; else 0.
  int64_t seal_began_unix_ns_ = 0;      // Of a seal by the clock that goes on; else 0.
  std::unique_ptr<StateKeeper> state_;
  LocalHistory history_{page_source_};
  Servers servers_;
  std::optional<doctor::PortHolder> page_port_holder_;  // As in AgentSnapshot.
  ReceiverSet receivers_{&traces_.tracer()};
  uint64_t sent_capture_samples_ = 0;  // Of captures, to the receivers; markers count nowhere.
  CaptureKeeper captures_{
      host_.name,
      [this](const SealedBatchPtr& batch, const SpanIds& capture) { SendCapture(batch, capture); },
      &traces_.tracer()};
  ReportLogs report_logs_;
  ReportKeeper reports_{
      host_.name,
      {.history = [this] { return history_.shared(); },
       .send_profile = [this](const SealedBatchPtr& batch) { SendCapture(batch, SpanIds()); },
       .send_record = [this](const LogRecord& record) { report_logs_.Add(record); }}};
  std::unique_ptr<SamplingSession> session_;
  SessionTotals ended_sessions_;
  LeftAloneLog left_alone_log_;
  LossLog loss_log_;
  BatchSettings loss_batches_;  // As the session's.
  uint64_t sequence_ = 0;
  uint64_t samples_in_memory_ = 0;  // As of the last snapshot: what a SIGKILL would take along.
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_AGENT_H_
