#include "kernel/wall_clock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>

#include "kernel/unique_fd.h"

namespace stackray {
namespace {

int64_t Read(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// The kernel's file is about the namespace of our children; ours is another one after an unshare()
// that no exec has followed. That is then the one that we were started in, whose offset nobody
// says.
int64_t ReadShift() {
  struct stat own, of_children;
  if (stat("/proc/self/ns/time", &own) != 0 ||
      stat("/proc/self/ns/time_for_children", &of_children) != 0 ||
      own.st_ino != of_children.st_ino)
    return 0;
  const UniqueFd fd(open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return 0;
  char text[256];
  const ssize_t size = read(fd.get(), text, sizeof(text));
  return size > 0 ? BootTimeShiftIn({text, static_cast<size_t>(size)}) : 0;
}

}  // namespace

// Lines of a clock's name, seconds and nanoseconds.
int64_t BootTimeShiftIn(std::string_view offsets) {
  constexpr std::string_view kClock = "boottime";
  constexpr int64_t kMostSeconds = INT64_MAX / 2'000'000'000;
  size_t at = offsets.find(kClock);
  if (at == offsets.npos) return 0;
  at += kClock.size();
  int64_t numbers[2] = {};
  for (int64_t& number : numbers) {
    at = std::min(offsets.find_first_not_of(' ', at), offsets.size());
    const auto [end, error] =
        std::from_chars(offsets.data() + at, offsets.data() + offsets.size(), number);
    if (error != std::errc()) return 0;
    at = static_cast<size_t>(end - offsets.data());
  }
  if (numbers[0] > kMostSeconds || numbers[0] < -kMostSeconds || numbers[1] < 0 ||
      numbers[1] >= 1'000'000'000)
    return 0;
  return numbers[0] * 1'000'000'000 + numbers[1];
}

int64_t BootTimeShiftNs() {
  static const int64_t shift = ReadShift();
  return shift;
}

int64_t WallOffsetNs() {
  int64_t best_gap = INT64_MAX, offset = 0;
  for (int i = 0; i < 3; ++i) {
    const int64_t before = Read(CLOCK_BOOTTIME), wall = Read(CLOCK_REALTIME),
                  after = Read(CLOCK_BOOTTIME);
    if (after - before >= best_gap) continue;
    best_gap = after - before;
    offset = wall - (before + best_gap / 2);
  }
  return offset + BootTimeShiftNs();
}

uint64_t BootTimeNs() { return static_cast<uint64_t>(Read(CLOCK_BOOTTIME) - BootTimeShiftNs()); }

}  // namespace stackray
