#include "tests/recorder/lua_chain.h"

#include <fmt/format.h>

#include <memory>

#include "tests/recorder/chain_walk.h"

namespace stackray {
namespace {

#include "bpf/lua.h"

u64 env_running_lua_call(scratch* s, u64 state) { return running_lua_call(s, state); }

}  // namespace

RuntimeChain WalkLuaChain(ProcessMemory& memory, const lua_layout& layout, uint64_t stack_pointer) {
  ChainWalk walk(memory);
  walk.run().layout.lua = layout;
  begin_lua(walk.s(), stack_pointer, 0);
  return walk.Finish(stage_lua_frame);
}

std::string FormatLua(const RecordedLua& recorded) {
  std::string text =
      fmt::format("version {:x} {:x}\nstack {:x} {:x}\n", recorded.version.major,
                  recorded.version.minor, recorded.stack_pointer, recorded.version.release);
  return text + FormatWords(recorded.words);
}

absl::StatusOr<RecordedLua> ParseLua(const std::string& text) {
  RecordedLua recorded;
  const absl::Status status = ParsePairs(
      text, &recorded.words, [&](std::string_view what, uint64_t first, uint64_t second) {
        if (what == "version") {
          recorded.version.major = static_cast<uint32_t>(first);
          recorded.version.minor = static_cast<uint32_t>(second);
        } else if (what == "stack") {
          recorded.stack_pointer = first;
          recorded.version.release = static_cast<uint32_t>(second);
        } else {
          return false;
        }
        return true;
      });
  if (!status.ok()) return status;
  return recorded;
}

std::shared_ptr<const LuaData> DataOf(const RecordedLua& recorded) {
  return LuaData::Make(recorded.version, {{.begin = 0x1000, .end = 0x2000}});
}

}  // namespace stackray
