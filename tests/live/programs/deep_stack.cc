// 600 KB of stack in 12 frames, all of it written, and then code that runs. With an argument: in a thread.
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

}  // namespace

int main(int argc, char**) {
  if (argc == 1) return Descend(kFrames - 1);
  std::thread([] { Descend(kFrames - 1); }).join();
}
