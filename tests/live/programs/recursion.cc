// A stack of ARGUMENT functions below main, each calling itself; then it burns CPU as long as it
// lives.
#include <cstdint>
#include <cstdlib>

volatile uint64_t g_sink = 1;

extern "C" __attribute__((noinline)) uint64_t RecursionLeaf(uint64_t x) {
  for (int i = 0; i < 100000; ++i) x = x * 6364136223846793005ULL + (x >> 33);
  return x;
}

extern "C" __attribute__((noinline)) uint64_t RecursionLevel(int levels) {
  if (levels > 1) return RecursionLevel(levels - 1) + g_sink;
  for (;;) g_sink = RecursionLeaf(g_sink);
}

int main(int argc, char** argv) {
  return static_cast<int>(RecursionLevel(argc > 1 ? std::atoi(argv[1]) : 1));
}
