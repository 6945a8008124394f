// Reads of what belongs to other processes: their memory, their files, their part of /proc.
//
// Such a read may never return. A page or a file may be served by a program of its owner (FUSE,
// also below an overlay), by a host that is gone (NFS), or stand behind a lock that such a read
// holds (/proc/PID/maps and its like take the lock of the process's memory). So no thread of the
// agent makes one: a reader process does (reader_process.h), with a deadline. A reader that does
// not come back is given up, and with it for a while the process, its owner or the device it read
// (left_alone.h).
//
// What may be read without this: what the kernel answers by itself, such as /proc/PID/stat, status,
// comm, cgroup, the links exe and ns; and files that a reader has handed over.
//
// Input:   the answers are as hostile as what was read.
// Threads: any; a call waits for its answer, at most some seconds.
// Errors:  as an errno where a system call would have one; ETIMEDOUT: left alone.
#ifndef STACKRAY_KERNEL_FOREIGN_FOREIGN_READS_H_
#define STACKRAY_KERNEL_FOREIGN_FOREIGN_READS_H_

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/status/status.h"
#include "kernel/foreign/foreign_job.h"
#include "kernel/foreign/left_alone.h"
#include "kernel/foreign/reader_process.h"
#include "kernel/unique_fd.h"

namespace stackray {

// Starts the readers' parent. Call once, before there are threads; reads before it, or after it
// failed, are made by the thread that asks.
absl::Status StartForeignReaders(const ReaderLimits& limits);

struct ForeignAnswer {
  int error = 0;      // An errno; ETIMEDOUT: left alone, EAGAIN: no reader was to be had.
  std::string bytes;  // Also with an error: what came before it.
  UniqueFd file;
};

// Runs `work` for process `pid` (0: this host) with that question, of at most 8 KiB.
ForeignAnswer CallForeign(uint32_t pid, ForeignWork work, std::span<const uint8_t> question);

template <typename Fixed>
ForeignAnswer CallForeign(uint32_t pid, ForeignWork work, const Fixed& fixed,
                          std::string_view text = {}) {
  static_assert(std::is_trivially_copyable_v<Fixed>);
  std::string question(reinterpret_cast<const char*>(&fixed), sizeof(fixed));
  question += text;
  return CallForeign(pid, work,
                     {reinterpret_cast<const uint8_t*>(question.data()), question.size()});
}

// The number at the begin of an answer; 0 where it is shorter.
template <typename T>
T AnswerValue(const ForeignAnswer& answer) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value = {};
  if (answer.bytes.size() >= sizeof(T)) std::memcpy(&value, answer.bytes.data(), sizeof(T));
  return value;
}

// process_vm_readv(2): `remote`, one piece behind the other, into `to`. How many bytes were read,
// or -1 with an errno.
ssize_t ReadForeignMemory(uint32_t pid, std::span<const iovec> remote, std::span<uint8_t> to);

// /proc/PID/`name`, its first `most_bytes`. Empty: nothing to be read, with an errno.
std::string ReadForeignText(uint32_t pid, std::string_view name, size_t most_bytes);

// The target of /proc/PID/`name`; empty: none.
std::string ReadForeignLink(uint32_t pid, std::string_view name);

// Reads of that process, or of its owner, are not tried now.
bool IsLeftAlone(uint32_t pid);

struct ForeignReadCounts {
  LeftAlone::Counts left_alone;
  size_t readers = 0;          // That answer.
  size_t readers_hanging = 0;  // That were given up and are still there.
};
ForeignReadCounts CountForeignReads();

}  // namespace stackray

#endif  // STACKRAY_KERNEL_FOREIGN_FOREIGN_READS_H_
