// The memory that the agent shares with its foreign readers. One program has forked the other, so
// both have one layout, and a function of one is at the other's same address.
#ifndef STACKRAY_KERNEL_FOREIGN_READER_SHARED_H_
#define STACKRAY_KERNEL_FOREIGN_READER_SHARED_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kernel/foreign/foreign_job.h"

namespace stackray {

inline constexpr size_t kMostReaders = 24;  // Those that do not come back among them.
inline constexpr size_t kInputBytes = 8 << 10;
inline constexpr size_t kRoomBytes = 64 << 10;
inline constexpr size_t kMostPausedDevices = 16;

enum class ReaderState : uint32_t {
  kNone,       // No process. The agent alone takes a slot out of this state.
  kLive,       // Answers.
  kAbandoned,  // Took too long; its parent ends it, and then there is none.
};

// One reader, and one question at a time: the agent writes the question, counts `asked` up and
// wakes; the reader writes the answer and sets `answered` to `asked`.
struct ReaderSlot {
  std::atomic<ReaderState> state;
  std::atomic<uint32_t> asked, answered;
  std::atomic<int32_t> reader_pid;
  std::atomic<uint64_t> device;    // That is being read, as stat's st_dev; 0: not known.
  std::atomic<uint32_t> progress;  // Counted up by a job that comes forward with a long read.

  ForeignWork work;
  uint32_t process;
  uint32_t input_bytes;

  int32_t error;
  uint32_t room_bytes;
  // With the answer, descriptors lie in the slot's socket, in this order.
  uint32_t has_spilled, has_file;

  uint8_t input[kInputBytes];
  uint8_t room[kRoomBytes];
};

struct ReaderShared {
  std::atomic<int32_t> agent_pid;
  // Written by the agent, read by jobs; until then (CLOCK_BOOTTIME) nothing is read of them.
  std::array<std::atomic<uint64_t>, kMostPausedDevices> paused_devices, paused_until_ns;
  std::array<ReaderSlot, kMostReaders> slots;
};

static_assert(std::atomic<uint64_t>::is_always_lock_free);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_FOREIGN_READER_SHARED_H_
