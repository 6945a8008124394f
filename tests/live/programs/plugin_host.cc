// Loads the library named by its argument and stays in it.
#include <dlfcn.h>

#include <cstdlib>

extern "C" __attribute__((noinline)) void CallPlugin(void (*work)()) {
  for (volatile bool forever = true; forever;) work();
}

int main(int argc, char** argv) {
  void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : nullptr;
  auto* work = library ? reinterpret_cast<void (*)()>(dlsym(library, "PluginWork")) : nullptr;
  if (work == nullptr) return 1;
  CallPlugin(work);
  return 0;
}
