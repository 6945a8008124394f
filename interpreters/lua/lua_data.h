// What is true of one executable with a Lua inside.
#ifndef STACKRAY_INTERPRETERS_LUA_LUA_DATA_H_
#define STACKRAY_INTERPRETERS_LUA_LUA_DATA_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bpf/shared/lua.h"
#include "interpreters/runtime.h"

namespace stackray {

struct LuaVersion {
  uint32_t major = 0, minor = 0, release = 0;
  friend bool operator==(const LuaVersion&, const LuaVersion&) = default;
};

class LuaData : public RuntimeData {
 public:
  // Not supported() where the version has no layout, or its loop was not found.
  static std::shared_ptr<const LuaData> Make(const LuaVersion& version,
                                             std::vector<FileRange> loop_code);

  FrameType type() const override { return FrameType::kLua; }
  std::string name() const override { return name_; }
  bool supported() const override { return supported_; }
  absl::Status Publish(uint32_t runtime, RuntimeMemory& memory) const override;
  const std::vector<FileRange>& loop_code() const override { return loop_code_; }
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadCode(
      ProcessMemory& memory, uint64_t base, const RuntimePlace& place) const override;
  // All zeros of an unsupported version.
  const lua_layout& layout() const { return layout_; }
  const LuaVersion& version() const { return version_; }

 private:
  std::string name_;
  LuaVersion version_;
  lua_layout layout_ = {};
  bool supported_ = false;
  std::vector<FileRange> loop_code_;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_LUA_LUA_DATA_H_
