// The layouts are <elf.h>'s, as the System V ABI's chapter "Object Files" and the gABI's extended
// numbering describe them. Both machines we run on are little endian, so headers are copied as they
// are.
#include "symbolizer/elf_image.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace stackray {
namespace {

constexpr uint64_t kMaxHeaders = 65536;
constexpr uint64_t kMaxSectionNameBytes = 8 << 20;
constexpr uint64_t kMaxOneNoteBytes = 64 << 10;
constexpr uint64_t kMaxNoteBytes = 1 << 20;
constexpr uint32_t kGnuSframe =
    PT_LOOS + 0x474e554;  // PT_GNU_SFRAME, which <elf.h> has from glibc 2.40 on.

template <typename T>
absl::StatusOr<T> ReadStruct(const ByteSource& source, uint64_t offset) {
  T value;
  const std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(&value), sizeof(value));
  if (absl::Status status = source.ReadAt(offset, bytes); !status.ok()) return status;
  return value;
}

template <typename T>
absl::StatusOr<std::vector<T>> ReadTable(const ByteSource& source, uint64_t offset,
                                         uint64_t count) {
  if (count > kMaxHeaders) return absl::DataLossError("more ELF headers than the bound");
  const uint64_t size_bytes = count * sizeof(T);
  if (offset > source.size_bytes() || size_bytes > source.size_bytes() - offset)
    return absl::DataLossError("ELF headers outside of the file");
  std::vector<T> table(count);
  const std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(table.data()), size_bytes);
  if (absl::Status status = source.ReadAt(offset, bytes); !status.ok()) return status;
  return table;
}

bool Wraps(uint64_t start, uint64_t size) {
  return size > std::numeric_limits<uint64_t>::max() - start;
}

absl::StatusOr<Elf64_Ehdr> ReadFileHeader(const ByteSource& source) {
  if (source.size_bytes() < sizeof(Elf64_Ehdr)) return absl::DataLossError("too short for ELF");
  absl::StatusOr<Elf64_Ehdr> header = ReadStruct<Elf64_Ehdr>(source, 0);
  if (!header.ok()) return header;
  if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return absl::DataLossError("not an ELF file");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
    return absl::UnimplementedError("ELF file that is not 64-bit little endian");
  if (header->e_machine != EM_X86_64 && header->e_machine != EM_AARCH64)
    return absl::UnimplementedError("ELF file of another machine");
  return header;
}

// What a failed read of something optional means: damage costs that thing alone, but an I/O error
// may pass, and an answer without it would not.
absl::Status OnlyUnavailable(const absl::Status& status) {
  return absl::IsUnavailable(status) ? status : absl::OkStatus();
}

// Section 0 holds the numbers that do not fit the file header.
absl::StatusOr<Elf64_Shdr> SectionZero(const ByteSource& source, const Elf64_Ehdr& header) {
  if (header.e_shoff == 0 || header.e_shentsize != sizeof(Elf64_Shdr))
    return absl::DataLossError("no ELF section headers");
  return ReadStruct<Elf64_Shdr>(source, header.e_shoff);
}

// The zero-terminated string at `offset`, at most `budget` bytes of it; "" outside of the table.
std::string NameAt(const std::vector<uint8_t>& table, uint64_t offset, uint64_t budget) {
  if (offset >= table.size()) return {};
  const char* start = reinterpret_cast<const char*>(table.data()) + offset;
  const size_t length = strnlen(start, table.size() - offset);
  if (length > budget) return {};
  return std::string(start, length);
}

}  // namespace

absl::StatusOr<ElfImage> ElfImage::Create(const ByteSource& source) {
  absl::StatusOr<Elf64_Ehdr> header = ReadFileHeader(source);
  if (!header.ok()) return header.status();
  ElfImage image;
  image.machine_ = header->e_machine;
  image.file_type_ = header->e_type;
  image.entry_ = header->e_entry;
  if (absl::Status status = image.ReadProgramHeaders(source, *header); !status.ok()) return status;
  if (absl::Status status = image.ReadSections(source, *header); !status.ok()) return status;
  if (absl::Status status = image.ReadNotes(source); !status.ok()) return status;
  return image;
}

absl::Status ElfImage::ReadProgramHeaders(const ByteSource& source, const Elf64_Ehdr& header) {
  uint64_t count = header.e_phnum;
  if (count == PN_XNUM) {
    const absl::StatusOr<Elf64_Shdr> zero = SectionZero(source, header);
    if (absl::IsUnavailable(zero.status())) return zero.status();
    if (!zero.ok()) return absl::DataLossError("ELF program header count is not in the file");
    count = zero->sh_info;
  }
  if (count == 0) return absl::OkStatus();
  if (header.e_phentsize != sizeof(Elf64_Phdr))
    return absl::DataLossError("ELF program headers of another size");
  absl::StatusOr<std::vector<Elf64_Phdr>> table =
      ReadTable<Elf64_Phdr>(source, header.e_phoff, count);
  if (!table.ok()) return table.status();
  for (const Elf64_Phdr& program : *table) {
    if (Wraps(program.p_vaddr, program.p_memsz) || Wraps(program.p_offset, program.p_filesz))
      continue;
    if (program.p_type == PT_LOAD) {
      segments_.push_back({program.p_offset, program.p_vaddr,
                           std::min(program.p_filesz, program.p_memsz), program.p_memsz,
                           (program.p_flags & PF_X) != 0});
    } else if (program.p_type == PT_NOTE) {
      note_segments_.emplace_back(program.p_offset, program.p_filesz);
    } else if (program.p_type == PT_GNU_EH_FRAME) {
      eh_frame_header_address_ = program.p_vaddr;
    } else if (program.p_type == PT_DYNAMIC) {
      dynamic_ = Dynamic{.address = program.p_vaddr, .size_bytes = program.p_filesz};
    } else if (program.p_type == kGnuSframe) {
      sframe_address_ = program.p_vaddr;
    }
  }
  return absl::OkStatus();
}

absl::Status ElfImage::ReadSections(const ByteSource& source, const Elf64_Ehdr& header) {
  const absl::StatusOr<Elf64_Shdr> zero = SectionZero(source, header);
  if (!zero.ok()) return OnlyUnavailable(zero.status());
  const uint64_t count = header.e_shnum == 0 ? zero->sh_size : header.e_shnum;
  const uint64_t name_index = header.e_shstrndx == SHN_XINDEX ? zero->sh_link : header.e_shstrndx;
  absl::StatusOr<std::vector<Elf64_Shdr>> table =
      ReadTable<Elf64_Shdr>(source, header.e_shoff, count);
  if (!table.ok()) return OnlyUnavailable(table.status());

  std::vector<uint8_t> names;
  if (name_index < table->size() && (*table)[name_index].sh_type != SHT_NOBITS) {
    const Elf64_Shdr& section = (*table)[name_index];
    absl::StatusOr<std::vector<uint8_t>> bytes =
        source.Read(section.sh_offset, section.sh_size, kMaxSectionNameBytes);
    if (absl::IsUnavailable(bytes.status())) return bytes.status();
    if (bytes.ok()) names = *std::move(bytes);
  }
  uint64_t budget = kMaxSectionNameBytes;  // Many sections may claim the same long name.
  sections_.reserve(table->size());
  for (const Elf64_Shdr& section : *table) {
    std::string name = NameAt(names, section.sh_name, budget);
    budget -= name.size();
    sections_.push_back({std::move(name), section.sh_type, section.sh_flags, section.sh_addr,
                         section.sh_offset, section.sh_size, section.sh_entsize, section.sh_link,
                         section.sh_info});
  }
  return absl::OkStatus();
}

absl::Status ElfImage::ReadNotes(const ByteSource& source) {
  std::vector<std::pair<uint64_t, uint64_t>> places;
  for (const ElfSection& section : sections_)
    if (section.type == SHT_NOTE) places.emplace_back(section.file_offset, section.size_bytes);
  if (places.empty()) places = note_segments_;
  uint64_t budget = kMaxNoteBytes;
  for (const auto& [offset, size_bytes] : places) {
    const uint64_t wanted = std::min({size_bytes, kMaxOneNoteBytes, budget});
    if (wanted == 0) continue;
    absl::StatusOr<std::vector<uint8_t>> bytes = source.Read(offset, wanted, wanted);
    if (absl::IsUnavailable(bytes.status())) return bytes.status();
    if (!bytes.ok()) continue;
    budget -= wanted;
    notes_.push_back(*std::move(bytes));
  }
  return absl::OkStatus();
}

const ElfSection* ElfImage::FindSection(std::string_view name) const {
  for (const ElfSection& section : sections_)
    if (section.name == name) return &section;
  return nullptr;
}

std::optional<uint64_t> AddressOfOffset(std::span<const ElfSegment> segments,
                                        uint64_t file_offset) {
  std::optional<uint64_t> found;
  for (const ElfSegment& segment : segments) {
    if (file_offset < segment.file_offset) continue;
    const uint64_t inside = file_offset - segment.file_offset;
    if (inside >= segment.file_bytes) continue;
    if (segment.executable) return segment.address + inside;
    if (!found) found = segment.address + inside;
  }
  return found;
}

std::optional<uint64_t> ElfImage::OffsetOfAddress(uint64_t address) const {
  std::optional<uint64_t> found;
  for (const ElfSegment& segment : segments_) {
    if (address < segment.address) continue;
    const uint64_t inside = address - segment.address;
    if (inside >= segment.file_bytes) continue;
    if (segment.executable) return segment.file_offset + inside;
    if (!found) found = segment.file_offset + inside;
  }
  return found;
}

}  // namespace stackray
