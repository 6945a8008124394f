// Makes small ELF files of any sections, for what no compiler writes.
#ifndef STACKRAY_TESTS_SYMBOLIZER_MADE_ELF_H_
#define STACKRAY_TESTS_SYMBOLIZER_MADE_ELF_H_

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace stackray::test {

// Little-endian fields, one behind the other.
class Bytes {
 public:
  template <typename T>
  Bytes& Add(T value) {
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof(value));
    std::memcpy(bytes_.data() + at, &value, sizeof(value));
    return *this;
  }
  Bytes& U8(uint64_t value) { return Add(static_cast<uint8_t>(value)); }
  Bytes& U16(uint64_t value) { return Add(static_cast<uint16_t>(value)); }
  Bytes& U32(uint64_t value) { return Add(static_cast<uint32_t>(value)); }
  Bytes& U64(uint64_t value) { return Add(value); }
  Bytes& Uleb(uint64_t value) {
    for (; value >= 0x80; value >>= 7) U8(value | 0x80);
    return U8(value);
  }
  Bytes& Text(std::string_view text) {  // With its NUL.
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    return U8(0);
  }
  Bytes& Append(const Bytes& other) {
    bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
    return *this;
  }
  Bytes& Align(size_t bytes) {
    while (bytes_.size() % bytes != 0) U8(0);
    return *this;
  }
  size_t size() const { return bytes_.size(); }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

struct MadeSection {
  std::string name;
  Bytes bytes;
  uint64_t flags = SHF_ALLOC;
  uint32_t type = SHT_PROGBITS;
};

// Section `i` lies at MadeAddress(sections, i); all of the file is in one executable segment.
inline constexpr uint64_t kMadeBase = 0x400000;
inline constexpr size_t kMadeAlign = 64;

inline uint64_t MadeOffset(const std::vector<MadeSection>& sections, size_t index) {
  uint64_t offset = 256;
  for (size_t i = 0; i < index; ++i)
    offset = (offset + sections[i].bytes.size() + kMadeAlign - 1) & ~uint64_t{kMadeAlign - 1};
  return offset;
}
inline uint64_t MadeAddress(const std::vector<MadeSection>& sections, size_t index) {
  return kMadeBase + MadeOffset(sections, index);
}

inline std::vector<uint8_t> MakeElf(std::vector<MadeSection> sections) {
  Bytes names;
  names.U8(0);
  std::vector<Elf64_Shdr> headers(1);
  sections.push_back({.name = ".shstrtab", .bytes = {}, .flags = 0, .type = SHT_STRTAB});
  for (size_t i = 0; i < sections.size(); ++i) {
    Elf64_Shdr header = {};
    header.sh_name = static_cast<uint32_t>(names.size());
    names.Text(sections[i].name);
    if (i + 1 == sections.size()) sections[i].bytes = names;
    header.sh_type = sections[i].type;
    header.sh_flags = sections[i].flags;
    header.sh_offset = MadeOffset(sections, i);
    header.sh_addr = (header.sh_flags & SHF_ALLOC) != 0 ? kMadeBase + header.sh_offset : 0;
    header.sh_size = sections[i].bytes.size();
    headers.push_back(header);
  }
  const uint64_t headers_at = MadeOffset(sections, sections.size());
  Elf64_Ehdr elf = {};
  std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
  elf.e_ident[EI_CLASS] = ELFCLASS64;
  elf.e_ident[EI_DATA] = ELFDATA2LSB;
  elf.e_ident[EI_VERSION] = EV_CURRENT;
  elf.e_type = ET_EXEC;
  elf.e_machine = EM_X86_64;
  elf.e_version = EV_CURRENT;
  elf.e_entry = kMadeBase + MadeOffset(sections, 0);
  elf.e_phoff = elf.e_ehsize = sizeof(elf);
  elf.e_phentsize = sizeof(Elf64_Phdr);
  elf.e_phnum = 1;
  elf.e_shoff = headers_at;
  elf.e_shentsize = sizeof(Elf64_Shdr);
  elf.e_shnum = static_cast<uint16_t>(headers.size());
  elf.e_shstrndx = static_cast<uint16_t>(headers.size() - 1);
  Elf64_Phdr segment = {};
  segment.p_type = PT_LOAD;
  segment.p_flags = PF_R | PF_X;
  segment.p_vaddr = kMadeBase;
  segment.p_filesz = segment.p_memsz = headers_at;
  std::vector<uint8_t> file(headers_at + headers.size() * sizeof(Elf64_Shdr));
  std::memcpy(file.data(), &elf, sizeof(elf));
  std::memcpy(file.data() + sizeof(elf), &segment, sizeof(segment));
  for (size_t i = 0; i < sections.size(); ++i)
    std::copy(sections[i].bytes.bytes().begin(), sections[i].bytes.bytes().end(),
              file.begin() + static_cast<ptrdiff_t>(MadeOffset(sections, i)));
  std::memcpy(file.data() + headers_at, headers.data(), headers.size() * sizeof(Elf64_Shdr));
  return file;
}

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_SYMBOLIZER_MADE_ELF_H_
