// How many bytes of copied files there may be at once: of files that root may not read, and of
// those that the agent must not hold (local_file.h).
// Threads: any.
#ifndef STACKRAY_KERNEL_FOREIGN_COPY_ROOM_H_
#define STACKRAY_KERNEL_FOREIGN_COPY_ROOM_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

namespace stackray {

inline constexpr uint64_t kMostCopyBytes = 256 << 20;  // One file.
inline constexpr uint64_t kMostCopiesBytes = 512 << 20;

// A process has one.
inline std::atomic<uint64_t>& CopiedBytes() {
  static std::atomic<uint64_t> bytes{0};
  return bytes;
}

// What the next copy may have; 0: there is no room.
inline uint64_t CopyRoomLeft() {
  const uint64_t used = CopiedBytes().load();
  return used >= kMostCopiesBytes ? 0 : std::min(kMostCopyBytes, kMostCopiesBytes - used);
}

// Counts the bytes for as long as anybody holds what is returned.
inline std::shared_ptr<const void> TakeCopyRoom(uint64_t bytes) {
  CopiedBytes() += bytes;
  return {&CopiedBytes(), [bytes](const void*) { CopiedBytes() -= bytes; }};
}

}  // namespace stackray

#endif  // STACKRAY_KERNEL_FOREIGN_COPY_ROOM_H_
