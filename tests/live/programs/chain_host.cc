// chain_host LIBRARY: maps the library anew for each of its functions and calls the function
// through that copy. The functions are a MiB apart, so that none lies in a page whose neighbours
// were sampled before. From the second half on a copy comes in the place of the one before.
#include <dlfcn.h>
#include <signal.h>

#include <cstdint>
#include <ctime>

using Work = void(double);
using Step = void(Work*, double);

volatile uint64_t g_sink = 1;

static inline __attribute__((always_inline)) double Seconds() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

#define FAR_FUNCTION(n)                                                                        \
  extern "C" __attribute__((noinline, aligned(1 << 20))) void FarFunction##n(double seconds) { \
    const double end = Seconds() + seconds;                                                    \
    while (Seconds() < end)                                                                    \
      for (int i = 0; i < 100000; ++i) g_sink = g_sink * 6364136223846793005ULL + n;           \
  }
FAR_FUNCTION(0)
FAR_FUNCTION(1)
FAR_FUNCTION(2)
FAR_FUNCTION(3)
FAR_FUNCTION(4)
FAR_FUNCTION(5)
FAR_FUNCTION(6)
FAR_FUNCTION(7)
FAR_FUNCTION(8)
FAR_FUNCTION(9)

extern "C" __attribute__((noinline)) int CallChain(Step* step, Work* work) {
  constexpr double kSpinSeconds = 0.06;
  step(work, kSpinSeconds);
  return 0;
}

int main(int argc, char** argv) {
  Work* const works[] = {FarFunction0, FarFunction1, FarFunction2, FarFunction3, FarFunction4,
                         FarFunction5, FarFunction6, FarFunction7, FarFunction8, FarFunction9};
  constexpr int kWorks = sizeof(works) / sizeof(works[0]);
  void* libraries[kWorks] = {};
  if (argc != 2) return 2;
  raise(SIGSTOP);  // The sampler is to see it all.
  for (int i = 0; i < kWorks; ++i) {
    libraries[i] = dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW);
    void* step = libraries[i] != nullptr ? dlsym(libraries[i], "ChainStep") : nullptr;
    if (step == nullptr) return 1;
    if (i >= kWorks / 2 && dlclose(libraries[i - 1]) != 0) return 1;
    if (CallChain(reinterpret_cast<Step*>(step), works[i]) != 0) return 1;
  }
  return 0;
}
