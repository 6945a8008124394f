#include "agent/reports/report_exchange.h"

#include <utility>

namespace stackray {

absl::Status ReportExchange::Cancelled() {
  return absl::CancelledError("the agent ends, or something more urgent is to be reported");
}

absl::StatusOr<DumpTexts> ReportExchange::AskDump(AskedDump of, absl::Duration limit) {
  absl::MutexLock lock(&mutex_);
  asked_ = of;
  is_dump_awaited_ = true;
  dump_.reset();
  const auto is_there = [this] {
    mutex_.AssertHeld();
    return is_cancelled_ || dump_.has_value();
  };
  const bool came = mutex_.AwaitWithTimeout(absl::Condition(&is_there), limit);
  asked_.reset();
  is_dump_awaited_ = false;
  if (is_cancelled_) return Cancelled();
  if (!came) return absl::DeadlineExceededError("its stacks took too long");
  return *std::exchange(dump_, std::nullopt);
}

absl::Status ReportExchange::AwaitProfile(absl::Duration limit) {
  absl::MutexLock lock(&mutex_);
  const auto is_there = [this] {
    mutex_.AssertHeld();
    return is_cancelled_ || profile_.has_value();
  };
  const bool came = mutex_.AwaitWithTimeout(absl::Condition(&is_there), limit);
  if (is_cancelled_) return Cancelled();
  return came ? *profile_ : absl::DeadlineExceededError("the profile took too long");
}

bool ReportExchange::Pause(absl::Duration time) {
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&is_cancelled_), time);
  return !is_cancelled_;
}

std::optional<AskedDump> ReportExchange::TakeAskedDump() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(asked_, std::nullopt);
}

void ReportExchange::PutBackAskedDump(AskedDump of) {
  absl::MutexLock lock(&mutex_);
  if (is_dump_awaited_ && !asked_) asked_ = of;
}

// One that nobody waits for any more is another process's by now.
void ReportExchange::AnswerDump(absl::StatusOr<DumpTexts> dump) {
  absl::MutexLock lock(&mutex_);
  if (is_dump_awaited_) dump_ = std::move(dump);
}

void ReportExchange::EndProfile(const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  profile_ = status;
}

void ReportExchange::Cancel() {
  absl::MutexLock lock(&mutex_);
  is_cancelled_ = true;
}

bool ReportExchange::is_cancelled() const {
  absl::MutexLock lock(&mutex_);
  return is_cancelled_;
}

}  // namespace stackray
