#include "interpreters/v8/frame.h"

namespace stackray::v8 {

V8Frame UnpackFrame(uint64_t first, uint64_t second) {
  V8Frame frame{.kind = static_cast<V8Frame::Kind>(first & V8_FRAME_MASK)};
  const uint64_t object = first & V8_OBJECT_MASK;
  if (frame.kind == V8Frame::Kind::kInterpreted || frame.kind == V8Frame::Kind::kAwaiting) {
    frame.shared_function = object;
    frame.bytecode_offset = static_cast<int32_t>(static_cast<uint32_t>(second)) - 1;
    frame.check = static_cast<uint32_t>(second >> 32);
    frame.check_mask = ~uint32_t{0};
    return frame;
  }
  frame.pc = second & V8_PC_MASK;
  frame.is_return = (second & V8_IS_RETURN) != 0;
  if (frame.kind == V8Frame::Kind::kWasm) frame.instance = object;
  if (frame.kind == V8Frame::Kind::kRegExp) frame.regexp = object;
  if (frame.kind == V8Frame::Kind::kCompiled) frame.shared_function = object;
  if (frame.kind != V8Frame::Kind::kCompiled && frame.kind != V8Frame::Kind::kRegExp) return frame;
  frame.check = static_cast<uint32_t>(second >> V8_CHECK_SHIFT);
  frame.check_mask = V8_SHORT_CHECK_MASK;
  return frame;
}

}  // namespace stackray::v8
