#include "agent/privileges/capability_set.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <sstream>

namespace stackray {
namespace {

// In the order of their numbers: linux/capability.h (6.18).
constexpr std::array<std::string_view, 41> kNames{"CHOWN",
                                                  "DAC_OVERRIDE",
                                                  "DAC_READ_SEARCH",
                                                  "FOWNER",
                                                  "FSETID",
                                                  "KILL",
                                                  "SETGID",
                                                  "SETUID",
                                                  "SETPCAP",
                                                  "LINUX_IMMUTABLE",
                                                  "NET_BIND_SERVICE",
                                                  "NET_BROADCAST",
                                                  "NET_ADMIN",
                                                  "NET_RAW",
                                                  "IPC_LOCK",
                                                  "IPC_OWNER",
                                                  "SYS_MODULE",
                                                  "SYS_RAWIO",
                                                  "SYS_CHROOT",
                                                  "SYS_PTRACE",
                                                  "SYS_PACCT",
                                                  "SYS_ADMIN",
                                                  "SYS_BOOT",
                                                  "SYS_NICE",
                                                  "SYS_RESOURCE",
                                                  "SYS_TIME",
                                                  "SYS_TTY_CONFIG",
                                                  "MKNOD",
                                                  "LEASE",
                                                  "AUDIT_WRITE",
                                                  "AUDIT_CONTROL",
                                                  "SETFCAP",
                                                  "MAC_OVERRIDE",
                                                  "MAC_ADMIN",
                                                  "SYSLOG",
                                                  "WAKE_ALARM",
                                                  "BLOCK_SUSPEND",
                                                  "AUDIT_READ",
                                                  "PERFMON",
                                                  "BPF",
                                                  "CHECKPOINT_RESTORE"};

// The value of the line "KEY:\tVALUE", or "".
std::string_view ValueOf(std::string_view status, std::string_view key) {
  for (size_t at = 0; at < status.size();) {
    const size_t end = std::min(status.find('\n', at), status.size());
    const std::string_view line = status.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ':') continue;
    const size_t value = line.find_first_not_of(" \t", key.size() + 1);
    return value == line.npos ? std::string_view() : line.substr(value);
  }
  return "";
}

template <typename T>
std::optional<T> Number(std::string_view text, int base) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

// False: there is no such line, and nothing is stored.
bool TakeSet(std::string_view status, std::string_view key, CapabilitySet* set) {
  const std::optional<uint64_t> bits = Number<uint64_t>(ValueOf(status, key), 16);
  if (bits) *set = CapabilitySet(*bits);
  return bits.has_value();
}

}  // namespace

std::string NamesOf(CapabilitySet set) {
  std::string text;
  for (unsigned i = 0; i < 64; ++i) {
    if ((set.bits() >> i & 1) == 0) continue;
    if (!text.empty()) text += ' ';
    text += "CAP_";
    text += i < kNames.size() ? std::string(kNames[i]) : std::to_string(i);
  }
  return text.empty() ? "none" : text;
}

std::optional<TaskPrivileges> ParseTaskPrivileges(std::string_view status) {
  TaskPrivileges task;
  if (!TakeSet(status, "CapEff", &task.effective)) return std::nullopt;
  TakeSet(status, "CapPrm", &task.permitted);
  TakeSet(status, "CapInh", &task.inheritable);
  TakeSet(status, "CapBnd", &task.bounding);
  TakeSet(status, "CapAmb", &task.ambient);
  task.no_new_privs = ValueOf(status, "NoNewPrivs") == "1";
  task.seccomp_mode = Number<int>(ValueOf(status, "Seccomp"), 10).value_or(0);
  return task;
}

std::optional<TaskPrivileges> OwnPrivileges() {
  std::ifstream file("/proc/thread-self/status");
  std::stringstream text;
  text << file.rdbuf();
  return ParseTaskPrivileges(text.view());
}

std::string_view SeccompModeName(int mode) {
  return mode == 0 ? "off" : mode == 1 ? "strict mode" : "filter";
}

}  // namespace stackray
