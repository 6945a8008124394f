// Where the facts of a report lie: files of /proc and /sys, of the host and of a process. Nothing
// of it is a process's environment, command line or memory.
// Threads: any.
#ifndef STACKRAY_AGENT_REPORTS_HOST_FACTS_OF_REPORT_H_
#define STACKRAY_AGENT_REPORTS_HOST_FACTS_OF_REPORT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agent/reports/report_manifest.h"

namespace stackray {

struct FactFile {
  std::string name;  // In the report.
  std::string path;
  size_t most_bytes = 1 << 20;
  bool is_costly = false;  // The kernel takes long for it, or holds the process's locks.
};

std::vector<FactFile> FactsOfHost();
std::vector<FactFile> FactsOfProcess(uint32_t pid, bool with_command_line);

// "some avg10" of "cpu", "memory" or "io" pressure, in percent; 0: the kernel does not say.
double PressureOf(const char* what);
// Of memory and I/O, the higher one.
double PressureNow();

// The processes that use most, each once: half of them by resident memory, a quarter by disk I/O
// over `pause`, the others by CPU time over it. `pause` is called between two looks.
struct HeaviestOptions {
  size_t most = 10;
  uint32_t own_pid = 0;                              // Left out.
  std::function<bool(uint32_t pid)> is_member = {};  // Empty: any process.
};
std::vector<ReportedProcess> HeaviestProcesses(const HeaviestOptions& options, double seconds,
                                               const std::function<void()>& pause);
// Of one. Its pid is 0 where it is gone.
ReportedProcess DescribeReported(uint32_t pid);

// Threads with state and wait channel, a line each, at most `most`.
std::string ThreadTable(uint32_t pid, size_t most);
// Open files counted by kind, sockets by protocol and state. JSON.
std::string OpenFilesJson(uint32_t pid, size_t most);

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_HOST_FACTS_OF_REPORT_H_
