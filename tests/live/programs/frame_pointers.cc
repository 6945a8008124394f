// Functions with frame records, the leaf's too: its block is larger than the ABI's red zone.
#include <cstdint>

volatile uint64_t g_sink = 1;

extern "C" __attribute__((noinline)) uint64_t FrameLeaf(uint64_t x) {
  volatile uint64_t block[64];
  for (int i = 0; i < 100000; ++i) {
    block[i % 64] = x;
    x = x * 6364136223846793005ULL + (block[(i * 7) % 64] >> 33);
  }
  return x;
}

extern "C" __attribute__((noinline)) void FrameOuter() { g_sink = FrameLeaf(g_sink) + 1; }

int main() {
  for (;;) FrameOuter();
}
