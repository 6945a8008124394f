#include "interpreters/v8/loader.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "interpreters/process_memory.h"
#include "interpreters/runtime_file.h"
#include "interpreters/v8/builtins.h"
#include "interpreters/v8/layout.h"
#include "interpreters/v8/plumbing.h"
#include "interpreters/v8/v8_data.h"
#include "symbolizer/cfi/x86_instruction.h"

namespace stackray {
namespace {

// In every version that has postmortem symbols.
constexpr std::string_view kSign = "v8dbg_HeapObjectTag";
constexpr uint64_t kLeastCodeWithoutSymbols = 16 << 20;  // Deno's has 80 MiB.
constexpr uint64_t kMostBuiltinBytes = 64 << 10;

// Is there a reason to look for V8 in a file that has no such symbol?
bool MayBeWithoutSymbols(const ElfImage& image) {
  // Go's programs have none either.
  if (image.FindSection(".eh_frame") != nullptr || image.FindSection(".gopclntab") != nullptr)
    return false;
  return std::ranges::any_of(image.segments(), [](const ElfSegment& segment) {
    return segment.executable && segment.file_bytes >= kLeastCodeWithoutSymbols;
  });
}

std::vector<uint8_t> CodeOf(const v8::Builtin& builtin, const ByteSource& source) {
  std::vector<uint8_t> code(std::min(builtin.bytes, kMostBuiltinBytes));
  if (!source.ReadAt(builtin.file_offset, code).ok()) code.clear();
  return code;
}

std::vector<uint64_t> ReturnsOfInterpreted(const v8::Builtins& builtins, const ByteSource& source) {
  std::vector<uint64_t> returns;
  for (const v8::Builtin& builtin : builtins.all()) {
    if (v8::ResumesBytecodes(builtin.name) && builtin.file_offset > 0)
      returns.push_back(builtin.file_offset - 1);
    if (!v8::RunsBytecodes(builtin.name)) continue;
    const std::vector<uint64_t> found =
        v8::EndsOfCalls(CodeOf(builtin, source), builtin.file_offset);
    returns.insert(returns.end(), found.begin(), found.end());
  }
  return returns;
}

// Adds the calls of the builtins that give frames up. All of them keep the old frame alike.
void AddGivingUp(const v8::Builtins& builtins, const ByteSource& source, v8::V8Layout* layout,
                 std::vector<uint64_t>* returns) {
  for (const v8::Builtin& builtin : builtins.all()) {
    const uint64_t end = builtin.file_offset + builtin.bytes;
    if (!v8::GivesUp(builtin.name) || end > std::numeric_limits<uint32_t>::max()) continue;
    const std::optional<v8::GivingUp> found =
        v8::ReadGivingUp(CodeOf(builtin, source), builtin.file_offset);
    if (!found) continue;
    if (layout->give_up_end == 0) {
      layout->give_up_begin = static_cast<uint32_t>(builtin.file_offset);
      layout->old_frame = found->old_frame;
      layout->old_frame_words = found->old_frame_words;
    }
    if (found->old_frame != layout->old_frame || found->old_frame_words != layout->old_frame_words)
      continue;
    layout->give_up_end = static_cast<uint32_t>(end);
    returns->push_back(found->end_of_call);
  }
}

// Adds the calls of the builtins that resume async functions.
void AddAwaits(const v8::Builtins& builtins, const ByteSource& source, v8::V8Layout* layout,
               std::vector<uint64_t>* returns) {
  for (const v8::Builtin& builtin : builtins.all()) {
    const uint64_t end = builtin.file_offset + builtin.bytes;
    const std::optional<size_t> which = v8::ResumesAwaiting(builtin.name);
    if (!which || end > std::numeric_limits<uint32_t>::max()) continue;
    layout->awaits.at(*which) = {static_cast<uint32_t>(builtin.file_offset),
                                 static_cast<uint32_t>(end)};
    const std::vector<uint64_t> found =
        v8::EndsOfCalls(CodeOf(builtin, source), builtin.file_offset);
    returns->insert(returns->end(), found.begin(), found.end());
  }
}

}  // namespace

std::vector<uint64_t> v8::EndsOfCalls(std::span<const uint8_t> code, uint64_t file_offset) {
  std::vector<uint64_t> ends;
  while (!code.empty()) {
    const cfi::X86Instruction instruction = cfi::DecodeX86(code, file_offset);
    if (instruction.length == 0) break;
    file_offset += instruction.length;
    if (instruction.flow == cfi::FlowEffect::kCall) ends.push_back(file_offset - 1);
    code = code.subspan(instruction.length);
  }
  return ends;
}

std::optional<v8::GivingUp> v8::ReadGivingUp(std::span<const uint8_t> code, uint64_t file_offset) {
  // mov OLD_FRAME(%rax),%rbx, and lea WORDS(%rbx),%rdx in front of the loop that pops them.
  constexpr std::array<uint8_t, 3> kOldFrame = {0x48, 0x8b, 0x58}, kWords = {0x48, 0x8d, 0x93};
  const auto old_frame = std::search(code.begin(), code.end(), kOldFrame.begin(), kOldFrame.end());
  const auto words = std::search(old_frame, code.end(), kWords.begin(), kWords.end());
  if (words == code.end()) return std::nullopt;
  const auto at = static_cast<size_t>(words - code.begin()) + kWords.size();
  const auto distance = NumberAt<uint32_t>(code, at);
  if (distance == 0 || distance > std::numeric_limits<uint16_t>::max()) return std::nullopt;
  for (const uint64_t end : EndsOfCalls(code, file_offset))
    if (end > file_offset + at)
      return GivingUp{.old_frame = old_frame[kOldFrame.size()],
                      .old_frame_words = static_cast<uint16_t>(distance),
                      .end_of_call = end};
  return std::nullopt;
}

std::shared_ptr<const RuntimeData> V8Loader::Recognise(const ElfImage& image,
                                                       const ByteSource& source) const {
  // Nearly every file: no symbol table is read for it.
  const bool has_sign = HasDynamicSymbol(image, source, kSign).value_or(true);
  if (!has_sign && !MayBeWithoutSymbols(image)) return nullptr;
  RuntimeFile file(image, source, kSign, v8::IsLayoutSymbol);
  if (file.Find(kSign) == nullptr && !MayBeWithoutSymbols(image)) return nullptr;
  file.AddAllSymbols(v8::IsLayoutSymbol);
  absl::StatusOr<v8::V8Layout> layout = v8::ReadLayout(file);
  if (!layout.ok()) return nullptr;
  absl::StatusOr<v8::Builtins> builtins = v8::Builtins::Read(image, source);
  if (!builtins.ok()) {
    layout->is_supported = false;
    layout->reason = std::string(builtins.status().message());
    builtins = v8::Builtins();
  }
  if (image.machine() != EM_X86_64) layout->is_supported = false;
  std::vector<uint64_t> returns = ReturnsOfInterpreted(*builtins, source);
  AddGivingUp(*builtins, source, &*layout, &returns);
  if (async_parents_) AddAwaits(*builtins, source, &*layout, &returns);
  std::ranges::sort(returns);
  return std::make_shared<const V8Data>(*std::move(layout), *std::move(builtins),
                                        std::move(returns));
}

}  // namespace stackray
