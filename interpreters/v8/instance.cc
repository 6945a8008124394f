#include "interpreters/v8/instance.h"

#include "interpreters/v8/frame.h"
#include "interpreters/v8/function_names.h"

namespace stackray::v8 {
namespace {

bool IsInterpreted(uint64_t word) { return (word & V8_FRAME_MASK) == V8_INTERPRETED; }

}  // namespace

RuntimePlace PlaceOfFrame(uint64_t word, uint64_t second) {
  const uint64_t code = word & FRAME_OFFSET_MASK;
  if (!IsInterpreted(code)) return {.code = code, .check = second};
  return {.code = code,
          .check = second >> 32,
          .instruction = static_cast<int32_t>(static_cast<uint32_t>(second)) - 1};
}

stack_process Instance::ForBpf() const {
  stack_process process = {};
  process.kind = RUNTIME_V8;
  process.v8 = {.function_shared = layout_->function_shared,
                .shared_check = layout_->shared_identity(),
                .bytecode_header = layout_->bytecode_header,
                .bytecode_length = layout_->bytecode_length,
                .function_slot = layout_->function_slot,
                .bytecode_slot = layout_->bytecode_slot,
                .offset_slot = layout_->offset_slot,
                .wasm_marker = layout_->wasm_marker(),
                .give_up_begin = layout_->give_up_begin,
                .give_up_end = layout_->give_up_end,
                .old_frame = layout_->old_frame,
                .old_frame_words = layout_->old_frame_words};
  return process;
}

absl::StatusOr<std::shared_ptr<const RuntimeCode>> Instance::ReadCode(
    ProcessMemory& memory, const RuntimePlace& place) const {
  const uint64_t second = IsInterpreted(place.code)
                              ? place.check << 32 | (static_cast<uint32_t>(place.instruction) + 1)
                              : place.check;
  return ReadV8Code(memory, *layout_, scripts_, UnpackFrame(place.code, second));
}

}  // namespace stackray::v8
