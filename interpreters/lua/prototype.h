// What names a frame of Lua's: a function's prototype, with its chunk's name and the lines of its
// instructions.
//
// A function is a value and has no name; the name that Lua's tracebacks sometimes have is that of
// the variable it was called by. So it is named as those do without one: "function <file:line>",
// "main chunk".
// Input:   the memory of a process that writes meanwhile: nothing is trusted, everything bounded.
// Threads: functions without state; a LuaPrototype is immutable.
#ifndef STACKRAY_INTERPRETERS_LUA_PROTOTYPE_H_
#define STACKRAY_INTERPRETERS_LUA_PROTOTYPE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bpf/shared/lua.h"
#include "interpreters/process_memory.h"
#include "interpreters/runtime.h"

namespace stackray {

// An instruction whose line is said in full.
struct LuaLineMark {
  int32_t instruction = 0, line = 0;
};

struct LuaLines {
  int32_t first_line = 0;          // Of the function.
  std::vector<int8_t> steps;       // From the instruction before to this one.
  std::vector<LuaLineMark> marks;  // Ascending; where the steps begin anew.

  // 0: not known.
  int64_t LineAt(uint32_t instruction) const;
  size_t bytes() const { return steps.size() + marks.size() * sizeof(LuaLineMark); }
};

class LuaPrototype : public RuntimeCode {
 public:
  LuaPrototype(std::string name, std::string file, LuaLines lines)
      : name_(std::move(name)), file_(std::move(file)), lines_(std::move(lines)) {}

  SourceLine LineAt(int32_t instruction) const override;
  size_t bytes() const override {
    return sizeof(*this) + name_.size() + file_.size() + lines_.bytes();
  }

 private:
  const std::string name_, file_;
  const LuaLines lines_;
};

// As Lua shows a chunk's name (luaO_chunkid): "@file" and "=text" without their first sign, of
// other text its first line.
std::string LuaChunkName(const std::string& source);

// Errors: as RuntimeData::ReadCode.
absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadLuaPrototype(ProcessMemory& memory,
                                                                    const lua_layout& layout,
                                                                    uint64_t address,
                                                                    uint32_t check);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_LUA_PROTOTYPE_H_
