// What the thread that puts a report together and the agent's loop want of each other: the loop
// owns the sampling session, so dumps and profiles are its work.
//
// Threads: any.
#ifndef STACKRAY_AGENT_REPORTS_REPORT_EXCHANGE_H_
#define STACKRAY_AGENT_REPORTS_REPORT_EXCHANGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace stackray {

// Of a process; with a thread's number, that thread's last stack.
struct AskedDump {
  uint32_t pid = 0, last_tid = 0;

  friend bool operator==(const AskedDump&, const AskedDump&) = default;
};

struct DumpTexts {
  std::string text, json;
  std::vector<std::string> last;  // Of a last stack: its functions, leaf first, as far as named.
};

class ReportExchange {
 public:
  // The report's thread. Errors: DeadlineExceeded, Cancelled (the agent ends), the loop's own.
  absl::StatusOr<DumpTexts> AskDump(AskedDump of, absl::Duration limit);
  absl::Status AwaitProfile(absl::Duration limit);
  // Sleeps, unless the agent ends: false.
  bool Pause(absl::Duration time);

  // The loop. Whose dump is asked for; nullopt: none, or it was taken.
  std::optional<AskedDump> TakeAskedDump();
  // What was taken could not be answered yet.
  void PutBackAskedDump(AskedDump of);
  void AnswerDump(absl::StatusOr<DumpTexts> dump);
  void EndProfile(const absl::Status& status);
  // Ends all waits.
  void Cancel();
  static absl::Status Cancelled();  // Why, for who waits.
  bool is_cancelled() const;

 private:
  mutable absl::Mutex mutex_;
  std::optional<AskedDump> asked_ ABSL_GUARDED_BY(mutex_);
  bool is_dump_awaited_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::StatusOr<DumpTexts>> dump_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> profile_ ABSL_GUARDED_BY(mutex_);
  bool is_cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_REPORT_EXCHANGE_H_
