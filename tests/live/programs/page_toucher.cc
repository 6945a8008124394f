// Touches fresh pages: page_toucher PAGES. Waits for a line on standard input, touches each page
// once in touch_pages(), says "end". Each touch is one page fault, because huge pages are refused.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>

namespace {

// At once, so that little memory is needed for many pages.
constexpr size_t kPages = 4096;

long Faults() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

}  // namespace

extern "C" __attribute__((noinline, noclone)) void touch_pages(volatile char* memory,
                                                               size_t pages) {
  const long size = sysconf(_SC_PAGESIZE);
  for (size_t i = 0; i < pages; ++i) memory[i * size] = 1;
  asm volatile("");
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const size_t size = kPages * sysconf(_SC_PAGESIZE);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || madvise(memory, size, MADV_NOHUGEPAGE) != 0) return 2;
  char line[16];
  if (fgets(line, sizeof(line), stdin) == nullptr) return 0;
  const long before = Faults();
  for (long left = atol(argv[1]); left > 0; left -= kPages) {
    touch_pages(static_cast<volatile char*>(memory), left < long{kPages} ? left : kPages);
    madvise(memory, size, MADV_DONTNEED);
  }
  printf("%ld\nend\n", Faults() - before);
  fflush(stdout);
  while (fgets(line, sizeof(line), stdin) != nullptr) continue;
}
