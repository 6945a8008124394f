#include "kernel/foreign/left_alone.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "kernel/process_info.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr uint64_t kFirstPauseNs = 60 * kNsPerSecond, kLongestPauseNs = 16 * kFirstPauseNs;
constexpr uint64_t kMemoryNs = 600 * kNsPerSecond;
constexpr uint64_t kSlowWindowNs = 60 * kNsPerSecond, kMostSlowNs = 4 * kNsPerSecond;
constexpr size_t kMostEntries = 4096;
constexpr int kMostNesting = 33;  // Of user namespaces: the kernel's own limit is 32.
constexpr uint64_t kContainer = uint64_t{1} << 63;

uint64_t InodeOf(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 ? info.st_ino : 0;
}

uint64_t InodeOfNamespace(const std::string& process, const char* which) {
  struct stat info;
  return stat(fmt::format("/proc/{}/ns/{}", process, which).c_str(), &info) == 0 ? info.st_ino : 0;
}

std::optional<uint32_t> UidOf(uint32_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("Uid:")) return static_cast<uint32_t>(std::stoul(line.substr(4)));
  return std::nullopt;
}

// The user who made the outermost of the user namespaces that lie between the process and us.
std::optional<uint32_t> MakerOfNamespace(uint32_t pid, uint64_t own) {
  UniqueFd at(open(fmt::format("/proc/{}/ns/user", pid).c_str(), O_RDONLY | O_CLOEXEC));
  for (int i = 0; at.valid() && i < kMostNesting; ++i) {
    UniqueFd parent(ioctl(at.get(), NS_GET_PARENT));
    if (parent.valid() && InodeOf(parent.get()) != own) {
      at = std::move(parent);
      continue;
    }
    uid_t uid = 0;
    if (ioctl(at.get(), NS_GET_OWNER_UID, &uid) != 0) return std::nullopt;
    return uid;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ProcessOwner> FindProcessOwner(uint32_t pid) {
  const std::string process = std::to_string(pid);
  const std::optional<uint32_t> uid = UidOf(pid);
  if (!uid) return std::nullopt;
  const uint64_t own = InodeOfNamespace("self", "user");
  if (InodeOfNamespace(process, "user") != own) {
    const std::optional<uint32_t> maker = MakerOfNamespace(pid, own);
    if (maker && *maker != 0) return ProcessOwner{.id = *maker};
    return ProcessOwner{.id = kContainer | *uid};  // Root made it, for that range of users.
  }
  if (*uid != 0) return ProcessOwner{.id = *uid};
  const uint64_t pids = InodeOfNamespace(process, "pid");
  if (pids == InodeOfNamespace("self", "pid")) return ProcessOwner{.id = 0, .is_host_root = true};
  return ProcessOwner{.id = kContainer | pids << 32};
}

void LeftAlone::Lengthen(Pause* pause, uint64_t now_ns) {
  pause->length_ns = std::clamp(2 * pause->length_ns, kFirstPauseNs, kLongestPauseNs);
  pause->until_ns = now_ns + pause->length_ns;
}

// What is over for long plays no part any more.
void LeftAlone::Forget(uint64_t now_ns) {
  const auto is_old = [now_ns](const auto& entry) {
    return entry.second.until_ns + kMemoryNs < now_ns;
  };
  std::erase_if(processes_, is_old);
  std::erase_if(owners_, [&](const auto& entry) {
    return is_old(entry) && entry.second.last_hang_ns + kMemoryNs < now_ns &&
           entry.second.slow_since_ns + kSlowWindowNs < now_ns;
  });
  if (processes_.size() > kMostEntries) processes_.clear();
  if (owners_.size() > kMostEntries) owners_.clear();
  is_empty_ = processes_.empty() && owners_.empty();
}

bool LeftAlone::IsPaused(uint32_t pid, uint64_t now_ns) {
  if (const auto it = processes_.find(pid);
      it != processes_.end() && now_ns < it->second.until_ns) {
    const std::optional<ProcStat> stat = pid == 0 ? std::nullopt : ReadProcStat(pid);
    if (pid == 0 || (stat && stat->start_ticks == it->second.start_ticks)) return true;
    processes_.erase(it);
  }
  const bool any = std::ranges::any_of(
      owners_, [now_ns](const auto& owner) { return now_ns < owner.second.until_ns; });
  if (!any || pid == 0) return false;
  if (now_ns - known_since_ns_ > kNsPerSecond || known_owners_.size() > kMostEntries) {
    known_owners_.clear();
    known_since_ns_ = now_ns;
    Forget(now_ns);
  }
  auto known = known_owners_.find(pid);
  if (known == known_owners_.end()) {
    const std::optional<ProcessOwner> owner = FindProcessOwner(pid);
    if (!owner) return false;
    known = known_owners_.emplace(pid, owner->id).first;
  }
  const auto owner = owners_.find(known->second);
  return owner != owners_.end() && now_ns < owner->second.until_ns;
}

bool LeftAlone::Has(uint32_t pid, uint64_t now_ns) {
  if (is_empty_.load(std::memory_order_relaxed)) return false;
  absl::MutexLock lock(&mutex_);
  return IsPaused(pid, now_ns);
}

bool LeftAlone::Refuses(uint32_t pid, uint64_t now_ns) {
  if (is_empty_.load(std::memory_order_relaxed)) return false;
  absl::MutexLock lock(&mutex_);
  const bool paused = IsPaused(pid, now_ns);
  refusals_ += paused ? 1 : 0;
  return paused;
}

void LeftAlone::AddSlow(uint32_t pid, uint64_t waited_ns, uint64_t now_ns) {
  const std::optional<ProcessOwner> found = pid == 0 ? std::nullopt : FindProcessOwner(pid);
  if (!found || found->is_host_root) return;
  absl::MutexLock lock(&mutex_);
  Forget(now_ns);
  is_empty_ = false;
  Owner& owner = owners_[found->id];
  if (now_ns - owner.slow_since_ns > kSlowWindowNs) {
    owner.slow_since_ns = now_ns;
    owner.slow_ns = 0;
  }
  owner.slow_ns += waited_ns;
  if (owner.slow_ns <= kMostSlowNs) return;
  owner.slow_ns = 0;
  Lengthen(&owner, now_ns);
}

void LeftAlone::Add(uint32_t pid, uint64_t now_ns) {
  absl::MutexLock lock(&mutex_);
  ++hangs_;
  Forget(now_ns);
  is_empty_ = false;
  Process& process = processes_[pid];
  if (const std::optional<ProcStat> stat = pid == 0 ? std::nullopt : ReadProcStat(pid); stat)
    process.start_ticks = stat->start_ticks;
  Lengthen(&process, now_ns);
  last_pid_ = pid;
  last_pause_s_ = static_cast<uint32_t>(process.length_ns / kNsPerSecond);
  const std::optional<ProcessOwner> found = pid == 0 ? std::nullopt : FindProcessOwner(pid);
  if (!found || found->is_host_root) return;
  Owner& owner = owners_[found->id];
  const bool again =
      owner.last_hang_ns != 0 && owner.last_hang_ns + kMemoryNs > now_ns && owner.last_pid != pid;
  owner.last_hang_ns = now_ns;
  owner.last_pid = pid;
  if (again) Lengthen(&owner, now_ns);
}

LeftAlone::Counts LeftAlone::counts(uint64_t now_ns) {
  absl::MutexLock lock(&mutex_);
  const auto paused = [now_ns](const auto& entry) { return now_ns < entry.second.until_ns; };
  return {.hangs = hangs_,
          .refusals = refusals_,
          .processes = static_cast<size_t>(std::ranges::count_if(processes_, paused)),
          .owners = static_cast<size_t>(std::ranges::count_if(owners_, paused)),
          .last_pid = last_pid_,
          .last_pause_s = last_pause_s_};
}

}  // namespace stackray
