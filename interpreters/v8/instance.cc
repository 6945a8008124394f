#include "interpreters/v8/instance.h"

#include "interpreters/v8/frame.h"
#include "interpreters/v8/function_names.h"

namespace stackray::v8 {
namespace {

// Has the frame's second word a bytecode's place?
bool IsInterpreted(uint64_t word) {
  return (word & V8_FRAME_MASK) == V8_INTERPRETED || (word & V8_FRAME_MASK) == V8_AWAITING;
}

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
                .old_frame_words = layout_->old_frame_words,
                .regexp_marker = layout_->regexp_marker(),
                .regexp_slot = layout_->regexp_slot,
                .regexp_data = layout_->regexp_data,
                .regexp_source = layout_->regexp_source};
  if (!layout_->follows_awaits()) return process;
  for (size_t i = 0; i < layout_->awaits.size(); ++i) {
    process.v8.await_begin[i] = layout_->awaits[i].begin;
    process.v8.await_end[i] = layout_->awaits[i].end;
  }
  process.v8.async_function_type = layout_->async_function_type;
  process.v8.promise_type = layout_->promise_type;
  process.v8.reaction_type = layout_->reaction_type;
  process.v8.map_type = static_cast<uint8_t>(layout_->map_instance_type);
  process.v8.function_context = static_cast<uint8_t>(layout_->function_context);
  process.v8.shared_builtin = layout_->shared_builtin;
  process.v8.reaction_next = layout_->reaction_next;
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
