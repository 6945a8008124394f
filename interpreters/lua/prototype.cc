#include "interpreters/lua/prototype.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "absl/status/status.h"

namespace stackray {
namespace {

constexpr uint64_t kMostTextBytes = 4096;       // Longer ones are cut.
constexpr uint64_t kMostStringBytes = 1 << 30;  // More than any source has: no string.
constexpr int32_t kMostInstructions = 1 << 22, kMostMarks = 1 << 18;
constexpr size_t kMostChunkText = 40;
constexpr int8_t kSaidInFull = -128;  // ABSLINEINFO (ldebug.h): the line is among the marks.

absl::Status Failure(const ProcessMemory& memory) {
  return memory.IsGone() ? absl::NotFoundError("the process is gone")
                         : absl::DataLossError("no prototype any more");
}

std::optional<std::string> ReadString(ProcessMemory& memory, const lua_layout& layout,
                                      uint64_t address) {
  std::array<uint8_t, 24> head{};
  if (address == 0 || !memory.Read(address, head)) return std::nullopt;
  const uint8_t tag = NumberAt<uint8_t>(head, layout.object_tag);
  if ((tag & 0xf) != layout.string_short_tag) return std::nullopt;
  const uint64_t length = tag == layout.string_short_tag
                              ? NumberAt<uint8_t>(head, layout.string_short_length)
                              : NumberAt<uint64_t>(head, layout.string_length);
  if (length > kMostStringBytes) return std::nullopt;
  std::vector<uint8_t> bytes(std::min(length, kMostTextBytes));
  if (bytes.empty()) return "";
  if (!memory.Read(address + layout.string_text, bytes)) {
    // A chunk that is no file is its own name: its begin is enough.
    bytes.resize(std::min<size_t>(bytes.size(), kMostChunkText + 1));
    if (!memory.Read(address + layout.string_text, bytes)) return std::nullopt;
  }
  return std::string(bytes.begin(), bytes.end());
}

// As much of a list as there is, in pieces as BPF sends the first one.
std::vector<uint8_t> ReadList(ProcessMemory& memory, uint64_t address, size_t wanted) {
  std::vector<uint8_t> bytes(wanted);
  for (size_t at = 0; at < wanted;) {
    const size_t piece = at == 0 ? std::min<size_t>(wanted, LUA_LINES_BYTES) : wanted - at;
    if (!memory.Read(address + at, std::span(bytes).subspan(at, piece))) {
      bytes.resize(at);
      break;
    }
    at += piece;
  }
  return bytes;
}

LuaLines ReadLines(ProcessMemory& memory, const lua_layout& layout,
                   std::span<const uint8_t> prototype) {
  LuaLines lines{.first_line = NumberAt<int32_t>(prototype, layout.prototype_first_line)};
  const auto count = NumberAt<int32_t>(prototype, layout.prototype_line_count);
  const auto marks = NumberAt<int32_t>(prototype, layout.prototype_mark_count);
  if (count <= 0 || count > kMostInstructions || marks < 0 || marks > kMostMarks) return lines;
  for (const uint8_t step :
       ReadList(memory, NumberAt<uint64_t>(prototype, layout.prototype_lines), size_t(count)))
    lines.steps.push_back(static_cast<int8_t>(step));
  const std::vector<uint8_t> bytes =
      marks == 0 ? std::vector<uint8_t>{}
                 : ReadList(memory, NumberAt<uint64_t>(prototype, layout.prototype_marks),
                            size_t(marks) * LUA_MARK_BYTES);
  for (size_t at = 0; at + LUA_MARK_BYTES <= bytes.size(); at += LUA_MARK_BYTES)
    lines.marks.push_back(
        {.instruction = NumberAt<int32_t>(bytes, at), .line = NumberAt<int32_t>(bytes, at + 4)});
  return lines;
}

}  // namespace

int64_t LuaLines::LineAt(uint32_t instruction) const {
  if (instruction >= steps.size()) return 0;
  int64_t line = first_line, at = -1;
  for (const LuaLineMark& mark : marks) {
    if (mark.instruction < 0 || static_cast<uint32_t>(mark.instruction) > instruction) break;
    line = mark.line;
    at = mark.instruction;
  }
  for (++at; at <= int64_t{instruction}; ++at) {
    const int8_t step = steps[static_cast<size_t>(at)];
    if (step == kSaidInFull) return 0;  // Its mark was not read.
    line += step;
  }
  return line > 0 ? line : 0;
}

SourceLine LuaPrototype::LineAt(int32_t instruction) const {
  SourceLine line;
  line.function = name_;
  line.file = file_;
  line.start_line = lines_.first_line;
  line.line = lines_.LineAt(static_cast<uint32_t>(instruction));
  return line;
}

std::string LuaChunkName(const std::string& source) {
  if (source.starts_with('@') || source.starts_with('=')) return source.substr(1);
  const size_t end = source.find('\n');
  const std::string first = source.substr(0, std::min(end, kMostChunkText));
  return fmt::format("[string \"{}{}\"]", first, first.size() < source.size() ? "..." : "");
}

absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadLuaPrototype(ProcessMemory& memory,
                                                                    const lua_layout& layout,
                                                                    uint64_t address,
                                                                    uint32_t check) {
  std::array<uint8_t, LUA_PROTOTYPE_BYTES> bytes{};
  if (!memory.Read(address, bytes)) return Failure(memory);
  const auto first_line = NumberAt<uint32_t>(bytes, layout.prototype_first_line);
  const auto source_at = NumberAt<uint64_t>(bytes, layout.prototype_source);
  if (lua_prototype_check(first_line, source_at,
                          NumberAt<uint64_t>(bytes, layout.prototype_instructions),
                          NumberAt<uint64_t>(bytes, layout.prototype_lines)) != check)
    return absl::DataLossError("another prototype by now");
  // Stripped code has no source: Lua shows it as "=?".
  const std::optional<std::string> source =
      source_at == 0 ? std::string("=?") : ReadString(memory, layout, source_at);
  if (!source) return Failure(memory);
  std::string file = LuaChunkName(*source);
  std::string name =
      first_line == 0 ? "main chunk" : fmt::format("function <{}:{}>", file, first_line);
  return std::make_shared<const LuaPrototype>(std::move(name), std::move(file),
                                              ReadLines(memory, layout, bytes));
}

}  // namespace stackray
