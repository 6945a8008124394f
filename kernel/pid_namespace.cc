#include "kernel/pid_namespace.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <climits>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace stackray {
namespace {

constexpr ino_t kHostNamespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO of linux/proc_ns.h.

// The numbers in a line of /proc/PID/status. NSpid has a process's number in /proc's namespace
// first, and in its own last.
std::vector<uint32_t> StatusNumbers(uint32_t pid, std::string_view name) {
  std::vector<uint32_t> numbers;
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; numbers.empty() && std::getline(status, line);) {
    if (!line.starts_with(name)) continue;
    std::istringstream words(line.substr(name.size()));
    for (uint32_t number = 0; words >> number;) numbers.push_back(number);
  }
  return numbers;
}

// Until `visit` returns false.
template <typename Visit>
void ForEachProcess(Visit visit) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    uint32_t pid = 0;
    std::from_chars(name.data(), name.data() + name.size(), pid);
    if (pid != 0 && !visit(pid)) return;
  }
}

// The inode number of a process's pid namespace; 0: it may not be asked for.
ino_t NamespaceOf(const std::string& process) {
  struct stat info;
  return stat(fmt::format("/proc/{}/ns/pid", process).c_str(), &info) == 0 ? info.st_ino : 0;
}

}  // namespace

// Process 1 of a /proc is in the namespace that it shows; so is each process with one number alone.
// About some of them we may not ask.
uint32_t PidNamespaceOfProc() {
  ino_t inode = NamespaceOf("1");
  if (inode == 0 && OwnPidInProc() == static_cast<uint32_t>(getpid())) inode = NamespaceOf("self");
  if (inode == 0)
    ForEachProcess([&inode](uint32_t pid) {
      if (StatusNumbers(pid, "NSpid:").size() == 1) inode = NamespaceOf(std::to_string(pid));
      return inode == 0;
    });
  return inode == kHostNamespace ? 0 : static_cast<uint32_t>(inode);
}

uint32_t OwnPidInProc() {
  char target[32];
  const ssize_t bytes = readlink("/proc/self", target, sizeof(target));
  uint32_t number = 0;
  if (bytes > 0) std::from_chars(target, target + bytes, number);
  return number != 0 ? number : static_cast<uint32_t>(getpid());
}

uint32_t ChildPidInProc(uint32_t pid) {
  const uint32_t own = OwnPidInProc();
  if (own == static_cast<uint32_t>(getpid())) return pid;
  uint32_t found = pid;
  ForEachProcess([&](uint32_t other) {
    const std::vector<uint32_t> parent = StatusNumbers(other, "PPid:");
    if (parent.empty() || parent[0] != own) return true;
    const std::vector<uint32_t> numbers = StatusNumbers(other, "NSpid:");
    if (numbers.empty() || numbers.back() != pid) return true;
    found = other;
    return false;
  });
  return found;
}

uint32_t InnerThreadId(uint32_t tid) {
  const std::vector<uint32_t> numbers = StatusNumbers(tid, "NSpid:");
  return numbers.empty() ? tid : numbers.back();
}

// A signal is refused by the numbers of our own namespace; /proc may hide what is there (hidepid).
bool IsProcess(uint32_t pid) {
  if (pid == 0 || pid > INT_MAX) return false;
  if (access(fmt::format("/proc/{}", pid).c_str(), F_OK) == 0) return true;
  return OwnPidInProc() == static_cast<uint32_t>(getpid()) &&
         (kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM);
}

}  // namespace stackray
