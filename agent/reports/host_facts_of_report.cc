#include "agent/reports/host_facts_of_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "agent/reports/bounded_read.h"
#include "reporter/formats/text.h"

namespace stackray {
namespace {

constexpr size_t kMostProcesses = 65'536;
constexpr size_t kMostStatBytes = 4096, kMostNetBytes = 8 << 20;

// Fields of /proc/PID/stat behind the command, the state as number 0 (proc(5): field 3).
struct Stat {
  std::string command;
  std::vector<std::string> fields;

  uint64_t Number(size_t field) const {  // By proc(5)'s number.
    const size_t at = field - 3;
    return at < fields.size() ? std::strtoull(fields[at].c_str(), nullptr, 10) : 0;
  }
};

std::optional<Stat> ReadStat(const std::string& directory) {
  const absl::StatusOr<std::string> text = ReadBounded(directory + "/stat", kMostStatBytes);
  if (!text.ok()) return std::nullopt;
  const size_t begin = text->find('('), end = text->rfind(')');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return std::nullopt;
  Stat stat{.command = text->substr(begin + 1, end - begin - 1), .fields = {}};
  std::istringstream rest(text->substr(end + 1));
  for (std::string field; rest >> field;) stat.fields.push_back(field);
  return stat;
}

uint64_t TicksOf(const Stat& stat) { return stat.Number(14) + stat.Number(15); }
uint64_t ResidentOf(const Stat& stat) {
  return stat.Number(24) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Bytes from and to disks so far (proc(5): /proc/PID/io); 0: not to be read.
uint64_t IoOf(uint32_t pid) {
  const std::string text =
      ReadBounded(fmt::format("/proc/{}/io", pid), kMostStatBytes).value_or("");
  return NumberOf(text, "read_bytes").value_or(0) + NumberOf(text, "write_bytes").value_or(0);
}

// The directory of the process's cgroup, v2 or v1's memory controller; empty: not found.
std::string CgroupDirectory(uint32_t pid, bool* is_v2) {
  const std::string text = ReadBounded(fmt::format("/proc/{}/cgroup", pid), 64 << 10).value_or("");
  std::istringstream lines(text);
  std::string v1;
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    for (const char* root : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
      const std::string directory = root + path;
      if (!controllers.empty() || access((directory + "/cgroup.procs").c_str(), R_OK) != 0 ||
          access((directory + "/memory.current").c_str(), R_OK) != 0)
        continue;
      *is_v2 = true;
      return directory;
    }
    if (controllers == "memory") v1 = "/sys/fs/cgroup/memory" + path;
  }
  *is_v2 = false;
  return v1;
}

std::string_view KindOfLink(std::string_view target) {
  if (target.starts_with("socket:")) return "socket";
  if (target.starts_with("pipe:")) return "pipe";
  if (target.starts_with("anon_inode:")) return target.substr(0, 64);
  if (target.starts_with("/dev/")) return "device";
  if (target.starts_with("/memfd:")) return "memfd";
  if (target.ends_with(" (deleted)")) return "deleted file";
  return target.starts_with("/") ? "file" : "other";
}

// include/net/tcp_states.h, from 1 on.
constexpr const char* kTcpStates[] = {"established", "syn_sent",  "syn_recv", "fin_wait1",
                                      "fin_wait2",   "time_wait", "close",    "close_wait",
                                      "last_ack",    "listen",    "closing",  "new_syn_recv"};

// Counts the sockets of these inodes in a table of /proc/PID/net.
void CountSockets(const std::string& text, const std::string& protocol, size_t state_column,
                  size_t inode_column, const std::set<std::string>& inodes,
                  std::map<std::string, uint64_t>* counts) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);  // The heads.
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::vector<std::string> columns;
    for (std::string word; columns.size() <= inode_column && words >> word;)
      columns.push_back(word);
    if (columns.size() <= inode_column || !inodes.contains(columns[inode_column])) continue;
    const uint64_t state = std::strtoull(columns[state_column].c_str(), nullptr, 16);
    const bool is_tcp = protocol.starts_with("tcp");
    ++(*counts)[is_tcp && state >= 1 && state <= std::size(kTcpStates)
                    ? fmt::format("{} {}", protocol, kTcpStates[state - 1])
                    : protocol];
  }
}

}  // namespace

std::vector<FactFile> FactsOfHost() {
  std::vector<FactFile> facts;
  for (const char* name : {"cpu", "memory", "io"})
    facts.push_back(
        {fmt::format("host/pressure-{}", name), fmt::format("/proc/pressure/{}", name)});
  for (const char* name : {"meminfo", "vmstat", "schedstat", "loadavg", "stat", "diskstats",
                           "uptime", "version", "buddyinfo", "zoneinfo"})
    facts.push_back({fmt::format("host/{}", name), fmt::format("/proc/{}", name)});
  for (const char* name : {"dev", "snmp", "netstat", "sockstat", "softnet_stat"})
    facts.push_back({fmt::format("host/net-{}", name), fmt::format("/proc/net/{}", name)});
  return facts;
}

std::vector<FactFile> FactsOfProcess(uint32_t pid, bool with_command_line) {
  const std::string from = fmt::format("/proc/{}/", pid);
  std::vector<FactFile> facts;
  for (const char* name : {"status", "limits", "cgroup", "io", "oom_score", "stat", "schedstat"})
    facts.push_back({name, from + name});
  facts.push_back({"maps", from + "maps", 4 << 20, true});
  facts.push_back({"smaps_rollup", from + "smaps_rollup", 64 << 10, true});
  if (with_command_line) facts.push_back({"cmdline", from + "cmdline", 64 << 10});
  bool is_v2 = false;
  const std::string cgroup = CgroupDirectory(pid, &is_v2);
  if (cgroup.empty()) return facts;
  const std::vector<const char*> v2 = {
      "memory.current", "memory.max",  "memory.high",    "memory.events", "memory.stat",
      "memory.peak",    "cpu.stat",    "cpu.max",        "io.stat",       "pids.current",
      "cpu.pressure",   "io.pressure", "memory.pressure"};
  const std::vector<const char*> v1 = {
      "memory.usage_in_bytes", "memory.limit_in_bytes", "memory.max_usage_in_bytes",
      "memory.failcnt",        "memory.stat",           "memory.oom_control"};
  for (const char* name : is_v2 ? v2 : v1)
    facts.push_back({fmt::format("cgroup-{}", name), fmt::format("{}/{}", cgroup, name)});
  return facts;
}

double PressureOf(const char* what) {
  double percent = 0;
  const std::string text =
      ReadBounded(fmt::format("/proc/pressure/{}", what), kMostStatBytes).value_or("");
  return std::sscanf(text.c_str(), "some avg10=%lf", &percent) == 1 ? percent : 0;
}

double PressureNow() { return std::max(PressureOf("memory"), PressureOf("io")); }

std::vector<ReportedProcess> HeaviestProcesses(const HeaviestOptions& options, double seconds,
                                               const std::function<void()>& pause) {
  struct Used {
    uint64_t ticks = 0, io_bytes = 0;
  };
  const auto matters = [&](uint32_t pid) {
    return pid != options.own_pid && (!options.is_member || options.is_member(pid));
  };
  std::map<uint32_t, Used> before;
  for (const uint32_t pid : NumbersIn("/proc", kMostProcesses)) {
    if (!matters(pid)) continue;
    if (const std::optional<Stat> stat = ReadStat(fmt::format("/proc/{}", pid)))
      before[pid] = {.ticks = TicksOf(*stat), .io_bytes = IoOf(pid)};
  }
  pause();
  const double ticks_a_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  const auto since = [](uint64_t now, uint64_t then) {
    return now < then ? 0.0 : static_cast<double>(now - then);
  };
  std::vector<ReportedProcess> all;
  for (const uint32_t pid : NumbersIn("/proc", kMostProcesses)) {
    if (!matters(pid)) continue;
    const std::optional<Stat> stat = ReadStat(fmt::format("/proc/{}", pid));
    if (!stat) continue;
    ReportedProcess& process = all.emplace_back(
        ReportedProcess{.pid = pid, .command = stat->command, .resident_bytes = ResidentOf(*stat)});
    const auto used = before.find(pid);
    if (used == before.end()) continue;
    process.cpu_percent =
        100 * since(TicksOf(*stat), used->second.ticks) / ticks_a_second / seconds;
    process.io_bytes_per_second = since(IoOf(pid), used->second.io_bytes) / seconds;
  }
  std::vector<ReportedProcess> heaviest;
  const auto take = [&](auto order, size_t up_to, bool idle_too) {
    std::ranges::sort(all, std::greater<>(), order);
    for (const ReportedProcess& process : all) {
      if (heaviest.size() >= up_to || (!idle_too && std::invoke(order, process) == 0)) return;
      const bool is_kernel_thread = process.resident_bytes == 0;
      if (!is_kernel_thread &&
          std::ranges::find(heaviest, process.pid, &ReportedProcess::pid) == heaviest.end())
        heaviest.push_back(process);
    }
  };
  take(&ReportedProcess::resident_bytes, (options.most + 1) / 2, true);
  take(&ReportedProcess::io_bytes_per_second, heaviest.size() + options.most / 4, false);
  take(&ReportedProcess::cpu_percent, options.most, true);
  return heaviest;
}

ReportedProcess DescribeReported(uint32_t pid) {
  const std::optional<Stat> stat = ReadStat(fmt::format("/proc/{}", pid));
  if (!stat) return {};
  return {.pid = pid, .command = stat->command, .resident_bytes = ResidentOf(*stat)};
}

std::string ThreadTable(uint32_t pid, size_t most) {
  std::string table = "tid\tstate\tticks\twait_channel\tname\n";
  const std::string tasks = fmt::format("/proc/{}/task", pid);
  for (const uint32_t tid : NumbersIn(tasks, most)) {
    const std::string directory = fmt::format("{}/{}", tasks, tid);
    const std::optional<Stat> stat = ReadStat(directory);
    if (!stat || stat->fields.empty()) continue;
    const std::string channel = ReadBounded(directory + "/wchan", 256).value_or("");
    table += fmt::format("{}\t{}\t{}\t{}\t{}\n", tid, stat->fields[0], TicksOf(*stat), channel,
                         PrintableText(stat->command));
  }
  return table;
}

std::string OpenFilesJson(uint32_t pid, size_t most) {
  const std::string directory = fmt::format("/proc/{}/fd", pid);
  std::map<std::string, uint64_t> kinds, sockets;
  std::set<std::string> inodes;
  for (const uint32_t fd : NumbersIn(directory, most)) {
    char target[512];
    const ssize_t bytes =
        readlink(fmt::format("{}/{}", directory, fd).c_str(), target, sizeof(target));
    if (bytes <= 0) continue;
    const std::string_view text(target, static_cast<size_t>(bytes));
    const std::string_view kind = KindOfLink(text);
    ++kinds[PrintableText(kind)];
    if (kind == "socket" && text.size() > 9) inodes.emplace(text.substr(8, text.size() - 9));
  }
  const auto table = [&](const char* name) {
    return inodes.empty()
               ? std::string()
               : ReadBounded(fmt::format("/proc/{}/net/{}", pid, name), kMostNetBytes).value_or("");
  };
  for (const char* name : {"tcp", "tcp6", "udp", "udp6"})
    CountSockets(table(name), name, 3, 9, inodes, &sockets);
  CountSockets(table("unix"), "unix", 5, 6, inodes, &sockets);
  const nlohmann::ordered_json json = {{"open_files", kinds}, {"sockets", sockets}};
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace stackray
