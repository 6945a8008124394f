// A load of stacks about 40 frames deep that all go through the C library's qsort, which has no
// frame pointers; nor has this program.
//   qsort40 SECONDS
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kLevels = 30;
constexpr size_t kNumbers = 1024;
constexpr int kCompareRounds = 60;

int Compare(const void* a, const void* b) {
  unsigned x = *static_cast<const unsigned*>(a), y = *static_cast<const unsigned*>(b);
  for (int i = 0; i < kCompareRounds; ++i) {
    x = x * 1664525u + 1013904223u;
    y = y * 1664525u + 1013904223u;
  }
  return x < y ? -1 : x > y ? 1 : 0;
}

[[gnu::noinline]] unsigned SortAll(std::vector<unsigned>& numbers, unsigned seed) {
  for (unsigned& number : numbers) number = seed = seed * 1103515245u + 12345u;
  qsort(numbers.data(), numbers.size(), sizeof(unsigned), Compare);
  return numbers.front() ^ seed;
}

// The addition behind the call keeps every level on the stack.
[[gnu::noinline]] unsigned Descend(int level, std::vector<unsigned>& numbers, unsigned seed) {
  if (level == 0) return SortAll(numbers, seed);
  volatile unsigned kept = seed + static_cast<unsigned>(level);
  return Descend(level - 1, numbers, kept) + kept;
}

}  // namespace

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end =
      Clock::now() + std::chrono::seconds(argc > 1 ? std::atoi(argv[1]) : 5);
  std::vector<unsigned> numbers(kNumbers);
  unsigned sum = 1;
  while (Clock::now() < end) sum = Descend(kLevels, numbers, sum);
  std::printf("%u\n", sum);
  return 0;
}
