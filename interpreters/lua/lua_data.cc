#include "interpreters/lua/lua_data.h"

#include <fmt/format.h>

#include <utility>

#include "absl/status/status.h"
#include "interpreters/lua/prototype.h"

namespace stackray {
namespace {

// lobject.h, lstate.h and ltm.h of Lua 5.4.4; the fields named here lie where they lie from 5.4.3
// to 5.4.8 on x86-64.
constexpr uint32_t kFirstRelease =
    3;  // Before it nCcalls counted in another way, at another place.
constexpr lua_layout kLayout54 = {
    .object_tag = 8,
    .tag_thread = 8,
    .state_status = 10,
    .state_global = 24,
    .state_call = 32,
    .state_stack = 48,
    .state_stack_end = 40,
    .global_registry = 64,
    .table_array = 16,
    .call_function = 0,
    .call_previous = 16,
    .call_instruction = 32,
    .call_status = 62,
    .call_is_c = 1 << 1,
    .call_is_fresh = 1 << 2,
    .call_is_protected = 1 << 4,
    .closure_prototype = 24,
    .prototype_instructions = 64,
    .prototype_size = 24,
    .prototype_lines = 88,
    .prototype_line_count = 28,
    .prototype_marks = 96,
    .prototype_mark_count = 40,
    .prototype_source = 112,
    .prototype_first_line = 44,
    .string_short_tag = 4,
    .string_short_length = 11,
    .string_length = 16,
    .string_text = 24,
};

}  // namespace

std::shared_ptr<const LuaData> LuaData::Make(const LuaVersion& version,
                                             std::vector<FileRange> loop_code) {
  auto data = std::make_shared<LuaData>();
  data->name_ = version == LuaVersion{} ? "lua of no known version"
                                        : fmt::format("lua {}.{}", version.major, version.minor);
  data->version_ = version;
  data->loop_code_ = std::move(loop_code);
  data->supported_ = version.major == 5 && version.minor == 4 && version.release >= kFirstRelease &&
                     !data->loop_code_.empty();
  if (!data->supported_) return data;
  data->layout_ = kLayout54;
  data->layout_.loop_begin = data->loop_code_.front().begin;
  data->layout_.loop_end = data->loop_code_.front().end;
  return data;
}

absl::Status LuaData::Publish(uint32_t runtime, RuntimeMemory& memory) const {
  runtime_layout layout{};
  layout.kind = supported() ? RUNTIME_LUA : RUNTIME_NONE;
  layout.lua = layout_;
  return memory.Put(runtime, layout);
}

absl::StatusOr<std::shared_ptr<const RuntimeCode>> LuaData::ReadCode(
    ProcessMemory& memory, uint64_t /*base*/, const RuntimePlace& place) const {
  if (!supported()) return absl::DataLossError("an unsupported version");
  return ReadLuaPrototype(memory, layout_, place.code, static_cast<uint32_t>(place.check));
}

}  // namespace stackray
