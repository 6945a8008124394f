// Answers the page's questions from the history: keeps the indexes of the time that was asked for
// open, makes those that are missing, and a little of what was answered.
//
// Memory:  names and open indexes of the last time that was asked for: kMostBytes, beside the
//          indexes in files. An index that is made takes some 20 MiB for a moment. Forget() drops
//          all.
// Threads: any; one question is answered at a time.
#ifndef STACKRAY_AGENT_DAEMON_PAGE_VIEWS_H_
#define STACKRAY_AGENT_DAEMON_PAGE_VIEWS_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/history/history.h"
#include "reporter/page/page_answer.h"
#include "reporter/page/page_index.h"
#include "reporter/page/page_store.h"

namespace stackray {

class PageViews {
 public:
  static constexpr size_t kMostBytes = size_t{32} << 20;
  static constexpr size_t kMostAnswers = 16, kMostAnswerBytes = size_t{4} << 20;

  // Compressed by gzip. Errors: Cancelled (`stop` was requested), Internal.
  absl::StatusOr<std::string> Answer(History& history, const PageQuestion& question,
                                     const PageAnswerOptions& options, const std::stop_token& stop);
  void Forget();
  // Nothing is kept.
  bool empty() const { return empty_; }

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
    std::string key, gzip;
  };

  absl::Status Open(History& history, const std::vector<HistoryRun>& runs,
                    const PageQuestion& question, const std::stop_token& stop);
  // The index of a group of runs; nullptr: there is none that can be read.
  Run* OpenGroup(History& history, const std::string& group);
  absl::StatusOr<Run> OpenRun(History& history, const HistoryRun& run, const SampleFilter& filter,
                              const std::stop_token& stop);
  bool OpenPart(Part* part);
  void ForgetParts(const HistoryRun& run);
  void DropUnused();

  std::mutex mutex_;  // Guards all below but empty_.
  std::unique_ptr<PageStore> store_ = std::make_unique<PageStore>();
  PageAnswerMemory memory_;          // Of the last question, with its indexes.
  std::map<std::string, Run> runs_;  // By name; groups by their first segment and kGroupMark.
  uint64_t question_ = 0;
  std::deque<Kept> answers_;  // Newest last.
  std::atomic<bool> empty_{true};
};

// The bytes of the indexes of a run's batches, one as a rule: more where they are very different.
// Errors: Cancelled.
// Of the samples that `filter` wants.
absl::StatusOr<std::vector<std::string>> IndexesOfRun(History& history, const HistoryRun& run,
                                                      const std::stop_token& stop,
                                                      const SampleFilter& filter = {});
// Makes the index of one whole run that has none, oldest first, or of one group of runs that have,
// and keeps it. Runs that take more than one index are made when they are asked for: their names
// go into `several`, as those of groups that have too many stacks for one, and they are not tried
// again. False: none is left that could be made.
bool IndexOneRun(History& history, const std::stop_token& stop, std::set<std::string>* several);

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_PAGE_VIEWS_H_
