#include "symbolizer/dwarf/debug_sections.h"

#include <elf.h>

#include <string_view>
#include <utility>

#include "symbolizer/dwarf/inflate.h"

namespace stackray::dwarf {
namespace {

struct NamedPart {
  std::string_view name;  // Behind ".debug_" or ".zdebug_", without ".dwo".
  SectionPart SectionParts::*part;
};
constexpr NamedPart kNames[] = {
    {"info", &SectionParts::info},          {"abbrev", &SectionParts::abbrev},
    {"line", &SectionParts::line},          {"str", &SectionParts::str},
    {"line_str", &SectionParts::line_str},  {"str_offsets", &SectionParts::str_offsets},
    {"addr", &SectionParts::addr},          {"ranges", &SectionParts::ranges},
    {"rnglists", &SectionParts::rnglists},  {"aranges", &SectionParts::aranges},
    {"cu_index", &SectionParts::unit_index}};

// The member for a section's name, or nullptr. In a split file only .dwo names count, and the
// index.
SectionPart SectionParts::*MemberFor(std::string_view name, bool split, bool* gnu_packed) {
  constexpr std::string_view kPlain = ".debug_", kPacked = ".zdebug_", kSplit = ".dwo";
  *gnu_packed = name.starts_with(kPacked);
  if (!*gnu_packed && !name.starts_with(kPlain)) return nullptr;
  name.remove_prefix(*gnu_packed ? kPacked.size() : kPlain.size());
  const bool of_split = name.ends_with(kSplit);
  if (of_split) name.remove_suffix(kSplit.size());
  if (of_split != (split && name != "cu_index")) return nullptr;
  for (const NamedPart& named : kNames)
    if (named.name == name) return named.part;
  return nullptr;
}

}  // namespace

DebugSections DebugSections::Open(const ElfImage& image, const ByteSource& source, bool split,
                                  const ScratchSettings& scratch) {
  DebugSections sections;
  sections.directory_ = scratch.directory;
  sections.most_in_all_bytes_ = scratch.most_in_all_bytes;
  sections.left_bytes_ = scratch.max_unpacked_bytes;
  for (const ElfSection& section : image.sections()) {
    bool gnu_packed = false;
    SectionPart SectionParts::*const member = MemberFor(section.name, split, &gnu_packed);
    if (member == nullptr || section.type == SHT_NOBITS) continue;
    SectionPart& part = sections.parts_.*member;
    if (!part.empty() || section.file_offset > source.size_bytes() ||
        section.size_bytes > source.size_bytes() - section.file_offset)
      continue;
    const SectionPart stored{&source, section.file_offset, section.size_bytes};
    if (!gnu_packed && (section.flags & SHF_COMPRESSED) == 0) {
      part = stored;
    } else if (member == &SectionParts::aranges) {
      sections.packed_address_sets_ = Packed{stored, gnu_packed};
    } else {
      part = sections.Unpack({stored, gnu_packed});
    }
  }
  return sections;
}

SectionPart DebugSections::AddressSets() {
  if (packed_address_sets_ && parts_.aranges.empty())
    parts_.aranges = Unpack(*packed_address_sets_);
  packed_address_sets_.reset();
  return parts_.aranges;
}

SectionPart DebugSections::Unpack(const Packed& packed) {
  absl::StatusOr<std::unique_ptr<ScratchFile>> file =
      ScratchFile::Create(directory_, left_bytes_, most_in_all_bytes_);
  if (!file.ok()) return {};
  const absl::Status status = packed.is_gnu ? InflateGnuSection(packed.stored, **file)
                                            : InflateSection(packed.stored, **file);
  left_bytes_ -= (*file)->size_bytes();
  if (!status.ok()) return {};
  const SectionPart part{file->get(), 0, (*file)->size_bytes()};
  unpacked_.push_back(*std::move(file));
  return part;
}

}  // namespace stackray::dwarf
