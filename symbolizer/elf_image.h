// Headers of one ELF file: segments, sections, notes. x86-64 and arm64, 64-bit little endian.
// Input:   a foreign process's file, so nothing in it is trusted.
// Memory:  the headers, section names and notes only (at most 65,536 of each header, 8 MiB of
// section
//          names, 1 MiB of notes); what is over a bound is left out, never an error.
// Threads: immutable after Create().
#ifndef STACKRAY_SYMBOLIZER_ELF_IMAGE_H_
#define STACKRAY_SYMBOLIZER_ELF_IMAGE_H_

#include <elf.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "symbolizer/byte_source.h"

namespace stackray {

struct ElfSegment {  // A PT_LOAD.
  uint64_t file_offset = 0, address = 0, file_bytes = 0, memory_bytes = 0;
  bool executable = false;
};

struct ElfSection {
  std::string name;
  uint32_t type = 0;
  uint64_t flags = 0, address = 0, file_offset = 0, size_bytes = 0, entry_bytes = 0;
  uint32_t link = 0, info = 0;
};

// The ELF address of a byte of the file, through PT_LOADs; nullopt outside of their file bytes.
// Where two segments claim the same byte, the executable one answers.
std::optional<uint64_t> AddressOfOffset(std::span<const ElfSegment> segments, uint64_t file_offset);

class ElfImage {
 public:
  // Errors: DataLoss (not ELF, or headers outside the file), Unimplemented (32-bit, big endian,
  // other machine), Unavailable (I/O error). A damaged section table costs the sections, not the
  // segments.
  static absl::StatusOr<ElfImage> Create(const ByteSource& source);

  uint16_t machine() const { return machine_; }      // EM_X86_64, EM_AARCH64.
  uint16_t file_type() const { return file_type_; }  // ET_EXEC, ET_DYN, ET_REL (modules), ET_CORE.
  uint64_t entry() const { return entry_; }
  const std::vector<ElfSegment>& segments() const { return segments_; }
  const std::vector<ElfSection>& sections() const { return sections_; }
  const ElfSection* FindSection(
      std::string_view name) const;  // nullptr: none. Lives as long as this.

  // PT_GNU_EH_FRAME's address (the .eh_frame_hdr), which survives stripping of section headers.
  std::optional<uint64_t> eh_frame_header_address() const { return eh_frame_header_address_; }
  // PT_DYNAMIC's address and size: what the dynamic loader reads, and so is there in every dynamic
  // file.
  struct Dynamic {
    uint64_t address = 0, size_bytes = 0;
  };
  std::optional<Dynamic> dynamic() const { return dynamic_; }
  // PT_GNU_SFRAME's (the .sframe), likewise.
  std::optional<uint64_t> sframe_address() const { return sframe_address_; }

  // ELF address ↔ file offset through the PT_LOADs; nullopt outside of them or of their file bytes.
  // Where two segments claim the same byte, the executable one answers.
  std::optional<uint64_t> AddressOfOffset(uint64_t file_offset) const {
    return stackray::AddressOfOffset(segments_, file_offset);
  }
  std::optional<uint64_t> OffsetOfAddress(uint64_t address) const;

  // Contents of all SHT_NOTE sections, or of all PT_NOTE segments where there is no such section:
  // raw bytes, at most the first 64 KiB of each. For build ids; a note outside of the file is left
  // out.
  const std::vector<std::vector<uint8_t>>& notes() const { return notes_; }

 private:
  ElfImage() = default;
  absl::Status ReadProgramHeaders(const ByteSource& source, const Elf64_Ehdr& header);
  absl::Status ReadSections(const ByteSource& source, const Elf64_Ehdr& header);
  absl::Status ReadNotes(const ByteSource& source);

  uint16_t machine_ = 0, file_type_ = 0;
  uint64_t entry_ = 0;
  std::vector<ElfSegment> segments_;
  std::vector<ElfSection> sections_;
  std::vector<std::pair<uint64_t, uint64_t>> note_segments_;  // File offset, bytes of each PT_NOTE.
  std::optional<uint64_t> eh_frame_header_address_, sframe_address_;
  std::optional<Dynamic> dynamic_;
  std::vector<std::vector<uint8_t>> notes_;
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_ELF_IMAGE_H_
