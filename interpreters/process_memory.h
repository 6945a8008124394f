// The memory of another process, read piece by piece.
//
// Trust:   nothing that is read; the process writes while we read.
// Threads: one at a time.
#ifndef STACKRAY_INTERPRETERS_PROCESS_MEMORY_H_
#define STACKRAY_INTERPRETERS_PROCESS_MEMORY_H_

#include <sys/types.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace stackray {

class ProcessMemory {
 public:
  virtual ~ProcessMemory() = default;
  // All of `to`, or false.
  virtual bool Read(uint64_t address, std::span<uint8_t> to) = 0;
  // The last Read() failed because the process is gone, not because of its address.
  virtual bool IsGone() const = 0;
  // It failed because nothing of the process is read now (kernel/foreign/left_alone.h).
  virtual bool IsLeftAlone() const { return false; }
  // Read() of a number that counts who holds something: it may change while the thing lives, and is
  // 0 or is not.
  virtual bool ReadCount(uint64_t address, std::span<uint8_t> to) { return Read(address, to); }
};

// Never waits for the process (kernel/foreign/foreign_reads.h). Says nothing of which process has
// the pid now: what is read is checked against what was sampled (python_code_check).
class LiveProcessMemory : public ProcessMemory {
 public:
  explicit LiveProcessMemory(uint32_t pid) : pid_(static_cast<pid_t>(pid)) {}
  bool Read(uint64_t address, std::span<uint8_t> to) override;
  bool IsGone() const override { return gone_; }
  bool IsLeftAlone() const override { return left_alone_; }

 private:
  const pid_t pid_;
  bool gone_ = false, left_alone_ = false;
};

// A little-endian number inside bytes that were read; 0 outside of them.
template <typename T>
T NumberAt(std::span<const uint8_t> bytes, uint64_t offset) {
  T value = 0;
  if (offset <= bytes.size() && bytes.size() - offset >= sizeof(T))
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_PROCESS_MEMORY_H_
