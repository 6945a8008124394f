#include "kernel/wall_clock.h"

#include <ctime>

namespace stackray {
namespace {

int64_t Read(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

int64_t WallOffsetNs() {
  int64_t best_gap = INT64_MAX, offset = 0;
  for (int i = 0; i < 3; ++i) {
    const int64_t before = Read(CLOCK_BOOTTIME), wall = Read(CLOCK_REALTIME),
                  after = Read(CLOCK_BOOTTIME);
    if (after - before >= best_gap) continue;
    best_gap = after - before;
    offset = wall - (before + best_gap / 2);
  }
  return offset;
}

uint64_t BootTimeNs() { return static_cast<uint64_t>(Read(CLOCK_BOOTTIME)); }

}  // namespace stackray
