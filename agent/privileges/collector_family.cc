#include "agent/privileges/collector_family.h"

#include <dirent.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>

namespace stackray {
namespace {

constexpr int kMostRounds = 100;
constexpr unsigned kRoundUs = 10'000;

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

std::vector<pid_t> AllPids() {
  std::vector<pid_t> pids;
  const std::unique_ptr<DIR, CloseDirectory> directory(opendir("/proc"));
  if (directory == nullptr) return pids;
  while (const dirent* const entry = readdir(directory.get())) {
    const std::string_view name(entry->d_name);
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && end == name.data() + name.size()) pids.push_back(pid);
  }
  return pids;
}

// Fields 4 and 24 of /proc/PID/stat; the name, field 2, may hold anything.
struct StatFields {
  pid_t parent = 0;
  int64_t resident_pages = 0;
};
std::optional<StatFields> ReadStat(pid_t pid) {
  const std::string text = TextOf(fmt::format("/proc/{}/stat", pid));
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  StatFields fields;
  long long resident = 0;
  if (std::sscanf(text.c_str() + name_end + 1,
                  " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
                  "%*u %*u %lld",
                  &fields.parent, &resident) != 2)
    return std::nullopt;
  fields.resident_pages = resident;
  return fields;
}

}  // namespace

CollectorFamily::CollectorFamily() : own_(getpid()) { prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<CollectorFamily::Process> CollectorFamily::Members() const {
  std::vector<Process> others, members;
  for (const pid_t pid : AllPids()) {
    const std::optional<StatFields> stat = ReadStat(pid);
    if (!stat || pid == own_) continue;
    others.push_back(
        {pid, stat->parent, static_cast<uint64_t>(std::max<int64_t>(stat->resident_pages, 0))});
  }
  std::vector<pid_t> parents = {own_};
  const auto is_member = [&](const Process& process) {
    return std::ranges::find(parents, process.parent) != parents.end();
  };
  for (size_t before = others.size() + 1; before != others.size();) {
    before = others.size();
    const auto rest = std::ranges::stable_partition(
        others, [&](const Process& process) { return !is_member(process); });
    for (const Process& process : rest) parents.push_back(process.pid);
    members.insert(members.end(), rest.begin(), rest.end());
    others.erase(rest.begin(), rest.end());
  }
  return members;
}

uint64_t CollectorFamily::ResidentBytes() const {
  uint64_t pages = 0;
  for (const Process& process : Members()) pages += process.resident_pages;
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void CollectorFamily::KillAll() const {
  for (int round = 0; round < kMostRounds; ++round) {
    const std::vector<Process> members = Members();
    for (const Process& process : members) kill(process.pid, SIGKILL);
    while (waitpid(-1, nullptr, WNOHANG) > 0) continue;
    if (members.empty()) return;
    usleep(kRoundUs);
  }
}

}  // namespace stackray
