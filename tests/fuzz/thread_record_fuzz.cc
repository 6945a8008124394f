// libs: stackray_kernel
// A record of the list of threads.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernel/thread_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stackray;
  std::vector<uint64_t> words((size + 7) / 8);
  std::memcpy(words.data(), data, size);
  const auto thread = DecodeThread({reinterpret_cast<const uint8_t*>(words.data()), size});
  if (!thread) return 0;
  uint64_t sum = 0;
  for (const uint64_t address : thread->kernel) sum += address;
  if (thread->kernel.size() > SAMPLE_MAX_KERNEL_FRAMES || sum == 1) abort();
  return 0;
}
