// libs: stackray_recorded_lua stackray_fmt
// Lua's frames in memory that says anything: the walk of bpf/lua.h and the reading of names must
// end, stay inside of their buffers and give a bounded number of frames.
//
// The input's first byte chooses: a recorded chain with changes (edited_recording.h), or the rest
// is the process's memory, over and over from address 0 on, so that pointers in it lead to other
// parts of it. Its first two bytes then choose where the search begins, and how far the memory
// reaches.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "bpf/scratch.h"
#include "tests/fuzz/edited_chain.h"
#include "tests/fuzz/input_memory.h"
#include "tests/recorder/lua_chain.h"

namespace {

// Two words and an end a step.
constexpr size_t kMostWords = 24 * STAGED_WORDS;

void WalkAndName(stackray::ProcessMemory& memory, const stackray::LuaData& lua,
                 uint64_t stack_pointer, size_t named) {
  const auto chain = stackray::FirstOf(stackray::WalkLuaChain(memory, lua.layout(), stack_pointer),
                                       kMostWords, named);
  (void)stackray::DescribeChain(lua, chain, 0, memory);
}

void WalkRecorded(std::span<const uint8_t> input) {
  static const auto chains = stackray::ReadChains<stackray::RecordedLua, stackray::LuaData>(
      "lua", stackray::ParseLua,
      [](const stackray::RecordedLua& recorded) { return stackray::DataOf(recorded); });
  stackray::WithEdits(chains, input, [](auto& memory, const auto& recorded, const auto& data) {
    WalkAndName(memory, data, recorded.stack_pointer, stackray::kNamedOfRecorded);
  });
}

void WalkAnything(std::span<const uint8_t> data) {
  if (data.size() < 16) return;
  const auto lua = stackray::LuaData::Make({.major = 5, .minor = 4, .release = 4},
                                           {{.begin = 0x1000, .end = 0x2000}});
  stackray::InputMemory memory(data.subspan(2),
                               (data[1] & 128) != 0 ? stackray::kMostAddress : 65536);
  WalkAndName(memory, *lua, 8 * (data[0] + data[1] % 128u), stackray::kNamedOfAnything);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return stackray::WalkEither(data, size, WalkRecorded, WalkAnything);
}
