// Modules that are loaded and unloaded, as the kernel tells udev: uevents of the subsystem "module"
// on a netlink socket (lib/kobject_uevent.c). They carry no time: a module is announced before its
// first function runs, and its removal before its memory is freed.
// Input:   datagrams; only the kernel's (sender 0) are believed, and those are checked.
// Threads: one.
#ifndef STACKRAY_KERNEL_MODULE_EVENTS_H_
#define STACKRAY_KERNEL_MODULE_EVENTS_H_

#include <functional>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "kernel/code_events.h"
#include "kernel/unique_fd.h"

namespace stackray {

// "add@/module/NAME" and NUL-separated KEY=VALUE texts; nullopt for an event about anything else.
std::optional<CodeEvent> ParseModuleEvent(std::string_view datagram);

class ModuleEvents {
 public:
  // Errors: FailedPrecondition (no such socket here).
  static absl::StatusOr<ModuleEvents> Open();

  // Takes all that waits, with `time_ns` as its time. False: some were lost.
  bool Drain(uint64_t time_ns, const std::function<void(CodeEvent)>& take);

 private:
  explicit ModuleEvents(UniqueFd socket) : socket_(std::move(socket)) {}
  UniqueFd socket_;
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_MODULE_EVENTS_H_
