// Moves text out of its file, as programs do that want their code in huge pages, and burns CPU in
// it:
//   moved_text program|memfd     its own text, into anonymous memory or a file in memory
//   moved_text library FILE      the text of FILE, a library with PluginWork()
//   moved_text made              its own text, and then puts code made at run time over an unused
//   part of it
// Exit code 77: it could not be moved.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

volatile uint64_t g_sink = 1;
volatile uint64_t g_one = 1;

extern "C" {
__attribute__((noinline)) int MovedCompare(const void* a, const void* b) {
  for (int i = 0; i < 200; ++i) g_sink = g_sink + static_cast<uint64_t>(i);
  const unsigned x = *static_cast<const unsigned*>(a), y = *static_cast<const unsigned*>(b);
  return (x > y) - (x < y);
}
__attribute__((noinline)) void MovedRequest() {
  static unsigned values[2000];
  for (unsigned& value : values) value = static_cast<unsigned>(rand());
  qsort(values, 2000, sizeof(values[0]), MovedCompare);
  g_sink = g_sink + 1;
}
}

// Three pages of the text that nothing runs: one of them lies wholly inside.
asm(".text\n.balign 4096\nUnusedText:\n.fill 4096, 1, 0x90\n.globl UnusedText\n.previous\n");
extern "C" const char UnusedText[];

// The executable mapping around an address.
struct Mapping {
  uint64_t start = 0, end = 0;
};
static Mapping MappingAt(uint64_t address) {
  FILE* maps = std::fopen("/proc/self/maps", "r");
  Mapping mapping;
  char line[512];
  while (maps != nullptr && std::fgets(line, sizeof(line), maps) != nullptr)
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64, &mapping.start, &mapping.end) == 2 &&
        mapping.start <= address && address < mapping.end)
      return mapping;
  return {};
}

static void Move(uint64_t address, int memory) {
  const Mapping text = MappingAt(address);
  const size_t bytes = text.end - text.start;
  const int kind = memory < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  if (bytes == 0 || (memory >= 0 && ftruncate(memory, static_cast<off_t>(bytes)) != 0))
    std::exit(77);
  void* copy = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind, memory, 0);
  if (copy == MAP_FAILED) std::exit(77);
  std::memcpy(copy, reinterpret_cast<void*>(text.start), bytes);
  if (mprotect(copy, bytes, PROT_READ | PROT_EXEC) != 0 ||
      mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
             reinterpret_cast<void*>(text.start)) == MAP_FAILED)
    std::exit(77);
}

#if !defined(__x86_64__)
static void PutMadeCode(uint64_t) { std::exit(77); }
#else
// push %rbp; mov %rsp,%rbp; mov $0x1000000,%ecx; 1: dec %ecx; jne 1b; pop %rbp; ret
static const uint8_t kMadeCode[] = {0x55, 0x48, 0x89, 0xe5, 0xb9, 0x00, 0x00, 0x00,
                                    0x01, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};

static void PutMadeCode(uint64_t page) {
  void* at = mmap(reinterpret_cast<void*>(page), 4096, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (at == MAP_FAILED) std::exit(77);
  std::memcpy(at, kMadeCode, sizeof(kMadeCode));
  if (mprotect(at, 4096, PROT_READ | PROT_EXEC) != 0) std::exit(77);
}
#endif

extern "C" __attribute__((noinline)) void CallMadeCode(uint64_t page) {
  reinterpret_cast<void (*)()>(page)();
  g_sink = g_sink + 1;
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  const auto own = reinterpret_cast<uint64_t>(&MovedRequest);
  const auto unused = reinterpret_cast<uint64_t>(UnusedText);
  void (*work)() = MovedRequest;
  if (std::strcmp(mode, "library") == 0 && argc == 3) {
    void* library = dlopen(argv[2], RTLD_NOW);
    work = library ? reinterpret_cast<void (*)()>(dlsym(library, "PluginWork")) : nullptr;
    if (work == nullptr) return 2;
    Move(reinterpret_cast<uint64_t>(work), -1);
  } else {
    Move(own, std::strcmp(mode, "memfd") == 0 ? memfd_create("text", MFD_CLOEXEC) : -1);
  }
  if (std::strcmp(mode, "made") == 0) {
    PutMadeCode(unused);
    while (g_one != 0) CallMadeCode(unused);
  }
  while (g_one != 0) work();
}
