// Recognises executables and libraries that hold V8, whatever they are called: Node, Deno, libnode.
//
// By: its postmortem symbols (v8dbg_*) among the dynamic symbols; where a large file has no symbols
// of that kind and no call frame information (Deno), by its version's text and its builtins.
#ifndef STACKRAY_INTERPRETERS_V8_LOADER_H_
#define STACKRAY_INTERPRETERS_V8_LOADER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "interpreters/runtime.h"

namespace stackray {

class V8Loader : public RuntimeLoader {
 public:
  // `async_parents`: functions that await those of a stack are to be found (bpf/v8_async.h).
  explicit V8Loader(bool async_parents = false) : async_parents_(async_parents) {}
  std::shared_ptr<const RuntimeData> Recognise(const ElfImage& image,
                                               const ByteSource& source) const override;

 private:
  const bool async_parents_;
};

namespace v8 {

// File offsets of the last bytes of the calls in `code`, which begins at `file_offset`.
std::vector<uint64_t> EndsOfCalls(std::span<const uint8_t> code, uint64_t file_offset);

// What the code of a builtin that gives a frame up says: where it keeps the old one
// (v8_process::old_frame), and the last byte of its call of what makes the new ones.
struct GivingUp {
  uint16_t old_frame = 0, old_frame_words = 0;
  uint64_t end_of_call = 0;
};
std::optional<GivingUp> ReadGivingUp(std::span<const uint8_t> code, uint64_t file_offset);

}  // namespace v8

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_V8_LOADER_H_
