// The reports of a running agent: looks at the triggers, begins and ends reports, does for them
// what only the agent's loop can do, and answers what is asked of them.
//
// Threads: one (the agent's loop), and one of its own while a report is made (report_work.h).
#ifndef STACKRAY_AGENT_REPORTS_REPORT_KEEPER_H_
#define STACKRAY_AGENT_REPORTS_REPORT_KEEPER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "agent/control/control_message.h"
#include "agent/history/history.h"
#include "agent/reports/host_events.h"
#include "agent/reports/last_stacks.h"
#include "agent/reports/report_exchange.h"
#include "agent/reports/report_limits.h"
#include "agent/reports/report_store.h"
#include "agent/reports/report_trigger.h"
#include "agent/reports/report_upload.h"
#include "agent/reports/report_work.h"
#include "agent/reports/reports_status.h"
#include "agent/sampling/sampling_session.h"
#include "agent/settings/settings.h"
#include "reporter/logs/log_record.h"

namespace stackray {

class ReportKeeper {
 public:
  struct Links {
    // The agent's own, for as long as it is held; nullptr: there is none now.
    std::function<std::shared_ptr<History>()> history;
    // To the receivers, where the settings say so.
    std::function<void(const SealedBatchPtr&)> send_profile;
    std::function<void(const LogRecord&)> send_record;
  };
  ReportKeeper(std::string host_name, Links links);
  ~ReportKeeper();  // As Finish().

  // At the start and at each reload. Says in the log what does not work.
  void Configure(const AgentSettings& settings);
  // `session` has started and is lent until EndSession().
  void BeginSession(SamplingSession& session);
  void EndSession();
  // The agent ends: a report that is under way is given up.
  void Finish();

  // A batch of the continuous profile: for the last minutes of agents without a history.
  void OnSealed(const SealedBatchPtr& batch);
  // Between two turns of the session.
  void Look(const TriggerMoment& now);
  // Of the kReport… requests.
  ControlAnswer Answer(const ControlRequest& request);

  ReportsStatus Status() const;

 private:
  struct Running {
    std::string name;
    bool is_routine = false;  // A timer's: whatever happens goes before it.
    ReportExchange exchange;
    std::thread thread;
    std::atomic<bool> is_done{false};
    absl::StatusOr<ReportManifest> result = absl::UnknownError("");  // Once it is done.
    int capture = 0;                                                 // In the session; 0: none.
    uint64_t capture_ends_ns = 0;
    UniqueFd profile;
  };

  struct WantedTrigger {
    ReportTriggerEntry entry;
    std::unique_ptr<ReportTrigger> trigger;
    bool is_routine() const { return entry.kind == "timer"; }
  };

  // What has happened and made no report yet.
  struct Missed {
    std::string trigger;
    TriggerFiring firing;
    std::string why_not;  // Empty: one may begin when the one that runs is done.
    uint64_t since_ns = 0;
    std::string last_stack = {};  // " < " between its names, leaf first; empty: none, or not yet.
  };

  void MakeTriggers();
  void MakeUploader();
  void LookAtTriggers(const TriggerMoment& now);
  void LookAtRunning(const TriggerMoment& now);
  void Miss(const WantedTrigger& wanted, TriggerFiring firing, const absl::Status& why,
            const TriggerMoment& now);
  void LookAtMissed(const TriggerMoment& now);
  void Suppress(const Missed& missed);
  std::string LastStackText(const TriggerFiring& firing);
  absl::StatusOr<std::string> Begin(const std::string& trigger, const TriggerFiring& firing,
                                    bool is_asked_for);
  ReportOrder OrderOf(const std::string& trigger, const TriggerFiring& firing, int64_t now_ms);
  bool MayLoadWaits() const;
  void BeginProfile(Running& running, const TargetSettings& target, bool with_waits);
  absl::StatusOr<IsMember> Members(const TargetSettings& target);
  void EndProfile(Running& running);
  void TakeLastStacks();
  void AnswerDump(Running& running);
  void AnswerLastStack(Running& running, AskedDump asked);
  void EndRunning();
  void Announce(const ReportManifest& manifest);
  ControlAnswer AnswerStart(const ControlRequest& request);
  ControlAnswer AnswerList() const;

  const std::string host_name_;
  const Links links_;
  ReportSettings settings_;
  std::string state_dir_;
  std::unique_ptr<ReportStore> store_;  // nullptr: reports have no place to be kept.
  std::string store_problem_;
  std::unique_ptr<ReportLimits> limits_;
  std::unique_ptr<ReportUploader> uploader_;  // nullptr: reports stay on this host.
  HostEvents events_;
  LastStacks last_stacks_;
  std::vector<WantedTrigger> triggers_;
  std::deque<Missed> missed_;           // The oldest first.
  std::shared_ptr<History> recorder_;   // nullptr: nobody needs one.
  SamplingSession* session_ = nullptr;  // Lent.
  std::unique_ptr<Running> running_;
  uint64_t next_look_ns_ = 0;
  std::map<std::string, std::string> failures_;  // By the report's name: why. The last few.
  ReportsStatus status_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_REPORT_KEEPER_H_
