// How often reports may be made: one at a time on a host, a minimum distance between two of a
// trigger, and a number a day. What was made is remembered over a restart.
//
// Threads: one (the agent's loop).
#ifndef STACKRAY_AGENT_REPORTS_REPORT_LIMITS_H_
#define STACKRAY_AGENT_REPORTS_REPORT_LIMITS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "agent/settings/settings.h"
#include "kernel/unique_fd.h"

namespace stackray {

class ReportLimits {
 public:
  // `directory`: of the reports, where what was made is remembered. `lock_path`: a file that all
  // agents of the host have in common; where it cannot be opened, one in `directory`.
  ReportLimits(std::string directory, std::string lock_path);

  // May a report for this trigger begin now? It has the host's lock then, until End().
  // Errors: ResourceExhausted, with what stands against it. A request (`is_asked_for`) needs no
  // distance and counts for no day.
  absl::Status Begin(const ReportSettings& settings, std::string_view trigger, bool is_asked_for,
                     int64_t now_unix_ms);
  void End();

 private:
  struct Made {
    std::string trigger;
    int64_t unix_ms = 0;
  };
  absl::Status Check(const ReportSettings& settings, std::string_view trigger,
                     int64_t now_unix_ms) const;
  absl::Status Lock();
  void Read();
  void Write() const;

  const std::string directory_, lock_path_;
  std::vector<Made> made_;  // Of the last day, the oldest first.
  UniqueFd lock_;           // Valid while a report is made.
};

// Of the agents that share /run: all of a host, or of a container.
inline constexpr char kReportLockPath[] = "/run/stackray-report.lock";

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_REPORT_LIMITS_H_
