#include "tests/agent/sampling/raw_stack.h"

#include <pthread.h>
#include <ucontext.h>

#include <algorithm>

namespace stackray::test {
namespace {

uint64_t StackTop() {
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  void* bottom = nullptr;
  size_t bytes = 0;
  pthread_attr_getstack(&attributes, &bottom, &bytes);
  pthread_attr_destroy(&attributes);
  return reinterpret_cast<uint64_t>(bottom) + bytes;
}

// DWARF's numbers of the registers that a call preserves, and where ucontext.h has them.
constexpr struct {
  int dwarf, context;
} kPreserved[] = {{3, REG_RBX},  {6, REG_RBP},  {7, REG_RSP}, {12, REG_R12},
                  {13, REG_R13}, {14, REG_R14}, {15, REG_R15}};

[[gnu::noinline, gnu::no_sanitize_address]] void CaptureInnermost(RawStack* out) {
  ucontext_t context;
  getcontext(&context);
  const greg_t* from = context.uc_mcontext.gregs;
  for (const auto& r : kPreserved) {
    out->registers.r[r.dwarf] = static_cast<uint64_t>(from[r.context]);
    out->registers.known |= 1u << r.dwarf;
  }
  out->registers.pc = static_cast<uint64_t>(from[REG_RIP]);
  out->registers.exact_pc = 1;
  const uint64_t begin = out->registers.r[UNWIND_SP] - RED_ZONE_BYTES;
  const uint64_t size = std::min<uint64_t>(RAW_STACK_MAX_BYTES, (StackTop() - begin) & ~7ULL);
  const auto* stack = reinterpret_cast<const volatile uint8_t*>(begin);
  out->bytes.resize(size);
  for (uint64_t i = 0; i < size; ++i) out->bytes[i] = stack[i];
}

[[gnu::noinline]] void CaptureMiddle(RawStack* out) {
  CaptureInnermost(out);
  asm volatile("" ::: "memory");  // No tail call.
}

}  // namespace

[[gnu::noinline]] RawStack CaptureRawStack() {
  RawStack stack;
  CaptureMiddle(&stack);
  return stack;
}

}  // namespace stackray::test
