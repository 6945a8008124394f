// What the thread that puts a report together and the agent's loop want of each other: the loop
// owns the sampling session, so dumps and profiles are its work.
//
// Threads: any.
#ifndef STACKRAY_AGENT_REPORTS_REPORT_EXCHANGE_H_
#define STACKRAY_AGENT_REPORTS_REPORT_EXCHANGE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace stackray {

struct DumpTexts {
  std::string text, json;
};

class ReportExchange {
 public:
  // The report's thread. Errors: DeadlineExceeded, Cancelled (the agent ends), the loop's own.
  absl::StatusOr<DumpTexts> AskDump(uint32_t pid, absl::Duration limit);
  absl::Status AwaitProfile(absl::Duration limit);
  // Sleeps, unless the agent ends: false.
  bool Pause(absl::Duration time);

  // The loop. The process whose dump is asked for; nullopt: none, or it was taken.
  std::optional<uint32_t> TakeAskedDump();
  void AnswerDump(absl::StatusOr<DumpTexts> dump);
  void EndProfile(const absl::Status& status);
  // Ends all waits.
  void Cancel();
  bool is_cancelled() const;

 private:
  mutable absl::Mutex mutex_;
  std::optional<uint32_t> asked_ ABSL_GUARDED_BY(mutex_);
  bool is_dump_awaited_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::StatusOr<DumpTexts>> dump_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> profile_ ABSL_GUARDED_BY(mutex_);
  bool is_cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_REPORT_EXCHANGE_H_
