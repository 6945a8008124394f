// Burns CPU inside a signal handler that interrupted a leaf function at an arbitrary instruction.
#include <sys/time.h>

#include <csignal>
#include <cstdint>

volatile uint64_t g_sink = 1;

extern "C" __attribute__((noinline)) void HandlerWork() {
  uint64_t x = g_sink;
  for (int i = 0; i < 3000000; ++i) x = x * 6364136223846793005ULL + (x >> 33);
  g_sink = x;
}

extern "C" void OnAlarm(int) {
  HandlerWork();
  g_sink = g_sink + 1;
}

extern "C" __attribute__((noinline)) uint64_t InterruptedLeaf(uint64_t x) {
  for (int i = 0; i < 1000000; ++i) x = x * 6364136223846793005ULL + (x >> 33);
  return x;
}

int main() {
  signal(SIGVTALRM, OnAlarm);
  const itimerval every = {{0, 8000}, {0, 8000}};
  setitimer(ITIMER_VIRTUAL, &every, nullptr);
  for (;;) g_sink = InterruptedLeaf(g_sink) + 1;
}
