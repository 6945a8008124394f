// libs: stackray_recorded_lua stackray_fmt
// Lua's frames in memory that says anything: the walk of bpf/lua.h and the reading of names must end, stay inside of their
// buffers and give a bounded number of frames.
//
// The input's first byte chooses: a recorded chain with changes (edited_recording.h), or the rest is the process's memory,
// over and over from address 0 on, so that pointers in it lead to other parts of it. Its first two bytes then choose
// where the search begins, and how far the memory reaches.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "bpf/scratch.h"
#include "tests/fuzz/edited_recording.h"
#include "tests/fuzz/input_memory.h"
#include "tests/recorder/lua_chain.h"

namespace {

void WalkRecorded(std::span<const uint8_t> input) {
  static const auto chains = stackray::ReadChains<stackray::RecordedLua, stackray::LuaData>(
      "lua", stackray::ParseLua,
      [](const stackray::RecordedLua& recorded) { return stackray::DataOf(recorded); });
  stackray::WithEdits(chains, input, [](const auto& recorded, const auto& data) {
    stackray::RecordedMemory memory(recorded.words);
    const auto chain = stackray::WalkLuaChain(memory, data.layout(), recorded.stack_pointer);
    if (chain.words.size() > 24 * STAGED_WORDS) std::abort();
    const auto first = std::span(chain.words).first(std::min<size_t>(chain.words.size(), 256));
    (void)stackray::DescribeLua(data, {.words = {first.begin(), first.end()}, .sent = {}}, memory);
  });
}

void WalkAnything(const uint8_t* data, size_t size) {
  if (size < 16) return;
  const auto lua = stackray::LuaData::Make({.major = 5, .minor = 4, .release = 4},
                                           {{.begin = 0x1000, .end = 0x2000}});
  stackray::InputMemory memory({data + 2, size - 2},
                               (data[1] & 128) != 0 ? stackray::kMostAddress : 65536);
  const stackray::LuaChain chain =
      stackray::WalkLuaChain(memory, lua->layout(), 8 * (data[0] + data[1] % 128u));
  if (chain.words.size() > 24 * STAGED_WORDS) std::abort();  // Two words and an end a step.
  const auto first = std::span(chain.words).first(std::min<size_t>(chain.words.size(), 64));
  (void)stackray::DescribeLua(*lua, {.words = {first.begin(), first.end()}, .sent = {}}, memory);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  if ((data[0] & 1) != 0)
    WalkRecorded({data + 1, size - 1});
  else
    WalkAnything(data + 1, size - 1);
  return 0;
}
