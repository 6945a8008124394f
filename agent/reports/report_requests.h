// The requests about reports that a running agent knows; report_keeper.h answers,
// report_command.h asks.
//
//   report-start  {"pid": 0, "trigger": NAME,  {"name"}
//                  "target": ToJson(TargetSettings)}
//   report-list   {}                           {"reports": [{"name", "bytes", "unix_ms"}],
//                                               "running": NAME or "", "failed": {NAME: WHY},
//                                               "uploaded", "upload_failures",
//                                               "last_upload_failure"}
//   report-delete {"name"}                     {"name"}
#ifndef STACKRAY_AGENT_REPORTS_REPORT_REQUESTS_H_
#define STACKRAY_AGENT_REPORTS_REPORT_REQUESTS_H_

namespace stackray {

inline constexpr char kReportStartRequest[] = "report-start";
inline constexpr char kReportListRequest[] = "report-list";
inline constexpr char kReportDeleteRequest[] = "report-delete";

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_REPORT_REQUESTS_H_
