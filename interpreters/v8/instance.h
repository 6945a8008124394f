// V8 in one process: what BPF has to know, and the names of its frames.
//
// Input:   the memory of the process; see RuntimeData::Attach().
// Threads: any.
#ifndef STACKRAY_INTERPRETERS_V8_INSTANCE_H_
#define STACKRAY_INTERPRETERS_V8_INSTANCE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "interpreters/runtime.h"
#include "interpreters/v8/layout.h"
#include "interpreters/v8/script.h"

namespace stackray::v8 {

// A frame's words (enum v8_frame), taken apart: an interpreted function is one code with many
// places, and each place of compiled code is a code of its own.
RuntimePlace PlaceOfFrame(uint64_t word, uint64_t second);

class Instance : public StackInstance {
 public:
  explicit Instance(std::shared_ptr<const V8Layout> layout) : layout_(std::move(layout)) {}

  stack_process ForBpf() const override;
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadCode(
      ProcessMemory& memory, const RuntimePlace& place) const override;

 private:
  const std::shared_ptr<const V8Layout> layout_;
  mutable ScriptCache scripts_;  // Guards itself.
};

}  // namespace stackray::v8

#endif  // STACKRAY_INTERPRETERS_V8_INSTANCE_H_
