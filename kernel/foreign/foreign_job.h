// What a foreign reader does for one question, and what it may use for it.
//
// A job runs in another process (reader_process.h) and may wait for ever, so it must take no lock,
// and whatever it learns must go into its answer. Where no readers were started (tests, tools) it
// runs in the process that asks.
#ifndef STACKRAY_KERNEL_FOREIGN_FOREIGN_JOB_H_
#define STACKRAY_KERNEL_FOREIGN_FOREIGN_JOB_H_

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "kernel/unique_fd.h"

namespace stackray {

struct ReaderShared;

// What a job says of itself while it runs; nobody may listen.
struct JobSigns {
  std::atomic<uint64_t>* device = nullptr;    // Which device it reads.
  std::atomic<uint32_t>* progress = nullptr;  // That it comes forward.
};

class ForeignJob {
 public:
  // `room` takes the answer's bytes; what has no room goes into a file. `shared`: the devices that
  // are left alone now; nullptr: none.
  ForeignJob(uint32_t pid, std::span<const uint8_t> input, std::span<uint8_t> room,
             const ReaderShared* shared, JobSigns signs)
      : pid_(pid), input_(input), room_(room), shared_(shared), signs_(signs) {}

  // The process that the question is about; 0: this host.
  uint32_t pid() const { return pid_; }
  // The question, as CallForeign() was given it.
  template <typename T>
  T Input() const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value = {};
    if (input_.size() >= sizeof(T)) std::memcpy(&value, input_.data(), sizeof(T));
    return value;
  }
  // The text behind `offset` bytes of it.
  std::string InputText(size_t offset) const {
    if (offset > input_.size()) return {};
    return {reinterpret_cast<const char*>(input_.data()) + offset, input_.size() - offset};
  }

  // Opens for reading; never waits for a FIFO's writer, and becomes nobody's terminal. The device
  // is said first, so that it is known what did not answer. Not valid: errno says why; ETIMEDOUT:
  // the device is left alone.
  UniqueFd Open(const std::string& path);
  // The file that an O_PATH descriptor leads to.
  UniqueFd OpenPlace(int place);
  // A descriptor that the asking process holds, O_PATH of the same file here. Not valid: errno.
  UniqueFd Borrow(int fd) const;
  // Says which device the next reads are of. False: it is left alone, with errno ETIMEDOUT.
  bool EnterDevice(uint64_t device);
  // EnterDevice() of what an O_PATH descriptor leads to, which is not asked for it.
  bool EnterDeviceOf(int place);

  // A long read goes on: there is a little more time for it.
  void ComeForward() {
    if (signs_.progress != nullptr) signs_.progress->fetch_add(1, std::memory_order_relaxed);
  }

  void Append(std::span<const uint8_t> bytes);
  void AppendText(std::string_view text) {
    Append({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
  template <typename T>
  void AppendValue(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    Append({reinterpret_cast<const uint8_t*>(&value), sizeof(T)});
  }
  // An errno for who asked; 0: none.
  void Fail(int error) { error_ = error; }
  // The answer's file. Must be one that never waits: by ReturnForReading() in local_file.h, or
  // O_PATH.
  void Return(UniqueFd file) { file_ = std::move(file); }

  int error() const { return error_; }
  size_t room_used() const { return room_used_; }
  const UniqueFd& spilled() const { return spilled_; }
  UniqueFd& file() { return file_; }
  std::span<uint8_t> room() const { return room_; }
  void UseRoom(size_t bytes) { room_used_ = bytes; }

 private:
  const uint32_t pid_;
  const std::span<const uint8_t> input_;
  const std::span<uint8_t> room_;
  const ReaderShared* const shared_;
  const JobSigns signs_;
  size_t room_used_ = 0;
  UniqueFd spilled_;  // The bytes of an answer that is larger than the room, all of them.
  UniqueFd file_;
  int error_ = 0;
};

using ForeignWork = void (*)(ForeignJob& job);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_FOREIGN_FOREIGN_JOB_H_
