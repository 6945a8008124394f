#include "kernel/process_tree.h"

#include <dirent.h>

#include <charconv>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>

#include "kernel/process_info.h"

namespace stackray {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

// 0: the entry of /proc is no process.
uint32_t PidOf(const char* name) {
  uint32_t pid = 0;
  const char* const end = name + std::strlen(name);
  const auto [at, error] = std::from_chars(name, end, pid);
  return error == std::errc() && at == end ? pid : 0;
}

}  // namespace

std::vector<ListedProcess> ListLivingProcesses() {
  std::vector<ListedProcess> processes;
  const std::unique_ptr<DIR, CloseDirectory> proc(opendir("/proc"));
  if (proc == nullptr) return processes;
  while (const dirent* entry = readdir(proc.get())) {
    const uint32_t pid = PidOf(entry->d_name);
    if (pid == 0) continue;
    const std::optional<ProcStat> stat = ReadProcStat(pid);
    if (stat && !stat->ended) processes.push_back({pid, stat->parent, stat->start_ticks});
  }
  return processes;
}

std::vector<ListedProcess> SelectTree(std::span<const ListedProcess> processes,
                                      std::span<const uint32_t> roots) {
  std::unordered_multimap<uint32_t, const ListedProcess*> children;
  std::unordered_map<uint32_t, const ListedProcess*> unseen;
  for (const ListedProcess& process : processes) {
    children.emplace(process.parent, &process);
    unseen.emplace(process.pid, &process);
  }
  std::vector<ListedProcess> tree;
  const auto take = [&](uint32_t pid) {
    const auto found = unseen.find(pid);
    if (found == unseen.end()) return;
    tree.push_back(*found->second);
    unseen.erase(found);
  };
  for (const uint32_t root : roots) take(root);
  for (size_t next = 0; next < tree.size(); ++next) {
    const auto [begin, end] = children.equal_range(tree[next].pid);
    for (auto child = begin; child != end; ++child) take(child->second->pid);
  }
  return tree;
}

bool StillLives(const ListedProcess& process) {
  const std::optional<ProcStat> stat = ReadProcStat(process.pid);
  return stat && !stat->ended && stat->start_ticks == process.start_ticks;
}

}  // namespace stackray
