// The names of JavaScript's frames: what a V8Frame's words lead to in the process's heap.
//
// Input:   the memory of a process that writes meanwhile: nothing is trusted, everything bounded.
// Threads: a function without state; the cache may be used by several.
#ifndef STACKRAY_INTERPRETERS_V8_FUNCTION_NAMES_H_
#define STACKRAY_INTERPRETERS_V8_FUNCTION_NAMES_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "interpreters/process_memory.h"
#include "interpreters/runtime.h"
#include "interpreters/v8/frame.h"
#include "interpreters/v8/layout.h"
#include "interpreters/v8/script.h"

namespace stackray::v8 {

// A function that runs as bytecode. An instruction is a bytecode's offset; -1: not known.
class BytecodeCode : public RuntimeCode {
 public:
  struct Line {
    int32_t bytecode = 0, line = 0, column = 0;
  };
  // `function` has the function's own line; `lines` ascend by bytecode.
  BytecodeCode(SourceLine function, std::vector<Line> lines)
      : function_(std::move(function)), lines_(std::move(lines)) {}
  SourceLine LineAt(int32_t bytecode) const override;
  size_t bytes() const override;

 private:
  const SourceLine function_;
  const std::vector<Line> lines_;
};

// A place in code that V8 has made, or in wasm: an instruction says nothing more.
class PlaceCode : public RuntimeCode {
 public:
  explicit PlaceCode(std::vector<SourceLine> lines) : lines_(std::move(lines)) {}
  SourceLine LineAt(int32_t) const override { return lines_.back(); }
  std::vector<SourceLine> LinesAt(int32_t) const override { return lines_; }
  size_t bytes() const override;

 private:
  const std::vector<SourceLine> lines_;  // Innermost first; never empty.
};

// Errors: NotFound (the process is gone), DataLoss (other content now, or none that makes sense).
absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadV8Code(ProcessMemory& memory,
                                                              const V8Layout& layout,
                                                              ScriptCache& scripts,
                                                              const V8Frame& frame);

}  // namespace stackray::v8

#endif  // STACKRAY_INTERPRETERS_V8_FUNCTION_NAMES_H_
