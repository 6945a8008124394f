// Pretends to hold V8 13.6: its signs, builtins, and code in memory of no file whose frames have a
// context and a JSFunction. Meanwhile it writes nonsense into all that a reader of V8's heap
// follows: objects of every type that lead to themselves and to each other, endless and huge.
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <thread>

extern "C" {
int v8dbg_HeapObjectTag = 1;
int v8dbg_TaggedSize = 8;
// rdi: the function, rsi: the context, rdx: what is called, rcx: the BytecodeArray, r8: the place.
void Builtins_InterpreterEntryTrampoline(uint64_t function, uint64_t context, const void* code,
                                         uint64_t bytecode, uint64_t place);
}
namespace v8::internal {
struct Version {
  static int major_, minor_, build_, patch_;
};
int Version::major_ = 13, Version::minor_ = 6, Version::build_ = 233, Version::patch_ = 17;
}  // namespace v8::internal

asm(R"(
  .text
  .balign 64
  .globl Builtins_InterpreterEntryTrampoline
  .type Builtins_InterpreterEntryTrampoline, @function
Builtins_InterpreterEntryTrampoline:
  push %rbp
  mov %rsp, %rbp
  push %rsi
  push %rdi
  push $1
  push %rcx
  push %r8
  call *%rdx
  mov %rbp, %rsp
  pop %rbp
  ret
  .size Builtins_InterpreterEntryTrampoline, . - Builtins_InterpreterEntryTrampoline
  .altmacro
  .macro builtin number
  .balign 64
  .type Builtins_Forged\number, @function
Builtins_Forged\number:
  ret
  .size Builtins_Forged\number, 1
  .endm
  .set i, 0
  .rept 120
  builtin %i
  .set i, i + 1
  .endr
)");

namespace {

// push %rbp; mov %rsp,%rbp; push %rsi; push %rdi; mov $n,%ecx; loop: dec %ecx; jne loop;
// mov %rbp,%rsp; pop %rbp; ret
constexpr unsigned char kSpin[] = {0x55, 0x48, 0x89, 0xe5, 0x56, 0x57, 0xb9, 0,    0,    0x10,
                                   0,    0xff, 0xc9, 0x75, 0xfc, 0x48, 0x89, 0xec, 0x5d, 0xc3};
// Instance types of V8 13.6 that a reader asks for: Map, SharedFunctionInfo, ScopeInfo, Code,
// InstructionStream, BytecodeArray, InterpreterData, UncompiledData, FixedArray, Script, and
// strings: of one byte, of two, of two parts, sliced, thin, external.
constexpr uint16_t kTypes[] = {272, 282, 280,  187,  192,  186,  188,  176,
                               205, 167, 0x28, 0x20, 0x29, 0x2b, 0x2d, 0x2a};
constexpr uint64_t kMapBytes = 64, kObjectBytes = 128, kObjects = 512;
constexpr uint64_t kCodeBytes = 4096, kCodes = 32, kStreamHeader = 32;
constexpr uint64_t kSharedOfFunction = 32, kStartOfCode = 40, kCodeOfStream = 8;

uint64_t NextRandom(uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  return *state ^= *state << 17;
}

struct Heap {
  uint64_t maps, objects, code;
  uint64_t Map(uint64_t i) const { return maps + i % std::size(kTypes) * kMapBytes + 1; }
  uint64_t Object(uint64_t i) const { return objects + i % kObjects * kObjectBytes + 1; }
  uint64_t Code(uint64_t i) const { return code + i % kCodes * kCodeBytes + kStreamHeader + 32; }
};

void Put(uint64_t address, uint64_t value) {
  std::memcpy(reinterpret_cast<void*>(address), &value, sizeof(value));
}

// A word that may mean anything: an object, the object it is in, a small integer, a huge one.
uint64_t Nonsense(const Heap& heap, uint64_t object, uint64_t random) {
  switch (random % 8) {
    case 0: return object;
    case 1: return random >> 8;
    case 2: return (random >> 8 & 0xff) << 32;
    case 3: return uint64_t{0x7fffffff} << 32;
    case 4: return heap.Code(random >> 8);
    default: return heap.Object(random >> 8);
  }
}

void WriteNonsense(Heap heap) {
  uint64_t state = 88172645463325252ULL;
  while (true) {
    const uint64_t random = NextRandom(&state), object = heap.Object(random >> 16);
    const uint64_t field = random % (kObjectBytes / 8) * 8;
    Put(object - 1 + field,
        field == 0 ? heap.Map(random >> 40) : Nonsense(heap, object, NextRandom(&state)));
    if (random % 64 != 0) continue;
    // Sometimes code that is whole: its stream, its Code, its begin.
    const uint64_t start = heap.Code(random >> 24), code = heap.Object(random >> 32);
    Put(start - kStreamHeader, heap.Map(4));
    Put(start - kStreamHeader + kCodeOfStream, code);
    Put(code - 1, heap.Map(3));
    Put(code - 1 + kStartOfCode, start);
  }
}

}  // namespace

int main() {
  constexpr uint64_t kBytes = 1 << 20;
  void* const memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  const auto begin = reinterpret_cast<uint64_t>(memory);
  const Heap heap{.maps = begin, .objects = begin + 4096, .code = begin + kBytes / 2};
  for (uint64_t i = 0; i < std::size(kTypes); ++i) {
    Put(heap.Map(i) - 1, heap.Map(0));
    Put(heap.Map(i) - 1 + 8, uint64_t{kTypes[i]} << 32);
  }
  for (uint64_t i = 0; i < kCodes; ++i)
    std::memcpy(reinterpret_cast<void*>(heap.Code(i)), kSpin, sizeof(kSpin));
  std::thread(WriteNonsense, heap).detach();
  for (uint64_t i = 0;; ++i) {
    const uint64_t function = heap.Object(i * 7), context = heap.Object(i * 13);
    Put(function - 1 + kSharedOfFunction, heap.Object(i * 31));
    Builtins_InterpreterEntryTrampoline(function, context,
                                        reinterpret_cast<const void*>(heap.Code(i)),
                                        heap.Object(i * 3), (i % 200) << 32);
  }
}
