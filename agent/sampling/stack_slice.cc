#include "agent/sampling/stack_slice.h"

#include <algorithm>

#include "kernel/foreign/foreign_reads.h"

namespace stackray {
namespace {

constexpr uint64_t kPageBytes = 4096;

}  // namespace

std::vector<uint8_t> ReadStackSlice(uint32_t pid, uint64_t address, size_t bytes) {
  std::vector<uint8_t> memory(bytes);
  std::vector<iovec> remote;
  for (uint64_t at = address, end = address + bytes; at < end;) {
    const uint64_t next = std::min(end, (at | (kPageBytes - 1)) + 1);
    remote.push_back({reinterpret_cast<void*>(at), next - at});
    at = next;
  }
  const ssize_t got = ReadForeignMemory(pid, remote, memory);
  memory.resize(got < 0 ? 0 : static_cast<size_t>(got) & ~size_t{7});
  return memory;
}

}  // namespace stackray
