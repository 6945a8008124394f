#include "interpreters/lua/loader.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include "interpreters/jump_target.h"
#include "interpreters/lua/lua_data.h"
#include "interpreters/runtime_file.h"

namespace stackray {
namespace {

constexpr std::string_view kIdent = "lua_ident", kNewState = "lua_newstate", kLoop = "luaV_execute";
constexpr std::string_view kBeforeVersion = "Lua ";
constexpr uint64_t kIdentBytes = 160;
constexpr size_t kFewestInstructions = 75;  // 5.4 has 83.

bool IsWanted(std::string_view name) {
  return name == kIdent || name == kNewState || name == kLoop;
}

// "$LuaVersion: Lua 5.4.4  Copyright …"
LuaVersion ParseVersion(std::string_view text) {
  const size_t at = text.find(kBeforeVersion);
  if (at == std::string_view::npos) return {};
  const char* end = text.data() + text.size();
  LuaVersion version;
  const auto [dot, error] =
      std::from_chars(text.data() + at + kBeforeVersion.size(), end, version.major);
  if (error != std::errc() || dot == end || *dot != '.') return {};
  const auto [second, bad] = std::from_chars(dot + 1, end, version.minor);
  if (bad != std::errc()) return {};
  if (second != end && *second == '.')  // 5.0 and betas have none.
    std::from_chars(second + 1, end, version.release);
  return version;
}

std::vector<FileRange> FindLoop(const RuntimeFile& file) {
  std::vector<FileRange> loop;
  file.AddRange(kLoop, &loop);
  if (!loop.empty()) return loop;
  const FunctionStarts functions = FunctionStarts::Read(file.image(), file.source());
  const std::optional<FunctionSpan> found =
      FindJumpTarget(file.image(), file.source(), functions, kFewestInstructions);
  if (found) file.AddRange(found->begin, found->size_bytes(), &loop);
  return loop;
}

}  // namespace

std::shared_ptr<const RuntimeData> LuaLoader::Recognise(const ElfImage& image,
                                                        const ByteSource& source) const {
  // Nearly every file: no symbol table is read for it.
  if (!HasDynamicSymbol(image, source, kIdent).value_or(true)) return nullptr;
  RuntimeFile file(image, source, kNewState, IsWanted);
  if (file.Find(kIdent) == nullptr || file.Find(kNewState) == nullptr) return nullptr;
  file.AddAllSymbols(IsWanted);
  const std::vector<uint8_t> text = file.BytesAt(file.AddressOf(kIdent), kIdentBytes);
  const LuaVersion version =
      ParseVersion({reinterpret_cast<const char*>(text.data()), text.size()});
  return LuaData::Make(version, FindLoop(file));
}

}  // namespace stackray
