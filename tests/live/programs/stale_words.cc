// Works in code in memory of no file, without tables and frame pointers, whose room for locals
// holds what earlier calls have left: the return address of a call through a pointer that is over,
// and above it words that are no code.
#include <sys/mman.h>

#include <cstdint>
#include <cstring>

namespace {

using Made = int64_t (*)(uint64_t stale, const void* data, int64_t rounds);

// push rbx; sub rsp, 0x80; mov [rsp+8], rdi; mov [rsp+16..120], rsi; mov rbx, rdx; dec rbx; jnz;
// add rsp, 0x80; pop rbx; ret
constexpr size_t kLocalBytes = 0x80;
constexpr uint8_t kBegin[] = {0x53, 0x48, 0x81, 0xec, kLocalBytes, 0, 0,
                              0,    0x48, 0x89, 0x7c, 0x24,        8};
constexpr uint8_t kEnd[] = {0x48, 0x89, 0xd3,        0x48, 0xff, 0xcb, 0x75, 0xfb, 0x48,
                            0x81, 0xc4, kLocalBytes, 0,    0,    0,    0x5b, 0xc3};

volatile int64_t g_sum;
int64_t g_data;

__attribute__((noinline)) uint64_t ReturnAddress() {
  return reinterpret_cast<uint64_t>(__builtin_return_address(0));
}

// The call is over when the JIT code runs.
extern "C" __attribute__((noinline)) uint64_t CallThatIsOver(uint64_t (*volatile function)()) {
  const uint64_t address = function();
  g_sum += static_cast<int64_t>(address & 1);
  return address;
}

extern "C" __attribute__((noinline)) void CallsMadeCode(Made made, uint64_t stale) {
  g_sum += made(stale, &g_data, 1'000'000);
}

Made Make() {
  void* page =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  auto* at = static_cast<uint8_t*>(page);
  memcpy(at, kBegin, sizeof(kBegin));
  at += sizeof(kBegin);
  for (uint8_t offset = 16; offset < kLocalBytes; offset += 8) {
    const uint8_t store[] = {0x48, 0x89, 0x74, 0x24, offset};
    memcpy(at, store, sizeof(store));
    at += sizeof(store);
  }
  memcpy(at, kEnd, sizeof(kEnd));
  return reinterpret_cast<Made>(page);
}

}  // namespace

int main() {
  const Made made = Make();
  if (made == nullptr) return 1;
  for (;;) CallsMadeCode(made, CallThatIsOver(ReturnAddress));
}
