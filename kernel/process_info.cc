#include "kernel/process_info.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <climits>
#include <cstring>
#include <fstream>
#include <vector>

#include "kernel/foreign/foreign_reads.h"
#include "kernel/text.h"
#include "kernel/unique_fd.h"
#include "kernel/wall_clock.h"

namespace stackray {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kTickToleranceNs = 20'000'000;  // /proc counts start times in 10 ms ticks.

std::string ReadSmallFile(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char bytes[4096];
  const ssize_t n = fd.valid() ? read(fd.get(), bytes, sizeof(bytes)) : -1;
  return n > 0 ? std::string(bytes, static_cast<size_t>(n)) : std::string();
}

// A field of /proc/PID/stat by proc(5)'s numbers, from 3 on; nullopt: not there. The command may
// hold anything, so fields are counted behind its last ')'.
std::optional<uint64_t> StatField(std::string_view stat, size_t number) {
  const size_t close = stat.rfind(')');
  if (close == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> fields = Split(stat.substr(close + 1), ' ');
  const size_t i = number - 2;  // fields[0] is empty: a space follows the ')'.
  if (i >= fields.size()) return std::nullopt;
  uint64_t value = 0;
  const char* const end = fields[i].data() + fields[i].size();
  if (std::from_chars(fields[i].data(), end, value).ec != std::errc()) return std::nullopt;
  return value;
}

std::string ReadStat(uint32_t pid) { return ReadSmallFile(fmt::format("/proc/{}/stat", pid)); }

// When it began, in nanoseconds since boot but no finer than /proc's ticks; 0: unknown.
uint64_t StartTimeNs(std::string_view stat) {
  const uint64_t ticks = StatField(stat, 22).value_or(0);
  if (ticks == 0) return 0;
  const uint64_t in_namespace_ns =
      ticks * (1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK)));
  return in_namespace_ns - static_cast<uint64_t>(BootTimeShiftNs());
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

std::optional<ProcStat> ParseProcStat(std::string_view stat) {
  const size_t close = stat.rfind(')');
  if (close == std::string_view::npos || close + 2 >= stat.size()) return std::nullopt;
  const char state = stat[close + 2];
  const std::optional<uint64_t> parent = StatField(stat, 4), threads = StatField(stat, 20),
                                start = StatField(stat, 22);
  if (!parent || *parent > UINT32_MAX || !threads || !start) return std::nullopt;
  // The state is the leader's, which may have ended before the other threads.
  return ProcStat{.parent = static_cast<uint32_t>(*parent),
                  .start_ticks = *start,
                  .ended = state == 'X' || (state == 'Z' && *threads <= 1)};
}

std::optional<ProcStat> ReadProcStat(uint32_t pid) { return ParseProcStat(ReadStat(pid)); }

std::string ReadCommandName(uint32_t tid) {
  std::ifstream file(fmt::format("/proc/{}/comm", tid));
  std::string name;
  std::getline(file, name);
  return name;
}

bool IsSameProcess(const ProcessId& id) {
  const uint64_t start = StartTimeNs(ReadStat(id.pid));
  if (start == 0) return false;
  const uint64_t difference =
      start > id.start_time_ns ? start - id.start_time_ns : id.start_time_ns - start;
  return difference <= kTickToleranceNs;
}

bool HasExecutable(uint32_t pid) { return !ExecutablePath(pid).empty(); }

bool HasEmptyEnvironment(uint32_t pid) {
  const std::string stat = ReadStat(pid);
  const std::optional<uint64_t> start = StatField(stat, 50), end = StatField(stat, 51);
  return StatField(stat, 27).value_or(0) != 0 && start && end && *end != 0 && *start == *end;
}

std::string NameAsCalled(const ProcessId& id) {
  constexpr size_t kMostAuxvBytes = 4096;
  const std::string vector = ReadForeignText(id.pid, "auxv", kMostAuxvBytes);
  for (size_t at = 0; at + 2 * sizeof(uint64_t) <= vector.size(); at += 2 * sizeof(uint64_t)) {
    uint64_t entry[2];
    std::memcpy(entry, vector.data() + at, sizeof(entry));
    if (entry[0] != AT_EXECFN) continue;
    std::array<uint8_t, PATH_MAX> bytes;
    // In two pieces, as nothing may lie behind the page that the name ends in.
    const uint64_t in_page = kPageBytes - entry[1] % kPageBytes;
    const iovec pieces[] = {{reinterpret_cast<void*>(entry[1]), in_page},
                            {reinterpret_cast<void*>(entry[1] + in_page), PATH_MAX - in_page}};
    const ssize_t n = ReadForeignMemory(id.pid, pieces, bytes);
    if (n <= 0) return {};
    std::string_view path(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(n));
    const size_t end = path.find('\0');
    if (end == std::string_view::npos || !IsSameProcess(id)) return {};
    path = path.substr(0, end);
    path.remove_prefix(path.rfind('/') + 1);
    return std::string(path.size() <= NAME_MAX ? path : std::string_view());
  }
  return {};
}

std::string ReadCommandLine(const ProcessId& id) {
  constexpr size_t kMostBytes = 256 << 10;
  std::string text = ReadForeignText(id.pid, "cmdline", kMostBytes);
  return IsSameProcess(id) ? text : std::string();
}

std::optional<ProcProcess> ReadProcProcess(const ProcessId& id) {
  ProcProcess process{.executable_path = ExecutablePath(id.pid),
                      .cgroup_text = ReadSmallFile(fmt::format("/proc/{}/cgroup", id.pid))};
  // Asked last: what was the same process at the end was it before.
  if (!IsSameProcess(id)) return std::nullopt;
  return process;
}

}  // namespace stackray
