#include "interpreters/jit/gdb_jit_rows.h"

#include <elf.h>

#include <optional>
#include <utility>

#include "symbolizer/elf_image.h"

namespace stackray {
namespace {

constexpr uint64_t kUserEnd = uint64_t{1} << 47;
constexpr size_t kMostCodeSections = 4096;  // LLVM may make one for each function.

std::vector<cfi::AddressRange> CodeOf(const ElfImage& image) {
  std::vector<cfi::AddressRange> code;
  for (const ElfSection& section : image.sections())
    if ((section.flags & SHF_EXECINSTR) != 0 && section.size_bytes > 0 && section.address != 0 &&
        section.address < kUserEnd && section.size_bytes < kUserEnd - section.address &&
        code.size() < kMostCodeSections)
      code.push_back({section.address, section.address + section.size_bytes});
  return code;
}

// One section of entries, tried wherever it may be.
class EntrySection {
 public:
  EntrySection(ProcessMemory& memory, const GdbJitEntry& entry, const ElfImage& image,
               const ElfSection& section, const std::vector<cfi::AddressRange>& code)
      : memory_(memory),
        entry_(entry),
        image_(image),
        section_(section),
        code_(code),
        machine_(*cfi::Machine::Of(image.machine())),
        text_address_(TextAddress(image)) {}

  std::vector<cfi::CodeRows> ReadDebugFrame() const { return FromFile(0, true); }

  std::vector<cfi::CodeRows> ReadEhFrame() const {
    std::vector<cfi::CodeRows> rows;
    if (section_.address != 0) {
      rows = FromMemory(section_.address);
      if (rows.empty()) rows = FromFile(section_.address, false);
    }
    const ElfSection* const text = FirstCode();
    if (rows.empty() && text != nullptr)
      rows = FromFile(text->address + section_.file_offset - text->file_offset, false);
    return rows.empty() ? FromFile(entry_.elf + section_.file_offset, false) : rows;
  }

 private:
  // LuaJIT's entries are relative to it.
  static std::optional<uint64_t> TextAddress(const ElfImage& image) {
    const ElfSection* const text = image.FindSection(".text");
    if (text == nullptr || text->address == 0) return std::nullopt;
    return text->address;
  }

  const ElfSection* FirstCode() const {
    for (const ElfSection& section : image_.sections())
      if ((section.flags & SHF_EXECINSTR) != 0 && section.address != 0) return &section;
    return nullptr;
  }

  std::vector<cfi::CodeRows> FromMemory(uint64_t address) const {
    std::vector<uint8_t> bytes(section_.size_bytes);
    if (!memory_.Read(address, bytes)) return {};
    return cfi::ReadCodeRows({.bytes = bytes, .address = address, .text_address = text_address_},
                             machine_, code_);
  }

  std::vector<cfi::CodeRows> FromFile(uint64_t address, bool is_debug_frame) const {
    const auto bytes = ProcessBytes(memory_, entry_.elf, entry_.size_bytes)
                           .Read(section_.file_offset, section_.size_bytes, kMaxEntryBytes);
    if (!bytes.ok()) return {};
    return cfi::ReadCodeRows({.bytes = *bytes,
                              .address = address,
                              .is_debug_frame = is_debug_frame,
                              .text_address = text_address_},
                             machine_, code_);
  }

  ProcessMemory& memory_;
  const GdbJitEntry& entry_;
  const ElfImage& image_;
  const ElfSection& section_;
  const std::vector<cfi::AddressRange>& code_;
  const cfi::Machine& machine_;
  const std::optional<uint64_t> text_address_;
};

}  // namespace

absl::StatusOr<JitElfRows> RowsOfJitElf(ProcessMemory& memory, const GdbJitEntry& entry) {
  const absl::StatusOr<ElfImage> image =
      ElfImage::Create(ProcessBytes(memory, entry.elf, entry.size_bytes));
  if (!image.ok()) return image.status();
  if (cfi::Machine::Of(image->machine()) == nullptr)
    return absl::UnimplementedError("JIT code of another machine");
  JitElfRows found{.code = CodeOf(*image), .rows = {}};
  for (const ElfSection& section : image->sections()) {
    if (section.type == SHT_NOBITS || section.size_bytes == 0 ||
        section.size_bytes > kMaxEntryBytes || (section.flags & SHF_COMPRESSED) != 0)
      continue;
    const EntrySection entries(memory, entry, *image, section, found.code);
    std::vector<cfi::CodeRows> rows;
    if (section.name == ".eh_frame") rows = entries.ReadEhFrame();
    if (section.name == ".debug_frame" && found.rows.empty()) rows = entries.ReadDebugFrame();
    for (cfi::CodeRows& one : rows) found.rows.push_back(std::move(one));
  }
  return found;
}

}  // namespace stackray
