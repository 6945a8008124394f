// Records that a program of the kernel's task iterator writes, one behind the other.
//
// Input:   bytes that BPF wrote; a size that cannot be is refused, the rest is DecodeRecord()'s.
// Memory:  64 KiB while reading.
// Threads: any; one reading a link at a time.
#ifndef STACKRAY_KERNEL_TASK_RECORDS_H_
#define STACKRAY_KERNEL_TASK_RECORDS_H_

#include <cstdint>
#include <functional>
#include <span>

#include "absl/status/status.h"

namespace stackray {

// Aligned to 8; valid during the call.
using TakeRecord = std::function<void(std::span<const uint8_t>)>;

// Runs the iterator of `link` once over all tasks and hands over each of its records. Errors:
// Internal: the list broke off; what was taken is true, and the rest is unknown.
absl::Status ReadTaskRecords(int link, const TakeRecord& take);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_TASK_RECORDS_H_
