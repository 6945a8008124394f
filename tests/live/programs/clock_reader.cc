// Spends its time in the vDSO.
#include <ctime>

volatile long g_sink;

extern "C" __attribute__((noinline)) void ReadClock() {
  timespec now;
  for (int i = 0; i < 1000; ++i) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    g_sink = now.tv_nsec;
  }
}

int main() {
  for (;;) ReadClock();
}
