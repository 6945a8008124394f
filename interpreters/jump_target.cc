#include "interpreters/jump_target.h"

#include <elf.h>

#include <cstring>
#include <vector>

#include "interpreters/process_memory.h"
#include "interpreters/symbol_finder.h"

namespace stackray {
namespace {

// The words that the dynamic linker makes out of the load address and a constant. Sections of a
// damaged file may all lie in one place: together they have one section's bound.
std::vector<PlacedWord> RelativeWords(const ElfImage& image, const ByteSource& source) {
  const uint64_t relative = image.machine() == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
  std::vector<PlacedWord> words;
  uint64_t left_bytes = kMaxSectionBytes;
  for (const ElfSection& section : image.sections()) {
    if (section.type != SHT_RELA) continue;
    const auto bytes = source.Read(section.file_offset, section.size_bytes, left_bytes);
    if (!bytes.ok()) continue;
    left_bytes -= bytes->size();
    for (size_t at = 0; at + sizeof(Elf64_Rela) <= bytes->size(); at += sizeof(Elf64_Rela)) {
      Elf64_Rela entry;
      std::memcpy(&entry, bytes->data() + at, sizeof(entry));
      if (ELF64_R_TYPE(entry.r_info) == relative)
        words.push_back({.place = entry.r_offset, .value = static_cast<uint64_t>(entry.r_addend)});
    }
  }
  return words;
}

// The words of a section that are there already: a program that is not moved, or packed
// relocations.
std::vector<PlacedWord> WordsOf(const ElfSection& section, const ByteSource& source) {
  std::vector<PlacedWord> words;
  const auto bytes = source.Read(section.file_offset, section.size_bytes, kMaxSectionBytes);
  if (!bytes.ok()) return words;
  for (size_t at = 0; at + 8 <= bytes->size(); at += 8)
    words.push_back({.place = section.address + at, .value = NumberAt<uint64_t>(*bytes, at)});
  return words;
}

}  // namespace

std::optional<FunctionSpan> FindJumpTarget(std::span<const PlacedWord> words,
                                           const FunctionStarts& functions, size_t fewest) {
  std::optional<FunctionSpan> best;
  size_t longest = fewest == 0 ? 0 : fewest - 1;
  for (size_t i = 0; i < words.size();) {
    const std::optional<FunctionSpan> function = functions.Find(words[i].value);
    size_t end = i + 1;
    while (function && end < words.size() && words[end].place == words[end - 1].place + 8 &&
           function->Contains(words[end].value))
      ++end;
    if (function && end - i > longest) {
      longest = end - i;
      best = function;
    }
    i = end;
  }
  return best;
}

std::optional<FunctionSpan> FindJumpTarget(const ElfImage& image, const ByteSource& source,
                                           const FunctionStarts& functions, size_t fewest) {
  if (auto core = FindJumpTarget(RelativeWords(image, source), functions, fewest)) return core;
  for (const char* name : {".data.rel.ro", ".rodata"}) {
    const ElfSection* section = image.FindSection(name);
    if (section == nullptr || section->type != SHT_PROGBITS) continue;
    if (auto core = FindJumpTarget(WordsOf(*section, source), functions, fewest)) return core;
  }
  return std::nullopt;
}

}  // namespace stackray
