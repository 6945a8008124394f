// Two programs of equal size that differ in the name of the function they stay in: -DWORK=….
#include <cstdint>

volatile uint64_t g_version_sink = 1;

extern "C" __attribute__((noinline)) uint64_t WORK(uint64_t x) {
  for (int i = 0; i < 100000; ++i) x = x * 6364136223846793005ULL + (x >> 33);
  return x;
}

int main() {
  for (;;) g_version_sink = WORK(g_version_sink) + 1;
}
