// Waiting for a number in memory that processes share.
#ifndef STACKRAY_KERNEL_FOREIGN_SHARED_FUTEX_H_
#define STACKRAY_KERNEL_FOREIGN_SHARED_FUTEX_H_

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace stackray {

// Until somebody wakes, or the number is no longer `value`, or `timeout_ns` have passed (0: as long
// as it takes). May return early.
inline void WaitWhile(const std::atomic<uint32_t>& number, uint32_t value, uint64_t timeout_ns) {
  constexpr uint64_t kNsPerSecond = 1'000'000'000;
  const timespec timeout = {.tv_sec = static_cast<time_t>(timeout_ns / kNsPerSecond),
                            .tv_nsec = static_cast<long>(timeout_ns % kNsPerSecond)};
  syscall(SYS_futex, &number, FUTEX_WAIT, value, timeout_ns == 0 ? nullptr : &timeout, nullptr, 0);
}

inline void Wake(const std::atomic<uint32_t>& number) {
  syscall(SYS_futex, &number, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

}  // namespace stackray

#endif  // STACKRAY_KERNEL_FOREIGN_SHARED_FUTEX_H_
