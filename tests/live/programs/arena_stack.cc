// Works on a small stack in the midst of a large mapping, whose bounds it keeps where Go's programs
// keep a goroutine's: behind a pointer in the word below the thread pointer.
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>

namespace {

constexpr uintptr_t kArenaBytes = 64 << 20, kStackBytes = 32 << 10;

struct Bounds {
  uintptr_t low, high;
};
Bounds g_bounds;
ucontext_t g_main, g_other;
volatile uint64_t g_sum;

// The only thread variable of the program, which is what puts it there.
thread_local Bounds* volatile t_current;

[[gnu::noinline]] void Work() {
  for (;;) g_sum = g_sum + 1;
}

}  // namespace

int main() {
  void* const arena =
      mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (arena == MAP_FAILED) return 1;
  const uintptr_t low = reinterpret_cast<uintptr_t>(arena) + kArenaBytes / 2;
  for (uintptr_t at = low; at < low + 8 * kStackBytes; at += 8)
    *reinterpret_cast<uintptr_t*>(at) = at;  // Others' stacks, as full as its own.
  g_bounds = {low, low + kStackBytes};
  t_current = &g_bounds;
  getcontext(&g_other);
  g_other.uc_stack.ss_sp = reinterpret_cast<void*>(low);
  g_other.uc_stack.ss_size = kStackBytes;
  g_other.uc_link = &g_main;
  makecontext(&g_other, Work, 0);
  swapcontext(&g_main, &g_other);
}
