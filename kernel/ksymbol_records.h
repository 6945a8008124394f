// The records of a perf ring that carries PERF_RECORD_KSYMBOL and nothing else that matters here
// (include/uapi/linux/perf_event.h, 5.1): type 17, u64 address, u32 length, u16 kind, u16 flags
// (bit 0: unregistered), a name padded with NULs to 8 bytes, and behind it what sample_type asks
// for, which must be PERF_SAMPLE_TIME alone.
// Input:   memory that the kernel writes; every length is checked all the same.
// Threads: plain functions.
#ifndef STACKRAY_KERNEL_KSYMBOL_RECORDS_H_
#define STACKRAY_KERNEL_KSYMBOL_RECORDS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "kernel/code_events.h"

namespace stackray {

// One KSYMBOL record, header included; nullopt where it contradicts itself or has no name.
std::optional<CodeEvent> ParseKsymbol(std::span<const uint8_t> record);

struct PerfRingEnd {
  uint64_t tail = 0;   // Where reading goes on.
  bool intact = true;  // No record was lost or could not be understood.
};

// Takes the records between `tail` and `head`, which count bytes from the ring's first on and wrap
// around in `data` (its size is a power of two). What contradicts itself ends the reading at
// `head`.
PerfRingEnd ReadPerfRing(std::span<const uint8_t> data, uint64_t tail, uint64_t head,
                         const std::function<void(CodeEvent)>& take);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_KSYMBOL_RECORDS_H_
