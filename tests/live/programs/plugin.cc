// A library that is loaded while its host already runs.
#include <cstdint>

volatile uint64_t g_plugin_sink = 1;

extern "C" __attribute__((noinline)) uint64_t PluginLeaf(uint64_t x) {
  for (int i = 0; i < 100000; ++i) x = x * 6364136223846793005ULL + (x >> 33);
  return x;
}

extern "C" __attribute__((noinline, visibility("default"))) void PluginWork() {
  g_plugin_sink = PluginLeaf(g_plugin_sink) + 1;
}
