#include "interpreters/process_memory.h"

#include <sys/uio.h>

#include <cerrno>

namespace stackray {

bool LiveProcessMemory::Read(uint64_t address, std::span<uint8_t> to) {
  gone_ = false;
  iovec local{.iov_base = to.data(), .iov_len = to.size()};
  iovec remote{.iov_base = reinterpret_cast<void*>(address), .iov_len = to.size()};
  const ssize_t bytes = process_vm_readv(pid_, &local, 1, &remote, 1, 0);
  if (bytes == static_cast<ssize_t>(to.size())) return true;
  gone_ = bytes < 0 && errno == ESRCH;
  return false;
}

}  // namespace stackray
