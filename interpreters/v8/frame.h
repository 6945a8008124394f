// A frame of JavaScript, as the walk hands it to the naming: what bpf/v8.h packs into a frame's two
// words (enum v8_frame in bpf/shared/v8.h), taken apart.
//
// Frames of builtins are native frames of the file that holds V8: their names come from the file
// (builtins.h), and no V8Frame is made of them. An interpreted frame stands for the builtin that
// runs it.
#ifndef STACKRAY_INTERPRETERS_V8_FRAME_H_
#define STACKRAY_INTERPRETERS_V8_FRAME_H_

#include <cstdint>

#include "bpf/shared/v8.h"

namespace stackray::v8 {

struct V8Frame {
  enum class Kind : uint8_t {
    kInterpreted = V8_INTERPRETED,  // Ignition: `shared_function` and `bytecode_offset`.
    // Code that V8 has made, of a frame that says it is a function's: Sparkplug, Maglev, Turbofan
    // (its Code object says which): `pc`, `shared_function`.
    kCompiled = V8_COMPILED,
    // Code that V8 has made, of a frame that says it is no function's: `pc` alone. Regular
    // expressions, stubs, copies of builtins.
    kStub = V8_STUB,
    kWasm = V8_WASM,      // `pc`, `instance`.
    kRegExp = V8_REGEXP,  // `pc`, `regexp`; `check` is its source's length.
    // An async function that waits: as kInterpreted, whatever code it was resumed in.
    kAwaiting = V8_AWAITING,
  };
  Kind kind = Kind::kStub;
  // Untagged address of the SharedFunctionInfo that the frame's JSFunction led to; 0: none. Nobody
  // has checked that it is one: a moving collector may have put anything there since.
  uint64_t shared_function = 0;
  uint64_t instance = 0;  // kWasm: untagged, the object in the frame's slot.
  uint64_t regexp = 0;    // kRegExp: untagged, the data of the regular expression.
  // Not an object's: the address of the next instruction. It was interrupted there, or
  // (is_return) a call returns there, so that the call ends in the byte before.
  uint64_t pc = 0;
  bool is_return = false;
  // kInterpreted: from the BytecodeArray's first bytecode on, of the bytecode that runs; -1: not
  // known (no line then, but the function's own).
  int32_t bytecode_offset = -1;
  // What the 32 bits at V8Layout's place of the identity (unique_id, else function_literal_id) of
  // the SharedFunctionInfo were when the frame was sampled. Of kCompiled only the low 16 bits are
  // kept: compare by `check_mask`. Of kStub and kWasm: 0.
  uint32_t check = 0, check_mask = 0;
};

// A frame's words: the first without its kind and range.
V8Frame UnpackFrame(uint64_t first, uint64_t second);

}  // namespace stackray::v8

#endif  // STACKRAY_INTERPRETERS_V8_FRAME_H_
