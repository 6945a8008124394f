#include "kernel/process_info.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <vector>

#include "kernel/text.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

constexpr size_t kContainerIdDigits = 64;
constexpr uint64_t kTickToleranceNs = 20'000'000;  // /proc counts start times in 10 ms ticks.

std::string ReadSmallFile(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char bytes[4096];
  const ssize_t n = fd.valid() ? read(fd.get(), bytes, sizeof(bytes)) : -1;
  return n > 0 ? std::string(bytes, static_cast<size_t>(n)) : std::string();
}

// Field 22 of /proc/PID/stat, in clock ticks since boot; 0: unknown. The command may hold anything,
// so fields are counted behind its last ')'.
uint64_t StartTimeNs(std::string_view stat) {
  const size_t close = stat.rfind(')');
  if (close == std::string_view::npos) return 0;
  const std::vector<std::string_view> fields = Split(stat.substr(close + 1), ' ');
  uint64_t ticks = 0;  // fields[0] is empty: a space follows the ')'.
  if (fields.size() < 21) return 0;
  std::from_chars(fields[20].data(), fields[20].data() + fields[20].size(), ticks);
  return ticks * (1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK)));
}

bool IsSameProcess(const ProcessId& id) {
  const uint64_t start = StartTimeNs(ReadSmallFile(fmt::format("/proc/{}/stat", id.pid)));
  if (start == 0) return false;
  const uint64_t difference =
      start > id.start_time_ns ? start - id.start_time_ns : id.start_time_ns - start;
  return difference <= kTickToleranceNs;
}

std::string ExecutablePath(uint32_t pid) {
  char target[PATH_MAX];
  const ssize_t n = readlink(fmt::format("/proc/{}/exe", pid).c_str(), target, sizeof(target));
  if (n <= 0) return "";
  std::string_view path(target, static_cast<size_t>(n));
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  return std::string(path);
}

}  // namespace

std::string CgroupPath(std::string_view proc_cgroup) {
  std::string_view unified, longest;
  for (std::string_view line : Split(proc_cgroup, '\n')) {
    const std::vector<std::string_view> parts = Split(line, ':', 3);
    if (parts.size() != 3) continue;
    if (parts[0] == "0" && parts[1].empty()) unified = parts[2];
    if (parts[2].size() > longest.size()) longest = parts[2];
  }
  return std::string(unified.size() > 1 ? unified : longest);
}

std::string ContainerId(std::string_view cgroup_path) {
  // The innermost run of exactly 64 hex digits: "docker-<id>.scope", "/docker/<id>",
  // "cri-containerd-<id>.scope", "crio-<id>", "libpod-<id>.scope".
  std::string id;
  size_t run = 0;
  for (size_t i = 0; i <= cgroup_path.size(); ++i) {
    if (i < cgroup_path.size() && std::isxdigit(static_cast<unsigned char>(cgroup_path[i])) != 0) {
      ++run;
      continue;
    }
    if (run == kContainerIdDigits) id = std::string(cgroup_path.substr(i - run, run));
    run = 0;
  }
  return id;
}

ProcessInfo ReadProcessInfo(const ProcessId& id, std::string_view command, int64_t wall_offset_ns) {
  ProcessInfo info;
  info.pid = id.pid;
  info.command = std::string(command);
  info.creation_time_unix_ns = static_cast<int64_t>(id.start_time_ns) + wall_offset_ns;
  if (!IsSameProcess(id)) return info;
  info.executable_path = ExecutablePath(id.pid);
  info.cgroup_path = CgroupPath(ReadSmallFile(fmt::format("/proc/{}/cgroup", id.pid)));
  info.container_id = ContainerId(info.cgroup_path);
  return info;
}

}  // namespace stackray
