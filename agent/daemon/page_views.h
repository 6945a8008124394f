// Answers the page's questions from the history: keeps the indexes of the time that was asked for
// open, makes those that are missing, and a little of what was answered.
//
// Memory:  names and open indexes of the last time that was asked for: kMostBytes with what each
//          open index takes on the heap, beside the indexes in files; for one question at most
//          kMostQuestionBytes. An index that is made takes some 20 MiB for a moment. Forget() drops
//          all.
// Disk:    a mapped file keeps its space after the history has deleted it, where no bound counts
//          it: each answer and DropGone() close what the history no longer has.
// Threads: any; one question is answered at a time.
#ifndef STACKRAY_AGENT_DAEMON_PAGE_VIEWS_H_
#define STACKRAY_AGENT_DAEMON_PAGE_VIEWS_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/history/history.h"
#include "reporter/formats/sample_filter.h"
#include "reporter/formats/sample_grouping.h"
#include "reporter/page/page_answer.h"
#include "reporter/page/page_index.h"
#include "reporter/page/page_store.h"

namespace stackray {

// What a question asks of each sample, which no index knows.
struct PageSamples {
  SampleFilter filter;
  std::optional<SampleGrouping> grouping;  // Each stack has its group outside.

  bool all_as_they_are() const { return filter.wants_all() && !grouping; }
  std::string Key() const;  // Equal for equal ones; empty: all_as_they_are().
};

class PageViews {
 public:
  static constexpr size_t kMostBytes = size_t{32} << 20;
  static constexpr size_t kMostAnswers = 16, kMostAnswerBytes = size_t{4} << 20;
  // Of indexes that are made in memory for one question, and of names.
  static constexpr size_t kMostQuestionBytes = size_t{96} << 20;

  // `most_question_bytes`: for tests.
  explicit PageViews(size_t most_question_bytes = kMostQuestionBytes)
      : most_question_bytes_(most_question_bytes) {}

  // How far the answer is that is being made.
  struct Progress {
    size_t done = 0, all = 0;  // Runs of batches; all 0: none is made.
  };

  // Compressed by gzip. Errors: Cancelled (`stop` was requested), ResourceExhausted (it would take
  // more than kMostQuestionBytes), Internal.
  absl::StatusOr<std::string> Answer(History& history, const PageQuestion& question,
                                     const PageAnswerOptions& options, const std::stop_token& stop);
  void Forget();
  // Closes the indexes of runs that `history`, the local one, no longer has. Does nothing while an
  // answer is made: that ends with the same.
  void DropGone(History& history);
  // Nothing is kept.
  bool empty() const { return empty_; }
  Progress progress() const { return {done_, all_}; }

 private:
  struct Part {                              // One index of a run.
    std::shared_ptr<const MappedFile> file;  // One of the two.
    std::shared_ptr<const std::string> bytes;
    PageIndex::Ptr index;
  };
  struct Run {
    std::vector<Part> parts;
    uint64_t used = 0;  // The number of the question that it was needed for last.
  };
  struct Kept {
    PageQuestion question;
    std::string key, gzip;  // Which runs it was made of; the answer.
  };

  absl::Status Open(History& history, const std::vector<HistoryRun>& runs,
                    const PageQuestion& question, const std::stop_token& stop);
  // The index of a group of runs; nullptr: there is none that can be read.
  Run* OpenGroup(History& history, const std::string& group);
  absl::StatusOr<Run> OpenRun(History& history, const HistoryRun& run, const PageSamples& samples,
                              const std::stop_token& stop);
  // From the file beside the run's segment.
  bool OpenKept(History& history, const HistoryRun& run, Run* out);
  bool OpenPart(Part* part);
  void ForgetParts(const HistoryRun& run);
  bool DropRunsThatAreGone(History& history);
  void DropUnused();
  void RenewNames();
  void ForgetRuns();

  const size_t most_question_bytes_;
  std::mutex mutex_;  // Guards all below but empty_.
  std::unique_ptr<PageStore> store_ = std::make_unique<PageStore>();
  PageAnswerMemory memory_;          // Of the last question, with its indexes.
  std::map<std::string, Run> runs_;  // By name; groups by their first segment and kGroupMark.
  size_t names_bytes_ = 0;           // Of the store's tables, when they were made anew.
  uint64_t question_ = 0;
  std::deque<Kept> answers_;  // Newest last.
  std::atomic<bool> empty_{true};
  std::atomic<size_t> done_{0}, all_{0};
};

// The bytes of the indexes of a run's batches, one as a rule: more where they are very different.
// Of the samples that `samples` wants. Errors: Cancelled.
absl::StatusOr<std::vector<std::string>> IndexesOfRun(History& history, const HistoryRun& run,
                                                      const std::stop_token& stop,
                                                      const PageSamples& samples = {});
// Makes the index of one whole run that has none, oldest first, or of one group of runs that have,
// and keeps it. Runs that take more than one index are made when they are asked for: their names
// go into `several`, as those of groups that have too many stacks for one, and they are not tried
// again. False: none is left that could be made.
bool IndexOneRun(History& history, const std::stop_token& stop, std::set<std::string>* several);

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_PAGE_VIEWS_H_
