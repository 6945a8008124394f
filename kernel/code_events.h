// What the kernel reports about code that comes and goes while it runs, and where that is read
// from.
#ifndef STACKRAY_KERNEL_CODE_EVENTS_H_
#define STACKRAY_KERNEL_CODE_EVENTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>

namespace stackray {

struct CodeEvent {
  enum class Kind : uint8_t {
    kBegin,          // Code of no file (BPF, trampolines) was registered.
    kEnd,            // Such code was unregistered: nothing new will enter it.
    kModuleAdded,    // `name` alone is set, and the time is when it was read.
    kModuleRemoved,  // As kModuleAdded.
  };
  Kind kind = Kind::kBegin;
  uint64_t time_ns = 0;  // CLOCK_BOOTTIME.
  uint64_t start = 0, size_bytes = 0;
  std::string name;  // At most kMaxCodeNameBytes.
};

inline constexpr size_t kMaxCodeNameBytes = 512;  // KSYM_NAME_LEN (include/linux/kallsyms.h, 6.1).

// Threads: one. The live one is kernel/live_code_events.h; tests bring their own.
class CodeEvents {
 public:
  virtual ~CodeEvents() = default;
  // CLOCK_BOOTTIME.
  virtual uint64_t NowNs() = 0;
  // Takes all that waits, in the order of time. False when some were lost since the last call.
  // Cheap when nothing waits.
  virtual bool Drain(const std::function<void(const CodeEvent&)>& take) = 0;
  // Opens what CPUs need that came online meanwhile, and closes that of those that went.
  virtual void FollowCpus(std::span<const int> online) = 0;
  // Sizes of BPF functions that are loaded now, by their start: kallsyms does not tell them.
  virtual std::map<uint64_t, uint32_t> ProgramSizes() = 0;
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_CODE_EVENTS_H_
