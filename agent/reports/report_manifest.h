// manifest.json of a report: what was asked, what is there, what is missing and why.
// Threads: one.
#ifndef STACKRAY_AGENT_REPORTS_REPORT_MANIFEST_H_
#define STACKRAY_AGENT_REPORTS_REPORT_MANIFEST_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace stackray {

// One of the processes of a report.
struct ReportedProcess {
  uint32_t pid = 0;
  std::string command;
  uint64_t resident_bytes = 0;
  double cpu_percent = 0;          // Of one CPU, over a second at the report's begin.
  double io_bytes_per_second = 0;  // Read from and written to disks, over that second.

  friend bool operator==(const ReportedProcess&, const ReportedProcess&) = default;
};

struct ReportManifest {
  static constexpr int kVersion = 1;

  // Asked.
  std::string name, trigger, reason, host, agent_version;
  int64_t unix_ms = 0;
  bool is_automatic = false;       // A trigger fired; else somebody has asked.
  uint32_t pid = 0;                // 0: the heaviest processes.
  std::string target;              // Of whom; empty: of the host.
  bool is_target_claimed = false;  // By the processes' own word (agent/settings/target_text.h).
  uint32_t ended_pid = 0, ended_tid = 0;  // A thread that a signal has ended; 0: none.
  // There.
  struct Entry {
    std::string name;
    uint64_t bytes = 0;
    bool is_cut = false;  // The source had more.
  };
  std::vector<Entry> entries;
  std::vector<ReportedProcess> processes;
  std::vector<std::string> last_stack;  // Of the thread that a signal ended: functions, leaf first.
  // Missing.
  struct Lack {
    std::string name, why;
  };
  std::vector<Lack> missing;
  int64_t took_ms = 0;
  uint64_t collectors_run = 0, collectors_failed = 0;

  nlohmann::ordered_json ToJson() const;
  // One line for people: the trigger, its reason, and the process that has most of it.
  std::string Summary() const;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_REPORT_MANIFEST_H_
