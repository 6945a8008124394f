// One function that burns CPU below main, as long as it lives. Also built static and static-PIE.
#include <cstdint>
#include <cstdlib>

volatile uint64_t g_sink = 1;

extern "C" __attribute__((noinline)) uint64_t SpinLeaf(uint64_t x) {
  for (int i = 0; i < 100000; ++i) x = x * 6364136223846793005ULL + (x >> 33);
  return x;
}

extern "C" __attribute__((noinline)) void SpinOuter() { g_sink = SpinLeaf(g_sink) + 1; }

int main() {
  for (;;) SpinOuter();
}
