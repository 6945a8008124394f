#include "agent/sampling/line_worker.h"

#include <algorithm>
#include <ctime>
#include <utility>

namespace stackray {
namespace {

constexpr absl::Duration kDeletedLookInterval = absl::Seconds(10);

uint64_t ClockNs(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

LineWorker::LineWorker(LineWorkerSettings settings)
    : settings_(std::move(settings)), lines_(settings_.lines), thread_([this] { Run(); }) {}

LineWorker::~LineWorker() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

size_t LineWorker::Ask(std::vector<LineQuestion>& questions) {
  absl::MutexLock lock(&mutex_);
  const size_t taken = std::min(questions.size(), kMaxQuestions - questions_.size());
  for (size_t i = 0; i < taken; ++i) questions_.push_back(std::move(questions[i]));
  return taken;
}

std::vector<LineAnswer> LineWorker::TakeAnswers() {
  std::vector<LineAnswer> taken;
  absl::MutexLock lock(&mutex_);
  taken.swap(answers_);
  return taken;
}

bool LineWorker::WaitForAnswer(absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithDeadline(absl::Condition(this, &LineWorker::HasAnswerOrIsIdle), deadline);
}

void LineWorker::Wipe() {
  absl::MutexLock lock(&mutex_);
  wipe_ = true;
}

void LineWorker::SetCacheBytes(size_t cache_bytes) {
  absl::MutexLock lock(&mutex_);
  cache_bytes_wanted_ = cache_bytes;
}

// Waits for one. Meanwhile files that were deleted are closed.
bool LineWorker::NextQuestion(LineQuestion* question) {
  for (;;) {
    bool wipe = false;
    std::optional<size_t> cache_bytes;
    {
      absl::MutexLock lock(&mutex_);
      busy_ = false;
      const bool work = mutex_.AwaitWithTimeout(absl::Condition(this, &LineWorker::HasWork),
                                                kDeletedLookInterval);
      if (stopping_) return false;
      wipe = std::exchange(wipe_, false);
      cache_bytes = std::exchange(cache_bytes_wanted_, std::nullopt);
      if (work && !wipe && !cache_bytes) {
        *question = std::move(questions_.front());
        questions_.pop_front();
        busy_ = true;
        return true;
      }
    }
    if (cache_bytes) lines_.SetCacheBytes(*cache_bytes);
    if (wipe) {
      lines_.Wipe();
    } else {
      lines_.DropDeleted();
    }
    cache_bytes_.store(lines_.bytes(), std::memory_order_relaxed);
  }
}

void LineWorker::Run() {
  const uint64_t started_ns = ClockNs(CLOCK_MONOTONIC);
  for (LineQuestion question; NextQuestion(&question);) {
    LineAnswer answer{question.file->handle, question.elf_address};
    answer.lines = lines_.Resolve(question.pid, question.file, question.elf_address);
    answer.is_pending = lines_.IsPending();
    answer.is_bare = lines_.IsBare() && !answer.is_pending;
    question.file.reset();
    {
      absl::MutexLock lock(&mutex_);
      answers_.push_back(std::move(answer));
    }
    const uint64_t spent_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
    cpu_ns_.store(spent_ns, std::memory_order_relaxed);
    cache_bytes_.store(lines_.bytes(), std::memory_order_relaxed);
    KeepToShare(started_ns, spent_ns);
  }
}

// Sleeps while more than its share was spent. A share that was not used is saved up to the burst
// only at the start, so that the first batches of a run have their lines.
void LineWorker::KeepToShare(uint64_t started_ns, uint64_t spent_ns) {
  if (settings_.cpu_share >= 1) return;
  const double elapsed = static_cast<double>(ClockNs(CLOCK_MONOTONIC) - started_ns) * 1e-9;
  const double allowed = elapsed * settings_.cpu_share + settings_.burst_seconds;
  const double over = static_cast<double>(spent_ns) * 1e-9 - allowed;
  if (over <= 0) return;
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(this, &LineWorker::IsStopping),
                          absl::Seconds(over / settings_.cpu_share));
}

}  // namespace stackray
