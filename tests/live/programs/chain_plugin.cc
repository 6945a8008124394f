// A library that calls back, and needs no other library.
volatile unsigned g_chain_calls = 0;

extern "C" __attribute__((noinline, visibility("default"))) void ChainStep(void (*work)(double),
                                                                           double seconds) {
  work(seconds);
  g_chain_calls = g_chain_calls + 1;  // Not a tail call.
}
