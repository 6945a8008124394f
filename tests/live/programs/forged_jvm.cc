// Pretends to be a JVM: loads a library with a JVM's tables (argv[1]), says that its code heap is
// memory of no file, runs code there, and meanwhile writes nonsense into all that a reader of a JVM
// follows: the segment map, blobs, methods and names.
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>

namespace {

constexpr size_t kHeapBytes = 1 << 20, kMapBytes = kHeapBytes >> 7;

// struct code_heap of the library.
struct CodeHeap {
  void* memory[3];
  void* map[3];
  int shift;
};

uint64_t NextRandom(uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  return *state ^= *state << 17;
}

// mov $n, %ecx; loop: dec %ecx; jne loop; ret
constexpr unsigned char kSpin[] = {0xb9, 0x00, 0x00, 0x10, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
constexpr size_t kCodeStep = 8192;  // Between two copies of it.

void WriteNonsense(uint8_t* heap, uint8_t* map, void* const* known, size_t known_count) {
  uint64_t state = 88172645463325252ULL;
  while (true) {
    const uint64_t random = NextRandom(&state);
    map[random % kMapBytes] = static_cast<uint8_t>(random >> 32 & (random >> 40 & 1 ? 0 : 255));
    // Not over the code itself.
    const size_t at = (random >> 8) % (kHeapBytes / 8) * 8;
    if (at % kCodeStep < 64) continue;
    const uint64_t word = NextRandom(&state);
    const uint64_t choice = word % 4;
    uint64_t value = word >> 20;
    if (choice == 0) value = reinterpret_cast<uint64_t>(heap) + value % kHeapBytes;
    if (choice == 1) value = reinterpret_cast<uint64_t>(known[value % known_count]);
    if (choice == 2) value %= 256;
    std::memcpy(heap + at, &value, sizeof(value));
  }
}

}  // namespace

int main(int argc, char** argv) {
  void* const library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : nullptr;
  if (library == nullptr) return 1;
  auto* const said = static_cast<CodeHeap*>(dlsym(library, "the_heap"));
  void* const memory = mmap(nullptr, kHeapBytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (said == nullptr || memory == MAP_FAILED) return 1;
  auto* const heap = static_cast<uint8_t*>(memory);
  static uint8_t map[kMapBytes];
  for (size_t at = 0; at < kHeapBytes; at += kCodeStep)
    std::memcpy(heap + at, kSpin, sizeof(kSpin));
  said->memory[0] = said->memory[2] = heap;
  said->memory[1] = heap + kHeapBytes;
  said->map[0] = said->map[2] = map;
  said->map[1] = map + kMapBytes;
  void* const known[] = {dlsym(library, "outer_method"),
                         dlsym(library, "inner_method"),
                         dlsym(library, "outer_const"),
                         dlsym(library, "class_symbol"),
                         heap,
                         map};
  std::thread(WriteNonsense, heap, map, known, sizeof(known) / sizeof(known[0])).detach();
  for (size_t at = 0;; at = (at + kCodeStep) % kHeapBytes)
    reinterpret_cast<void (*)()>(heap + at)();
}
