// The captures of a running agent: starts and ends them, keeps their files, answers what is asked
// of them, and bounds what they take.
//
// A capture comes from a request or from a flag (CaptureFlags), and ends when its time is over,
// when it is stopped, when all its processes have ended, or when its file is full. It goes on over
// a reload and over a restart of the agent, with a gap that its record names.
//
// Rates: all captures together may take `max_rate` samples a second and CPU. Where they would take
// more, BPF drops the rest and counts it, and within a second the captures' rates fall; they rise
// again once there is room. The CPU budget of the agent lowers them before it touches the
// continuous profile (EnvelopeStep::kCaptures).
//
// Threads: one (the agent's loop). Start() of the first capture of waits takes some seconds.
#ifndef STACKRAY_AGENT_CAPTURES_CAPTURE_KEEPER_H_
#define STACKRAY_AGENT_CAPTURES_CAPTURE_KEEPER_H_

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "agent/captures/capture_flags.h"
#include "agent/captures/capture_pace.h"
#include "agent/captures/capture_requests.h"
#include "agent/captures/capture_spec.h"
#include "agent/captures/capture_store.h"
#include "agent/captures/captures_status.h"
#include "agent/control/control_message.h"
#include "agent/sampling/sampling_session.h"
#include "agent/settings/settings.h"
#include "reporter/traces/tracer.h"

namespace stackray {

class CaptureKeeper {
 public:
  // `send`: to the receivers, with the capture's span. `tracer`: of these spans; outlives this, or
  // is nullptr.
  using Send = std::function<void(const SealedBatchPtr&, const SpanIds& capture)>;
  CaptureKeeper(std::string host_name, Send send, Tracer* tracer = nullptr)
      : host_name_(std::move(host_name)), send_(std::move(send)), tracer_(tracer) {}

  // At the start and at each reload. Says in the log what does not work.
  void Configure(const AgentSettings& settings);
  // `session` has started and is lent until EndSession(): what pauses goes on in it.
  void BeginSession(SamplingSession& session);
  // What runs pauses: its samples so far are in its file.
  void EndSession();

  // Between two turns of the session.
  void Look(uint64_t now_ns);
  // Of the kCapture… requests.
  ControlAnswer Answer(const ControlRequest& request);
  // The agent's CPU budget: rates are halved `level` times.
  void GiveWay(int level);

  bool empty() const { return running_.empty(); }
  CapturesStatus Status() const;

 private:
  struct Running {
    CaptureSpec spec;
    std::string flag;      // Its key among the flags; empty: of a request.
    int number = 0;        // In the session; 0: it pauses.
    uint64_t ends_ns = 0;  // CLOCK_BOOTTIME.
    int64_t ends_unix_ns = 0;
    CaptureCounts before;  // Of the sessions before this one.
    uint64_t paused_ns = 0;
    std::string end_reason;   // Set: it is to end.
    uint64_t not_stored = 0;  // Samples of batches that the disk did not take.
    double frequency_hz = 0;
    SpanIds span;  // Not valid: none.
  };
  using RunningList = std::list<Running>;

  absl::StatusOr<Running*> Start(CaptureSpec spec, std::string flag);
  absl::StatusOr<Running*> TryToStart(CaptureSpec spec, std::string flag);
  absl::Status StartInSession(Running& running);
  void End(RunningList::iterator running, std::string_view reason);
  void OnSealed(Running& running, const SealedBatchPtr& batch);
  void Resume();
  void FollowFlags(bool is_time);
  void StartFlag(const WantedCapture& wanted, std::string key);
  void BeginFlag(CaptureSpec spec, std::string key);
  bool HasBeen(const CaptureSpec& flag, const std::string& key) const;
  static int64_t WallNs();
  void EndAll(std::string_view reason);
  void KeepPace(uint64_t now_ns, const CaptureCounts& sum);
  double RateOf(const CaptureSpec& spec) const;
  void SetRates();
  CaptureCounts CountsOf(const Running& running) const;
  static CaptureProgress ProgressOf(const Running& running, const CaptureCounts& counts);
  std::string NameFor(const CaptureSpec& spec) const;
  absl::Status Refused() const;
  ControlAnswer AnswerStart(const ControlRequest& request);
  ControlAnswer AnswerList() const;
  ControlAnswer AnswerStop(const ControlRequest& request);

  const std::string host_name_;
  const Send send_;
  Tracer* const tracer_;
  std::string state_dir_;
  bool allowed_ = true;
  int64_t max_duration_ms_ = 0;
  CapturePace pace_;
  std::unique_ptr<CaptureStore> store_;  // nullptr: there is none, and captures are refused.
  std::string store_problem_;
  std::unique_ptr<CaptureFlags> flags_;
  std::string flags_dir_;
  std::vector<CaptureEntry> flags_configured_;
  std::set<std::string> done_flags_;  // Keys of flags whose captures have been.
  // Why flags whose captures cannot run now wait, by their keys.
  std::map<std::string, CaptureFlagProblem> waiting_flags_;
  bool are_flags_new_ = true;  // None of them was looked at yet.
  RunningList running_;
  SamplingSession* session_ = nullptr;  // Lent.
  int level_ = 0;
  uint64_t next_look_ns_ = 0, next_seal_ns_ = 0;
  uint64_t started_ = 0, refused_ = 0;
  CaptureCounts ended_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_CAPTURES_CAPTURE_KEEPER_H_
