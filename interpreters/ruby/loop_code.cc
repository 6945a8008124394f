#include "interpreters/ruby/loop_code.h"

#include <elf.h>

#include <span>

#include "interpreters/arm64_trace.h"
#include "interpreters/jump_target.h"
#include "interpreters/process_memory.h"
#include "interpreters/symbol_finder.h"

namespace stackray {
namespace {

constexpr uint64_t kLeastEntryBytes = 64;  // What asks for the table has ten.

// Of the call, if there is one at `at`, whose address this is.
std::optional<uint64_t> X86CallTarget(std::span<const uint8_t> code, size_t at, uint64_t address) {
  if (code[at] != 0xe8) return std::nullopt;  // call disp32
  return address + 5 + static_cast<uint64_t>(int64_t{NumberAt<int32_t>(code, at + 1)});
}

// The largest function that calls `core`.
std::optional<FunctionSpan> FindCaller(const ElfImage& image, const ByteSource& source,
                                       const FunctionStarts& functions, const FunctionSpan& core) {
  const ElfSection* text = image.FindSection(".text");
  if (text == nullptr) return std::nullopt;
  const auto bytes = source.Read(text->file_offset, text->size_bytes, kMaxSectionBytes);
  if (!bytes.ok()) return std::nullopt;
  const bool is_arm64 = image.machine() == EM_AARCH64;
  std::optional<FunctionSpan> found;
  for (size_t at = 0; at + 5 <= bytes->size(); at += is_arm64 ? 4 : 1) {
    const uint64_t address = text->address + at;
    const std::optional<uint64_t> target =
        is_arm64 ? Arm64CallTarget(NumberAt<uint32_t>(*bytes, at), address)
                 : X86CallTarget(*bytes, at, address);
    if (target != core.begin) continue;
    const std::optional<FunctionSpan> caller = functions.Find(address);
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
