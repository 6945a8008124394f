#include "tests/symbolizer/cfi/frame_file.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace stackray {
namespace {

constexpr uint32_t kGnuSframe = 0x6474e554;  // PT_GNU_SFRAME.
constexpr uint64_t kAddressOfOffset = FrameFile::kTextAddress - FrameFile::kTextOffset;

class Bytes {
 public:
  uint64_t size() const { return bytes.size(); }
  template <typename T>
  void Put(T value) {
    const auto* raw = reinterpret_cast<const uint8_t*>(&value);
    bytes.insert(bytes.end(), raw, raw + sizeof(value));
  }
  void PutAll(const std::vector<uint8_t>& more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  }
  void PutText(const std::string& text) {
    bytes.insert(bytes.end(), text.begin(), text.end());
    bytes.push_back(0);
  }
  template <typename T>
  void Set(uint64_t offset, const T& value) {
    std::memcpy(bytes.data() + offset, &value, sizeof(value));
  }
  void Align(uint64_t unit) {
    while (bytes.size() % unit != 0) bytes.push_back(0);
  }
  std::vector<uint8_t> bytes;
};

uint64_t AddressHere(const Bytes& out) { return kAddressOfOffset + out.size(); }

void PutPointer(Bytes& out, uint8_t encoding, uint64_t value, uint64_t data_address) {
  if ((encoding & 0x70) == 0x10) value -= AddressHere(out);
  if ((encoding & 0x70) == 0x30) value -= data_address;
  switch (encoding & 0x0f) {
    case 0x02:
    case 0x0a: return out.Put(static_cast<uint16_t>(value));
    case 0x03:
    case 0x0b: return out.Put(static_cast<uint32_t>(value));
    case 0x01:  // uleb128
      for (; value >= 0x80; value >>= 7) out.Put(static_cast<uint8_t>(value | 0x80));
      return out.Put(static_cast<uint8_t>(value));
    default: return out.Put(value);
  }
}

// One entry: length, then `body` behind the 4-byte id, padded with nops.
void PutEntry(Bytes& out, uint64_t common_offset, const auto& body) {
  const uint64_t begin = out.size();
  out.Put(uint32_t{0});
  const uint64_t id = out.size();
  out.Put(static_cast<uint32_t>(common_offset == 0 ? 0 : id - common_offset));
  body();
  out.Align(8);
  out.Set(begin, static_cast<uint32_t>(out.size() - id));
}

Elf64_Phdr Segment(uint32_t type, uint32_t flags, uint64_t begin, uint64_t end) {
  Elf64_Phdr segment{};
  segment.p_type = type;
  segment.p_flags = flags;
  segment.p_offset = begin;
  segment.p_vaddr = segment.p_paddr = kAddressOfOffset + begin;
  segment.p_filesz = segment.p_memsz = end - begin;
  segment.p_align = 0x1000;
  return segment;
}

Elf64_Shdr Section(uint32_t name, uint32_t type, uint64_t begin, uint64_t end) {
  Elf64_Shdr section{};
  section.sh_name = name;
  section.sh_type = type;
  section.sh_flags = SHF_ALLOC;
  section.sh_addr = kAddressOfOffset + begin;
  section.sh_offset = begin;
  section.sh_size = end - begin;
  return section;
}

// Returns each entry's file offset.
std::vector<uint64_t> PutFrames(const FrameFile& file, Bytes& out) {
  const uint64_t common = out.size();
  PutEntry(out, 0, [&] {
    out.Put(uint8_t{1});
    out.PutText(file.augmentation);
    out.Put(file.code_alignment);
    out.Put(uint8_t{0x78});  // Data alignment -8.
    out.Put(file.return_register);
    out.Put(uint8_t{1});  // Augmentation: the encoding.
    out.Put(file.entry_encoding);
    out.PutAll(file.common_instructions);
  });
  std::vector<uint64_t> offsets;
  for (const FrameFile::Entry& entry : file.entries) {
    offsets.push_back(out.size());
    PutEntry(out, common, [&] {
      PutPointer(out, file.entry_encoding, FrameFile::kTextAddress + entry.begin, 0);
      PutPointer(out, file.entry_encoding & 0x0f, entry.size_bytes, 0);
      out.Put(uint8_t{0});
      out.PutAll(entry.instructions);
    });
  }
  out.Put(uint32_t{0});
  return offsets;
}

void PutHeader(const FrameFile& file, uint64_t frames, const std::vector<uint64_t>& offsets,
               Bytes& out, FrameFile::Built* built) {
  const uint64_t address = AddressHere(out);
  for (const uint8_t byte : {uint8_t{1}, uint8_t{0x1b}, uint8_t{0x03}, file.table_encoding})
    out.Put(byte);
  PutPointer(out, 0x1b, kAddressOfOffset + frames, address);
  out.Put(static_cast<uint32_t>(offsets.size()));
  built->table_offset = out.size();
  std::vector<size_t> order(offsets.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](size_t i) { return file.entries[i].begin; });
  for (const size_t i : order) {
    PutPointer(out, file.table_encoding, FrameFile::kTextAddress + file.entries[i].begin, address);
    PutPointer(out, file.table_encoding, kAddressOfOffset + offsets[i], address);
  }
  if (!order.empty()) built->table_entry_bytes = (out.size() - built->table_offset) / order.size();
}

}  // namespace

FrameFile::Built FrameFile::Build() const {
  Built built;
  Bytes out;
  out.bytes.resize(kTextOffset + text_bytes, 0x90);
  for (const auto& [at, word] : words)
    std::memcpy(out.bytes.data() + kTextOffset + at, &word, sizeof(word));
  const uint64_t sframe_offset = out.size();
  out.PutAll(sframe);
  out.Align(8);
  const uint64_t frames = out.size();
  const std::vector<uint64_t> offsets = PutFrames(*this, out);
  built.eh_frame_offset = frames;
  built.eh_frame_bytes = out.size() - frames;
  out.Align(8);
  const uint64_t header = out.size();
  if (with_header) PutHeader(*this, frames, offsets, out, &built);
  const uint64_t data_end = out.size();
  const std::string names = std::string("\0.eh_frame\0.shstrtab\0.sframe", 28);
  const uint64_t names_offset = out.size();
  out.PutText(names);
  out.Align(8);

  Elf64_Ehdr elf{};
  std::memcpy(elf.e_ident, "\177ELF\2\1\1", 7);
  elf.e_type = file_type;
  elf.e_entry = kTextAddress;
  elf.e_machine = machine;
  elf.e_version = 1;
  elf.e_ehsize = sizeof(elf);
  elf.e_phoff = sizeof(elf);
  elf.e_phentsize = sizeof(Elf64_Phdr);
  elf.e_phnum = sframe.empty() ? (with_header ? 3 : 2) : 4;
  out.Set(sizeof(elf), Segment(PT_LOAD, PF_R | PF_X, kTextOffset, kTextOffset + text_bytes));
  out.Set(sizeof(elf) + sizeof(Elf64_Phdr), Segment(PT_LOAD, PF_R, sframe_offset, data_end));
  if (with_header)
    out.Set(sizeof(elf) + 2 * sizeof(Elf64_Phdr), Segment(PT_GNU_EH_FRAME, PF_R, header, data_end));
  if (!sframe.empty())
    out.Set(sizeof(elf) + 3 * sizeof(Elf64_Phdr),
            Segment(kGnuSframe, PF_R, sframe_offset, sframe_offset + sframe.size()));
  if (with_sections) {
    elf.e_shoff = out.size();
    elf.e_shentsize = sizeof(Elf64_Shdr);
    elf.e_shnum = sframe.empty() ? 3 : 4;
    elf.e_shstrndx = 2;
    out.Put(Elf64_Shdr{});
    out.Put(Section(1, SHT_PROGBITS, frames, frames + built.eh_frame_bytes));
    out.Put(Section(11, SHT_STRTAB, names_offset, names_offset + names.size() + 1));
    if (!sframe.empty())
      out.Put(Section(21, SHT_PROGBITS, sframe_offset, sframe_offset + sframe.size()));
  }
  out.Set(0, elf);
  built.bytes = std::move(out.bytes);
  return built;
}

}  // namespace stackray
