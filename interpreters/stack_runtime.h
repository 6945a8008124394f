// A runtime of kind STACK (bpf/shared/runtimes.h) in one process: what BPF has to know of the
// process, and the names of its frames.
#ifndef STACKRAY_INTERPRETERS_STACK_RUNTIME_H_
#define STACKRAY_INTERPRETERS_STACK_RUNTIME_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "bpf/shared/runtime.h"
#include "interpreters/process_memory.h"

namespace stackray {

class RuntimeCode;
struct RuntimePlace;

// Read from the process's own memory, so a process that lies does so about itself alone. Immutable.
class StackInstance {
 public:
  virtual ~StackInstance() = default;
  // All but the runtime's number.
  virtual stack_process ForBpf() const = 0;
  // As RuntimeData::ReadCode.
  virtual absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadCode(
      ProcessMemory& memory, const RuntimePlace& place) const = 0;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_STACK_RUNTIME_H_
