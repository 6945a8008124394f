// A runtime of kind STACK (bpf/shared/runtimes.h) in one process: what BPF has to know of the
// process, and the names of its frames.
#ifndef STACKRAY_INTERPRETERS_STACK_RUNTIME_H_
#define STACKRAY_INTERPRETERS_STACK_RUNTIME_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bpf/shared/runtime.h"
#include "interpreters/process_memory.h"
#include "symbolizer/cfi/jit_rows.h"

namespace stackray {

class RuntimeCode;
struct RuntimePlace;

// Names that a process's threads have beyond the kernel's 15 bytes. One thread at a time.
class ThreadNames {
 public:
  virtual ~ThreadNames() = default;
  // Of the thread with this number in the process's own pid namespace, which the kernel calls
  // `command`. nullopt: none is known, or it cannot be read just now.
  virtual std::optional<std::string> NameOf(ProcessMemory& memory, uint32_t tid,
                                            std::string_view command) = 0;
  // Looks for all threads there are: NameOf() knows no other ones.
  virtual void List(ProcessMemory& memory) = 0;
};

// Read from the process's own memory, so a process that lies does so about itself alone. Immutable.
class StackInstance {
 public:
  virtual ~StackInstance() = default;
  // All but the runtime's number.
  virtual stack_process ForBpf() const = 0;
  // As RuntimeData::ReadCode.
  virtual absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadCode(
      ProcessMemory& memory, const RuntimePlace& place) const = 0;
  // nullptr: its threads have the kernel's names alone.
  virtual std::unique_ptr<ThreadNames> NamesOfThreads() const { return nullptr; }
  // False: the runtime is still making its first code. What this says holds for samples that were
  // taken before it was read; it is not for BPF.
  virtual bool is_begun() const { return true; }
  // Unwind rows of code of the runtime's own, which BPF finds by stack_process.rows_id, in pages
  // that begin where the runtime's part says. nullptr: none.
  virtual std::shared_ptr<const cfi::JitRows> rows() const { return nullptr; }
  virtual uint64_t rows_begin() const { return 0; }
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_STACK_RUNTIME_H_
