// The programs that follow waiting threads (bpf/off_cpu.h).
//
// Cost:    as kernel/later_programs.h to load.
// Memory:  five programs, and some 100 bytes for each thread of `max_threads`.
// Threads: any; the destructor when all calls have returned.
#ifndef STACKRAY_KERNEL_OFF_CPU_PROGRAMS_H_
#define STACKRAY_KERNEL_OFF_CPU_PROGRAMS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernel/later_programs.h"
#include "kernel/task_records.h"
#include "kernel/unique_fd.h"

struct bpf_object;
struct sampler_bpf;

namespace stackray {

class OffCpuPrograms {
 public:
  // `sampler` is loaded. Errors: FailedPrecondition, with what the kernel said.
  static absl::StatusOr<std::unique_ptr<OffCpuPrograms>> Load(const sampler_bpf& sampler,
                                                              uint32_t max_threads);

  // From now on the programs run. Errors: FailedPrecondition.
  absl::Status Attach();
  // Calls `take` for every thread that is followed, with a RECORD_WAITED. Before it comes, for one
  // that was blocked before Attach() and still is, and for one that is due a stack, a RECORD_SAMPLE
  // that holds its registers and the kernel's part of its stack; from then on the end of its wait
  // is told. One call at a time. Errors: as ReadTaskRecords().
  absl::Status ListWaiting(const TakeRecord& take) const;
  // When the thread has left its CPU, if it waits and its stack was taken (CLOCK_BOOTTIME).
  std::optional<uint64_t> WaitsSince(uint32_t tid) const;
  bool Follows(uint32_t tid) const;
  uint64_t map_bytes() const { return map_bytes_; }
  // {name, descriptor}.
  std::vector<std::pair<std::string, int>> programs() const;

 private:
  OffCpuPrograms() = default;

  std::vector<LaterProgram> programs_;
  UniqueFd threads_;
  uint64_t map_bytes_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_OFF_CPU_PROGRAMS_H_
