// The thread that looks up inlined functions and source lines, away from the sampling path.
//
// Questions wait in a bounded queue. What the thread may spend is bounded too: `cpu_share` of one
// CPU over time, with `burst_seconds` of it saved up; when that is used up it sleeps, and batches
// go out with the functions' names alone.
//
// Memory:  kMaxQuestions questions, each with its file held open, and what SourceLines keeps.
// Threads: any one thread asks and takes answers; the worker is this object's own and ends with it.
#ifndef STACKRAY_AGENT_SAMPLING_LINE_WORKER_H_
#define STACKRAY_AGENT_SAMPLING_LINE_WORKER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "symbolizer/executable_files.h"
#include "symbolizer/source_lines.h"

namespace stackray {

struct LineWorkerSettings {
  SourceLinesSettings lines;
  double cpu_share = 0.25;  // 1 or more: without limit.
  double burst_seconds = 2;
};

struct LineQuestion {
  ExecutableFilePtr file;
  uint32_t pid = 0;  // A process that runs the file: debug files are looked for in its root too.
  uint64_t elf_address = 0;
};

struct LineAnswer {
  uint64_t handle = 0, elf_address = 0;
  std::vector<SourceLine> lines;  // As SourceLines::Resolve().
  bool is_bare = false;           // Nothing is known of any address of the file.
  bool is_pending = false;        // More may be known later, so the answer is not to be kept.
};

class LineWorker {
 public:
  static constexpr size_t kMaxQuestions = 16 << 10;

  explicit LineWorker(LineWorkerSettings settings);
  ~LineWorker();

  // Takes as many as the queue has room for, from the front, and returns how many.
  size_t Ask(std::vector<LineQuestion>& questions);
  // Answers that are ready, in the order of the questions.
  std::vector<LineAnswer> TakeAnswers();
  // Waits until an answer is ready or nothing is asked any more. False: neither by the deadline.
  bool WaitForAnswer(absl::Time deadline);

  // What the files said is forgotten before the next question.
  void Wipe();
  // Why debuginfod is not asked though it should be; OK otherwise.
  const absl::Status& download_status() const { return lines_.download_status(); }
  // As SourceLines::SetCacheBytes(), before the next question.
  void SetCacheBytes(size_t cache_bytes);
  // Spent by the worker so far.
  uint64_t cpu_ns() const { return cpu_ns_.load(std::memory_order_relaxed); }
  size_t cache_bytes() const { return cache_bytes_.load(std::memory_order_relaxed); }

 private:
  void Run();
  bool NextQuestion(LineQuestion* question);  // False: the end.
  void KeepToShare(uint64_t started_ns, uint64_t spent_ns);
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || wipe_ || cache_bytes_wanted_ || !questions_.empty();
  }
  bool HasAnswerOrIsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !answers_.empty() || (questions_.empty() && !busy_);
  }
  bool IsStopping() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_; }

  const LineWorkerSettings settings_;
  SourceLines lines_;  // The worker's alone, but for what never changes.
  mutable absl::Mutex mutex_;
  std::deque<LineQuestion> questions_ ABSL_GUARDED_BY(mutex_);
  std::vector<LineAnswer> answers_ ABSL_GUARDED_BY(mutex_);
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  bool wipe_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<size_t> cache_bytes_wanted_ ABSL_GUARDED_BY(mutex_);  // Not set yet.
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<uint64_t> cpu_ns_{0};
  std::atomic<size_t> cache_bytes_{0};
  std::thread thread_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_LINE_WORKER_H_
