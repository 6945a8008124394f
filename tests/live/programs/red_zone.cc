// Calls one of red_zone.S's functions for ever: with an argument the second one. Built with frame
// pointers, so that a caller is found by the register that they keep below the stack pointer.
extern "C" void PoppedLeaf();
extern "C" void SavedBelowLeaf();

extern "C" __attribute__((noinline)) void CallLeaf(void (*leaf)()) {
  leaf();
  asm volatile("" ::: "memory");  // No tail call.
}

int main(int argc, char**) {
  for (;;) CallLeaf(argc > 1 ? SavedBelowLeaf : PoppedLeaf);
}
