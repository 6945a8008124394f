// A HotSpot JVM in one process: where its code heaps lie, and the names of its frames.
//
// Input:   the memory of the process; see RuntimeData::Attach().
// Threads: immutable.
#ifndef STACKRAY_INTERPRETERS_HOTSPOT_INSTANCE_H_
#define STACKRAY_INTERPRETERS_HOTSPOT_INSTANCE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "interpreters/hotspot/layout.h"
#include "interpreters/hotspot/vm_tables.h"
#include "interpreters/runtime.h"

namespace stackray::hotspot {

// A frame's words (enum hotspot_frame), taken apart: kind and address make the code.
RuntimePlace PlaceOfFrame(uint64_t word, uint64_t second);

class Instance : public StackInstance {
 public:
  // Errors: those of RuntimeData::Attach().
  static absl::StatusOr<std::shared_ptr<const StackInstance>> Read(ProcessMemory& memory,
                                                                   const VmSymbols& symbols);
  explicit Instance(const Layout& layout, std::shared_ptr<const cfi::JitRows> rows = nullptr)
      : layout_(layout), rows_(std::move(rows)) {}

  stack_process ForBpf() const override;
  // Its heaps are there before the interpreter: with code that asks what the processor can.
  bool is_begun() const override { return layout_.bpf.interpreter_bytes != 0; }
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadCode(
      ProcessMemory& memory, const RuntimePlace& place) const override;
  std::unique_ptr<ThreadNames> NamesOfThreads() const override;
  std::shared_ptr<const cfi::JitRows> rows() const override { return rows_; }
  uint64_t rows_begin() const override { return layout_.bpf.stubs_begin; }

 private:
  const Layout layout_;
  const std::shared_ptr<const cfi::JitRows> rows_;  // Of its stubs.
};

}  // namespace stackray::hotspot

#endif  // STACKRAY_INTERPRETERS_HOTSPOT_INSTANCE_H_
