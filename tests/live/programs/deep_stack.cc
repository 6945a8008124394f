// 600 KB of stack in 12 frames, all of it written, and then code that runs. With an argument: in a
// thread. With two: in one whose stack has other memory right above it, in one mapping, as the
// kernel joins a stack and an arena of malloc().
#include <pthread.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <thread>

namespace {

constexpr int kFrames = 12;
volatile uint64_t g_sum;

[[gnu::noinline]] void Work() {
  for (;;) g_sum = g_sum + 1;
}

[[gnu::noinline]] int Descend(int left) {
  volatile uint64_t words[50'000 / 8];
  for (volatile uint64_t& word : words) word = 0x5a5a;
  if (left == 0) {
    Work();
  } else {
    Descend(left - 1);
  }
  return static_cast<int>(words[0]);
}

void* RunThread(void*) {
  Descend(kFrames - 1);
  return nullptr;
}

int RunBelowOtherMemory() {
  constexpr size_t kStackBytes = 2 << 20, kOtherBytes = 64 << 20;
  void* const memory = mmap(nullptr, kStackBytes + kOtherBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, memory, kStackBytes);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, RunThread, nullptr) != 0) return 1;
  return pthread_join(thread, nullptr);
}

}  // namespace

int main(int argc, char**) {
  if (argc == 1) return Descend(kFrames - 1);
  if (argc == 3) return RunBelowOtherMemory();
  std::thread([] { Descend(kFrames - 1); }).join();
}
