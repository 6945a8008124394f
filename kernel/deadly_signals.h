// The program that takes the last stack of a thread that a signal ends (bpf/last_stack.h).
//
// Cost:    as kernel/later_programs.h to load; nothing while nobody dies, some 100 us a death.
// Threads: any; the destructor when all calls have returned.
#ifndef STACKRAY_KERNEL_DEADLY_SIGNALS_H_
#define STACKRAY_KERNEL_DEADLY_SIGNALS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "kernel/later_programs.h"

struct sampler_bpf;

namespace stackray {

class DeadlySignals {
 public:
  // `sampler` is loaded. The program runs from now on; captures say whether they want samples of
  // it (struct control). Errors: FailedPrecondition, with what the kernel said.
  static absl::StatusOr<std::unique_ptr<DeadlySignals>> Load(const sampler_bpf& sampler);

  // {name, descriptor}.
  std::vector<std::pair<std::string, int>> programs() const;

 private:
  DeadlySignals() = default;

  std::vector<LaterProgram> programs_;
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_DEADLY_SIGNALS_H_
