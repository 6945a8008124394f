// Calls register_return.S for ever.
extern "C" void RegisterReturnLeaf();

extern "C" __attribute__((noinline)) void CallRegisterReturn() {
  asm volatile("call RegisterReturnLeaf" ::: "rax", "rcx", "rdx", "memory", "cc");
}

int main() {
  for (;;) CallRegisterReturn();
}
