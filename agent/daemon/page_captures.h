// The captures of the state directory, as the page shows them: which there are, and the batches of
// each as a history of its own, also while it still runs.
//
// Input:   the directory may hold anything; what is no capture's file is left out. A file that
//          grows is read up to its last whole batch.
// Memory:  a record a capture, and 32 bytes a batch of those that were opened, kMostOpen of them.
// Threads: any.
#ifndef STACKRAY_AGENT_DAEMON_PAGE_CAPTURES_H_
#define STACKRAY_AGENT_DAEMON_PAGE_CAPTURES_H_

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/captures/capture_record.h"
#include "agent/history/history.h"

namespace stackray {

class PageCaptures {
 public:
  static constexpr size_t kMostOpen = 4;
  static constexpr int64_t kListedForMs = 2000;  // The directory is read that often at most.

  // Empty: there are none.
  void SetStateDirectory(std::string state_dir);
  // Running ones first, then the newest first.
  std::vector<CaptureRecord> List();
  // Errors: NotFound, Unavailable, FailedPrecondition (its file is no regular one).
  absl::StatusOr<std::shared_ptr<History>> Open(const std::string& name);

 private:
  struct Opened {
    std::string name;
    std::shared_ptr<History> history;
  };

  std::mutex mutex_;  // Guards all below.
  std::string directory_;
  std::vector<CaptureRecord> records_;
  int64_t listed_ms_ = INT64_MIN;
  std::list<Opened> opened_;  // The last one that was asked for first.
};

// The batches of an `.otlp` file, which may grow. `label` begins the names of its runs.
// Errors: Unavailable, FailedPrecondition (no regular file).
absl::StatusOr<std::shared_ptr<History>> OpenBatchFile(int directory, const std::string& file,
                                                       std::string label);

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_PAGE_CAPTURES_H_
