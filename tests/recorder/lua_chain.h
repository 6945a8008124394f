// Lua's frames walked on the host: the same C as in BPF (bpf/lua.h), over any memory; and
// recordings of that memory.
//
// A recording is text, one fact a line, numbers in hex:
//   version MAJOR MINOR
//   stack POINTER RELEASE      where the search for a state begins; 4 of 5.4.4
//   word ADDRESS VALUE         a word of its memory, 8-byte aligned
// Input:   fixtures of this tree; ParseLua() still checks what it reads.
#ifndef STACKRAY_TESTS_RECORDER_LUA_CHAIN_H_
#define STACKRAY_TESTS_RECORDER_LUA_CHAIN_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "interpreters/lua/lua_data.h"
#include "interpreters/process_memory.h"
#include "tests/recorder/recorded_memory.h"
#include "tests/recorder/runtime_chain.h"

namespace stackray {

// Ends after a bounded number of frames, whatever the memory says.
RuntimeChain WalkLuaChain(ProcessMemory& memory, const lua_layout& layout, uint64_t stack_pointer);

struct RecordedLua {
  LuaVersion version;
  uint64_t stack_pointer = 0;
  MemoryWords words;
};
std::string FormatLua(const RecordedLua& recorded);
// Errors: DataLoss, with the line.
absl::StatusOr<RecordedLua> ParseLua(const std::string& text);
// Of that version, with some code for its loop.
std::shared_ptr<const LuaData> DataOf(const RecordedLua& recorded);

}  // namespace stackray

#endif  // STACKRAY_TESTS_RECORDER_LUA_CHAIN_H_
