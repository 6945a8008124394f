// A thread of another process, stopped by ptrace.
// Threads: all calls from the one thread that made it, as ptrace wants it.
#ifndef STACKRAY_TESTS_RECORDER_STOPPED_THREAD_H_
#define STACKRAY_TESTS_RECORDER_STOPPED_THREAD_H_

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bpf/shared/records.h"
#include "kernel/unique_fd.h"

namespace stackray {

class StoppedThread {
 public:
  // Starts a program without address randomisation and stops it at its entry, all libraries mapped.
  // It dies with us. Errors: Internal (what the kernel said).
  static absl::StatusOr<StoppedThread> Start(const std::vector<std::string>& command);
  // Stops a thread that runs. Errors: as Start.
  static absl::StatusOr<StoppedThread> Attach(pid_t tid);
  StoppedThread(StoppedThread&&) noexcept;
  ~StoppedThread();  // Kills what Start() started; lets go of what Attach() attached to.

  // Goes on until a thread of the process is about to run `address`; that one is ours from then on.
  // Errors: OutOfRange (it ended before).
  absl::Status RunTo(uint64_t address);
  // One instruction; a signal that comes in is delivered. Errors: as RunTo.
  absl::Status Step();
  // Until a fatal signal is about to be delivered, which is kept back. Errors: as RunTo.
  absl::Status RunToSignal();

  absl::StatusOr<unwind_registers> Registers() const;
  uint64_t thread_pointer() const;  // x86-64's fs; 0: not known.
  bool ReadMemory(uint64_t address, std::span<uint8_t> to) const;
  // The address that the kernel jumped to at exec.
  uint64_t entry() const;

  pid_t pid() const { return pid_; }
  pid_t tid() const { return tid_; }
  // Lets go, with the process stopped by SIGSTOP right where it is, so that a debugger may attach.
  void Release();

 private:
  StoppedThread(pid_t pid, pid_t tid, bool started);
  absl::Status WaitForTrap(bool want_signal);
  bool WriteByte(uint64_t address, uint8_t value, uint8_t* old);

  pid_t pid_ = 0, tid_ = 0;
  bool started_ = false, attached_ = true;
  int pending_signal_ = 0;
  std::set<pid_t> stopped_;
  UniqueFd memory_;
};

}  // namespace stackray

#endif  // STACKRAY_TESTS_RECORDER_STOPPED_THREAD_H_
