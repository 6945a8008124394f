// Capabilities by number and by name, and what /proc says of a task's privileges.
// Threads: plain values.
#ifndef STACKRAY_AGENT_PRIVILEGES_CAPABILITY_SET_H_
#define STACKRAY_AGENT_PRIVILEGES_CAPABILITY_SET_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace stackray {

// Numbers from linux/capability.h (6.18); typed here because a build host's header may be older.
enum class Capability : unsigned {
  kChown = 0,
  kDacOverride = 1,
  kDacReadSearch = 2,
  kFowner = 3,
  kKill = 5,
  kSetgid = 6,
  kSetuid = 7,
  kSysChroot = 18,
  kSysPtrace = 19,
  kSysAdmin = 21,
  kSysNice = 23,
  kSyslog = 34,
  kPerfmon = 38,
  kBpf = 39,
  kCheckpointRestore = 40,
};

class CapabilitySet {
 public:
  constexpr CapabilitySet() = default;
  constexpr explicit CapabilitySet(uint64_t bits) : bits_(bits) {}
  constexpr CapabilitySet(std::initializer_list<Capability> capabilities) {
    for (const Capability capability : capabilities) bits_ |= Bit(capability);
  }

  constexpr uint64_t bits() const { return bits_; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool Has(Capability capability) const { return (bits_ & Bit(capability)) != 0; }
  constexpr CapabilitySet With(Capability capability) const {
    return CapabilitySet(bits_ | Bit(capability));
  }
  constexpr CapabilitySet Or(CapabilitySet other) const {
    return CapabilitySet(bits_ | other.bits_);
  }
  constexpr CapabilitySet And(CapabilitySet other) const {
    return CapabilitySet(bits_ & other.bits_);
  }
  friend constexpr bool operator==(CapabilitySet, CapabilitySet) = default;

 private:
  static constexpr uint64_t Bit(Capability capability) {
    return uint64_t{1} << static_cast<unsigned>(capability);
  }
  uint64_t bits_ = 0;
};

// "CAP_BPF CAP_PERFMON", ascending by number; "none"; a number without a name is "CAP_63".
std::string NamesOf(CapabilitySet set);

struct TaskPrivileges {
  CapabilitySet effective, permitted, inheritable, bounding, ambient;
  bool no_new_privs = false;
  int seccomp_mode = 0;  // 0: no filter, 2: a filter.

  friend bool operator==(const TaskPrivileges&, const TaskPrivileges&) = default;
};

// From the text of /proc/PID/status or /proc/PID/task/TID/status. nullopt: it does not show
// the effective capabilities.
std::optional<TaskPrivileges> ParseTaskPrivileges(std::string_view status);

// Of the calling thread. nullopt: no /proc.
std::optional<TaskPrivileges> OwnPrivileges();

// "off", "strict mode", "filter".
std::string_view SeccompModeName(int mode);

}  // namespace stackray

#endif  // STACKRAY_AGENT_PRIVILEGES_CAPABILITY_SET_H_
