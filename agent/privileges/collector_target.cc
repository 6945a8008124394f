#include "agent/privileges/collector_target.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "agent/privileges/target_entry.h"

namespace stackray {
namespace {

// The mount namespace comes last: behind it no name means what it meant.
constexpr std::array<const char*, ENTRY_MOST_NAMESPACES> kNamespaces = {
    "ns/cgroup", "ns/ipc", "ns/uts", "ns/net", "ns/time", "ns/pid", "ns/mnt"};
constexpr size_t kMostTextBytes = 64 << 10;

// Of /proc/PID by one descriptor: once its process is gone, all of it answers ESRCH.
class ProcessDirectory {
 public:
  explicit ProcessDirectory(uint32_t pid)
      : fd_(open(fmt::format("/proc/{}", pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

  UniqueFd Open(const char* name, int flags) const {
    return UniqueFd(openat(fd_.get(), name, flags | O_CLOEXEC));
  }
  bool SharesNamespace(const char* name) const {
    struct stat own, theirs;
    return stat(fmt::format("/proc/self/{}", name).c_str(), &own) == 0 &&
           fstatat(fd_.get(), name, &theirs, 0) == 0 && own.st_dev == theirs.st_dev &&
           own.st_ino == theirs.st_ino;
  }
  std::string Text(const char* name) const {
    const UniqueFd file = Open(name, O_RDONLY);
    std::string text;
    char part[4096];
    for (ssize_t got;
         text.size() < kMostTextBytes && (got = read(file.get(), part, sizeof(part))) > 0;)
      text.append(part, static_cast<size_t>(got));
    return text;
  }
  bool IsAlive() const { return Open("status", O_RDONLY).valid(); }

 private:
  const UniqueFd fd_;
};

bool IsSameUser(const ProcessUser& a, const std::optional<ProcessUser>& b) {
  return b && a.uid == b->uid && a.gid == b->gid && a.groups == b->groups &&
         a.inner_pid == b->inner_pid;
}

// False: errno says why.
bool OpenWorld(const ProcessDirectory& process, CollectorTarget& target) {
  target.root = process.Open("root", O_PATH | O_DIRECTORY);
  if (!target.root.valid()) return false;
  for (const char* const name : kNamespaces) {
    if (access(fmt::format("/proc/self/{}", name).c_str(), F_OK) != 0)
      continue;  // A kernel's lack.
    target.namespaces.push_back(process.Open(name, O_RDONLY));
    if (!target.namespaces.back().valid()) return false;
  }
  target.is_elsewhere = !process.SharesNamespace("ns/mnt");
  target.cgroups = process.Text("cgroup");
  return true;
}

}  // namespace

std::optional<CollectorTarget> OpenCollectorTarget(const CollectorEntry& collector, uint32_t pid,
                                                   CollectorReply& reply) {
  reply = {.end = CollectorEnd::kNotStarted, .code = ESRCH};
  const ProcessDirectory process(pid);
  std::optional<ProcessUser> user = ReadProcessUser(pid, ENTRY_MOST_GROUPS);
  if (!user) return std::nullopt;
  CollectorTarget target;
  errno = 0;
  if (!OpenWorld(process, target)) {
    reply.code = errno;
    return std::nullopt;
  }
  if (!collector.command.empty() && process.Text("comm") != collector.command + "\n") {
    reply.end = CollectorEnd::kOtherCommand;
    return std::nullopt;
  }
  if (!process.SharesNamespace("ns/user")) {
    reply.end = CollectorEnd::kUserNamespace;
    return std::nullopt;
  }
  if (!IsSameUser(*user, ReadProcessUser(pid, ENTRY_MOST_GROUPS)) || !process.IsAlive())
    return std::nullopt;
  target.user = *std::move(user);
  return target;
}

}  // namespace stackray
