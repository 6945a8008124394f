#include "interpreters/process_memory.h"

#include <cerrno>

#include "kernel/foreign/foreign_reads.h"

namespace stackray {

bool LiveProcessMemory::Read(uint64_t address, std::span<uint8_t> to) {
  gone_ = false;
  const iovec remote[] = {{reinterpret_cast<void*>(address), to.size()}};
  const ssize_t bytes = ReadForeignMemory(static_cast<uint32_t>(pid_), remote, to);
  if (bytes == static_cast<ssize_t>(to.size())) return true;
  gone_ = bytes < 0 && errno == ESRCH;
  left_alone_ = bytes < 0 && (errno == ETIMEDOUT || errno == EAGAIN);
  return false;
}

}  // namespace stackray
