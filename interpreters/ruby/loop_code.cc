#include "interpreters/ruby/loop_code.h"

#include "interpreters/jump_target.h"
#include "interpreters/process_memory.h"
#include "interpreters/symbol_finder.h"

namespace stackray {
namespace {

constexpr uint64_t kLeastEntryBytes = 64;  // What asks for the table has ten.

// The largest function that calls `core`.
std::optional<FunctionSpan> FindCaller(const ElfImage& image, const ByteSource& source,
                                       const FunctionStarts& functions, const FunctionSpan& core) {
  const ElfSection* text = image.FindSection(".text");
  if (text == nullptr) return std::nullopt;
  const auto bytes = source.Read(text->file_offset, text->size_bytes, kMaxSectionBytes);
  if (!bytes.ok()) return std::nullopt;
  std::optional<FunctionSpan> found;
  for (size_t at = 0; at + 5 <= bytes->size(); ++at) {
    if ((*bytes)[at] != 0xe8) continue;  // call disp32
    const uint64_t next = text->address + at + 5;
    if (next + static_cast<uint64_t>(int64_t{NumberAt<int32_t>(*bytes, at + 1)}) != core.begin)
      continue;
    const std::optional<FunctionSpan> caller = functions.Find(next - 1);
    if (caller && !(*caller == core) && caller->size_bytes() >= kLeastEntryBytes &&
        (!found || caller->size_bytes() > found->size_bytes()))
      found = caller;
  }
  return found;
}

}  // namespace

std::optional<RubyLoop> FindRubyLoop(const ElfImage& image, const ByteSource& source) {
  const FunctionStarts functions = FunctionStarts::Read(image, source);
  if (functions.empty()) return std::nullopt;
  const std::optional<FunctionSpan> core =
      FindJumpTarget(image, source, functions, kFewestInstructions);
  if (!core) return std::nullopt;
  return RubyLoop{.core = *core, .entry = FindCaller(image, source, functions, *core)};
}

}  // namespace stackray
