// Threads that begin and end, eight at a time.
#include <thread>
#include <vector>

int main() {
  for (;;) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back([] {});
    for (std::thread& thread : threads) thread.join();
  }
}
