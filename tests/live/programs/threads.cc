// Threads that never return, of C++ and of pthreads; main waits for ever.
#include <pthread.h>
#include <unistd.h>

#include <cstdint>
#include <thread>

volatile uint64_t g_sinks[2];

extern "C" __attribute__((noinline)) uint64_t ThreadLeaf(uint64_t x) {
  for (int i = 0; i < 100000; ++i) x = x * 6364136223846793005ULL + (x >> 33);
  return x;
}

extern "C" __attribute__((noinline)) void ThreadForever(int index) {
  for (;;) g_sinks[index] = ThreadLeaf(g_sinks[index]) + 1;
}

extern "C" void* PosixThread(void*) {
  ThreadForever(0);
  return nullptr;
}

int main() {
  pthread_t posix;
  pthread_create(&posix, nullptr, PosixThread, nullptr);
  std::thread([] { ThreadForever(1); }).detach();
  for (;;) pause();
}
