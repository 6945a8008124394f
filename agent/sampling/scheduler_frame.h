// Where the kernel's scheduler begins in the stack of a thread that leaves its CPU.
#ifndef STACKRAY_AGENT_SAMPLING_SCHEDULER_FRAME_H_
#define STACKRAY_AGENT_SAMPLING_SCHEDULER_FRAME_H_

#include <cstdint>
#include <optional>
#include <span>

#include "kernel/kernel_symbols.h"

namespace stackray {

// Threads: one.
class SchedulerFrame {
 public:
  // The stack, leaf first, without the frames of the tracepoint that it was taken in: from the
  // scheduler outwards. All of it where the kernel's functions have no names.
  std::span<const uint64_t> From(std::span<const uint64_t> addresses,
                                 std::optional<KernelSymbols>& kernel);

 private:
  uint64_t return_address_ = 0;  // The last one found in the scheduler.
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_SCHEDULER_FRAME_H_
