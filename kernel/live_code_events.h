// What the running kernel reports about its code: perf's KSYMBOL records and modules' uevents.
#ifndef STACKRAY_KERNEL_LIVE_CODE_EVENTS_H_
#define STACKRAY_KERNEL_LIVE_CODE_EVENTS_H_

#include <memory>
#include <string>
#include <vector>

#include "kernel/code_events.h"

namespace stackray {

struct LiveCodeEvents {
  std::unique_ptr<CodeEvents> events;  // nullptr where KSYMBOL records cannot be had.
  std::vector<std::string> warnings;   // What cannot be followed, and why.
};

// Never fails: what is missing is said.
LiveCodeEvents OpenLiveCodeEvents();

// Start and size of every function of the loaded BPF programs, from the kernel's own list of them
// (bpf(2), BPF_OBJ_GET_INFO_BY_FD). Empty without CAP_SYS_ADMIN.
std::map<uint64_t, uint32_t> ReadProgramSizes();

}  // namespace stackray

#endif  // STACKRAY_KERNEL_LIVE_CODE_EVENTS_H_
