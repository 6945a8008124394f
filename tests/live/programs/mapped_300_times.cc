// Maps its own code 300 times, below everything else, and works then. Each mapping is one of its
// own, because there is a gap behind it.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

namespace {

constexpr int kMappings = 300;
constexpr uintptr_t kFirst = 0x100000000, kDistance = 0x100000;

bool MapItself() {
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  for (int i = 0; i < kMappings; ++i) {
    void* const at = reinterpret_cast<void*>(kFirst + i * kDistance);
    if (mmap(at, static_cast<size_t>(getpagesize()), PROT_READ | PROT_EXEC,
             MAP_PRIVATE | MAP_FIXED_NOREPLACE, file, 0) == MAP_FAILED) {
      perror("mmap");
      return false;
    }
  }
  close(file);
  return true;
}

}  // namespace

volatile uint64_t turns;

extern "C" __attribute__((noinline)) void Work() {
  for (;;) turns = turns + 1;
}

int main() {
  if (!MapItself()) return 1;
  Work();
}
