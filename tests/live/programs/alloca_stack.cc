// Takes 5 MB of its stack at once, as Ruby's start does, and works below them. Its caller is above
// them all.
#include <alloca.h>

#include <cstddef>
#include <cstdint>

namespace {

constexpr size_t kBytes = 5 << 20, kPageBytes = 4096;
volatile size_t g_bytes = kBytes;

[[gnu::noinline]] int TakeMuch() {
  const size_t bytes = g_bytes;
  auto* const taken = static_cast<volatile uint8_t*>(alloca(bytes));
  // The page that the stack pointer is in, too: the kernel's stack has it only once it is touched.
  for (;;)
    for (size_t at = bytes; at != 0; at -= kPageBytes)
      taken[at - kPageBytes] = taken[at - kPageBytes] + 1;
}

[[gnu::noinline]] int Begin(int depth) { return (depth == 0 ? TakeMuch() : Begin(depth - 1)) + 1; }

}  // namespace

int main() { return Begin(3); }
