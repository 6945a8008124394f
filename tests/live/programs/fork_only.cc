// Stops itself; continued, it forks without exec. The parent waits, the child works.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>

volatile uint64_t g_sink = 1;

extern "C" __attribute__((noinline)) uint64_t ChildLeaf(uint64_t x) {
  for (int i = 0; i < 100000; ++i) x = x * 6364136223846793005ULL + (x >> 33);
  return x;
}

extern "C" __attribute__((noinline)) void ChildWork() {
  for (;;) g_sink = ChildLeaf(g_sink) + 1;
}

int main() {
  raise(SIGSTOP);  // The sampler is to see the fork.
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ChildWork();
  }
  wait(nullptr);
}
