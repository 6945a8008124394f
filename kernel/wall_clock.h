// From the kernel's boot-time clock to wall time.
#ifndef STACKRAY_KERNEL_WALL_CLOCK_H_
#define STACKRAY_KERNEL_WALL_CLOCK_H_

#include <cstdint>

namespace stackray {

// CLOCK_REALTIME − CLOCK_BOOTTIME in nanoseconds, now. Measured between two boot-time readings, the
// closest pair of three.
int64_t WallOffsetNs();

uint64_t BootTimeNs();

}  // namespace stackray

#endif  // STACKRAY_KERNEL_WALL_CLOCK_H_
