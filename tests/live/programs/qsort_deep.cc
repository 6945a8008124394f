// A deep stack of many kinds of frames, through libc's qsort (which has no frame pointers). Runs
// until it is killed; with an argument, for that many rounds.
#include <alloca.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <stdexcept>

namespace deep {

volatile uint64_t g_sink = 1;

__attribute__((noinline)) uint64_t Burn(uint64_t x) {
  for (int i = 0; i < 400; ++i) x = x * 6364136223846793005ULL + (x >> 33);
  g_sink = x;
  return x;
}

// Each level's frame is of another kind than the next one's: small, variable (a frame register),
// large, and one with a landing pad.
template <int kLevel>
__attribute__((noinline)) uint64_t Descend(uint64_t x) {
  if constexpr (kLevel == 0) {
    return Burn(x) + 1;
  } else if constexpr (kLevel % 4 == 1) {
    auto* block = static_cast<volatile uint64_t*>(alloca(16 + (x & 127)));
    block[0] = x;
    return Descend<kLevel - 1>(x + kLevel) ^ block[0];
  } else if constexpr (kLevel % 4 == 2) {
    volatile uint64_t large[600];
    large[x % 600] = x;
    return Descend<kLevel - 1>(x + large[x % 600]) ^ large[x % 600];
  } else if constexpr (kLevel % 4 == 3) {
    try {
      if (x == 0) throw std::runtime_error("zero");
      return Descend<kLevel - 1>(x | 1) * 3;
    } catch (const std::runtime_error&) {
      return 7;
    }
  } else {
    const std::function<uint64_t(uint64_t)> call = [&](uint64_t y) {
      return Descend<kLevel - 1>(y | 1) + x;
    };
    return call(x) * 5;
  }
}

struct Item {
  uint64_t key;
};

__attribute__((noinline)) int Compare(const void* a, const void* b) {
  const auto* left = static_cast<const Item*>(a);
  const auto* right = static_cast<const Item*>(b);
  const uint64_t x = Descend<18>(left->key | 1), y = left->key ^ right->key;
  return (x == 0 ? 1 : 0) + (left->key < right->key ? -1 : 1) + (y == 1 ? 0 : 0);
}

class Sorter {
 public:
  virtual ~Sorter() = default;
  virtual uint64_t Sort(Item* items, size_t count) const;
};

__attribute__((noinline)) uint64_t Sorter::Sort(Item* items, size_t count) const {
  qsort(items, count, sizeof(Item), Compare);
  return items[0].key;
}

template <int kLevel>
__attribute__((noinline)) uint64_t Above(const Sorter& sorter, uint64_t seed) {
  if constexpr (kLevel > 0) {
    return Above<kLevel - 1>(sorter, seed * 3 + 1) + kLevel;
  } else {
    Item items[64];
    for (Item& item : items)
      item.key = seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return sorter.Sort(items, 64);
  }
}

}  // namespace deep

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? atol(argv[1]) : -1;
  uint64_t sum = 1;
  for (long i = 0; rounds < 0 || i < rounds; ++i) {
    const deep::Sorter sorter;
    sum += deep::Above<18>(sorter, sum | 1);
  }
  return sum == 42;
}
