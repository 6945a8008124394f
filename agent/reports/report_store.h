// The reports in the state directory: STATE_DIR/reports/report-HOST-TIME-TRIGGER.tar.zst.
//
// Bounds: bytes and age of all reports together, the oldest first; and what the file system must
// have free for others. The newest report may take all bytes, and is refused where it alone has
// more.
// Threads: any, one at a time.
#ifndef STACKRAY_AGENT_REPORTS_REPORT_STORE_H_
#define STACKRAY_AGENT_REPORTS_REPORT_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/reports/archive_writer.h"
#include "agent/settings/settings.h"

namespace stackray {

struct StoredReport {
  std::string name;  // Without the ending.
  uint64_t bytes = 0;
  int64_t unix_ms = 0;  // Of its file.
};

// Those in a directory, the oldest first.
std::vector<StoredReport> ListReports(const std::string& directory);

inline constexpr std::string_view kReportEnding = ".tar.zst";

class ReportStore {
 public:
  // Makes the directory (0700), and removes what an agent that was killed left half made.
  // Errors: PermissionDenied, Unavailable.
  static absl::StatusOr<std::unique_ptr<ReportStore>> Open(const std::string& state_dir);

  const std::string& directory() const { return directory_; }
  // Where files lie until they are in the archive; ClearWork() before each report.
  const std::string& work_directory() const { return work_; }
  std::string PathOf(std::string_view name) const;

  // The oldest first.
  std::vector<StoredReport> List() const;
  // Errors: NotFound, InvalidArgument (no report's name).
  absl::Status Delete(std::string_view name);
  // Drops what is too old, or too much together with `more_bytes` that are to come. Errors:
  // ResourceExhausted: the file system has less free than the settings say.
  absl::Status MakeRoom(const ReportSettings& settings, uint64_t more_bytes, int64_t now_unix_ms);
  // Errors: as ArchiveWriter::Create(), and MakeRoom().
  absl::StatusOr<std::unique_ptr<ArchiveWriter>> Begin(const std::string& name);
  void ClearWork();

 private:
  explicit ReportStore(std::string directory)
      : directory_(std::move(directory)), work_(directory_ + "/work") {}

  const std::string directory_, work_;
};

// 1 to 255 bytes of letters, digits, '.', '_' and '-', beginning with "report-".
bool IsReportName(std::string_view name);
// "report-HOST-20261126T180500Z-TRIGGER".
std::string ReportName(std::string_view host, int64_t unix_ms, std::string_view trigger);

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_REPORT_STORE_H_
