// A piece of another process's memory, as far as it is there.
#ifndef STACKRAY_AGENT_SAMPLING_STACK_SLICE_H_
#define STACKRAY_AGENT_SAMPLING_STACK_SLICE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stackray {

// What can be read of `bytes` bytes from `address` on, page by page, up to the first that cannot; a
// multiple of 8. Threads: any.
std::vector<uint8_t> ReadStackSlice(uint32_t pid, uint64_t address, size_t bytes);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_STACK_SLICE_H_
