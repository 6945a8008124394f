// The reports of the state directory, as the page's server hands them out: a list, the archives,
// and the page inside each.
//
// Input:   names come from whoever may read the page; only names of reports are looked for.
// Threads: any.
#ifndef STACKRAY_AGENT_DAEMON_PAGE_REPORTS_H_
#define STACKRAY_AGENT_DAEMON_PAGE_REPORTS_H_

#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "kernel/unique_fd.h"

namespace stackray {

class PageReports {
 public:
  // Empty: there are none.
  void SetStateDirectory(std::string state_dir);
  // {"reports": [{"name", "bytes", "unix_ms"}]}, the newest first.
  std::string ListJson() const;
  // The like, for a reader: names with their time and size, links to archive and page.
  std::string ListHtml() const;
  // Errors: NotFound, FailedPrecondition (no regular file).
  absl::StatusOr<UniqueFd> Open(const std::string& name) const;
  absl::StatusOr<std::string> Page(const std::string& name) const;

 private:
  std::string directory() const;

  mutable std::mutex mutex_;
  std::string directory_;  // Guarded by mutex_.
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_PAGE_REPORTS_H_
