// From the kernel's boot-time clock to wall time.
//
// The clock is the host's, which the kernel's records have. In a time namespace (since Linux 5.6)
// CLOCK_BOOTTIME is another one, by an offset that is read once and taken off.
#ifndef STACKRAY_KERNEL_WALL_CLOCK_H_
#define STACKRAY_KERNEL_WALL_CLOCK_H_

#include <cstdint>
#include <string_view>

namespace stackray {

// CLOCK_REALTIME − CLOCK_BOOTTIME in nanoseconds, now. Measured between two boot-time readings, the
// closest pair of three.
int64_t WallOffsetNs();

uint64_t BootTimeNs();

// How far CLOCK_BOOTTIME, and what /proc says of processes' starts, is ahead of the host's.
int64_t BootTimeShiftNs();
// As /proc/PID/timens_offsets says it; 0: it says nothing.
int64_t BootTimeShiftIn(std::string_view offsets);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_WALL_CLOCK_H_
