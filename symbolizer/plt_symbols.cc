// Instruction forms: the x86-64 psABI's and the arm64 ELF ABI's chapters on the procedure linkage
// table, with the forms that GNU ld and lld write for CET and BTI.
#include "symbolizer/plt_symbols.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace stackray {
namespace {

constexpr uint64_t kMaxRelocations = 65536;
constexpr uint64_t kMaxPltBytes = 2 << 20;
constexpr uint64_t kStubBytes = 16;
constexpr uint32_t kBtiC = 0xd503245f;

template <typename T>
T Load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

// Address of the slot that an x86-64 stub jumps through: [endbr64] [bnd] jmp *displacement(%rip).
std::optional<uint64_t> SlotOfX86(std::span<const uint8_t> stub, uint64_t address) {
  constexpr uint8_t kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
  size_t at = 0;
  if (stub.size() >= sizeof(kEndbr64) && std::memcmp(stub.data(), kEndbr64, sizeof(kEndbr64)) == 0)
    at += sizeof(kEndbr64);
  if (at < stub.size() && stub[at] == 0xf2) ++at;
  if (at + 6 > stub.size() || stub[at] != 0xff || stub[at + 1] != 0x25) return std::nullopt;
  return address + at + 6 + static_cast<int64_t>(Load<int32_t>(stub.data() + at + 2));
}

// The slot that an arm64 stub jumps by: [bti c] adrp x16, page; ldr x17, [x16, #offset].
std::optional<uint64_t> SlotOfArm64(std::span<const uint8_t> stub, uint64_t address) {
  size_t at = stub.size() >= 4 && Load<uint32_t>(stub.data()) == kBtiC ? 4 : 0;
  if (at + 8 > stub.size()) return std::nullopt;
  const uint32_t adrp = Load<uint32_t>(stub.data() + at),
                 ldr = Load<uint32_t>(stub.data() + at + 4);
  if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211) return std::nullopt;
  const uint64_t pages = uint64_t{(adrp >> 5) & 0x7ffff} << 2 | ((adrp >> 29) & 3);
  const uint64_t sign = uint64_t{1} << 20;
  const uint64_t signed_pages = (pages ^ sign) - sign;
  return ((address + at) & ~uint64_t{4095}) + (signed_pages << 12) +
         uint64_t{(ldr >> 10) & 0xfff} * 8;
}

using Slots =
    std::vector<std::pair<uint64_t, uint32_t>>;  // Address, symbol's index, then its name.

void AddSlots(const ElfSection& section, const ElfImage& image, const ByteSource& source,
              Slots& slots) {
  if (section.type != SHT_RELA || section.entry_bytes != sizeof(Elf64_Rela)) return;
  const bool x86 = image.machine() == EM_X86_64;
  const uint64_t count = std::min(section.size_bytes / sizeof(Elf64_Rela), kMaxRelocations * 16);
  std::vector<Elf64_Rela> relocations;
  for (uint64_t i = 0; i < count && slots.size() < kMaxRelocations; i += relocations.size()) {
    relocations.resize(std::min<uint64_t>(2048, count - i));
    const std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(relocations.data()),
                                   relocations.size() * sizeof(Elf64_Rela));
    if (!source.ReadAt(section.file_offset + i * sizeof(Elf64_Rela), bytes).ok()) return;
    for (const Elf64_Rela& relocation : relocations) {
      const uint64_t type = ELF64_R_TYPE(relocation.r_info);
      const bool fills_slot = x86 ? type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT
                                  : type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
      const uint32_t symbol = static_cast<uint32_t>(ELF64_R_SYM(relocation.r_info));
      if (fills_slot && symbol != 0) slots.emplace_back(relocation.r_offset, symbol);
    }
  }
}

// Turns symbols' indices into name offsets; a symbol without a name is dropped.
void ReadNames(const ElfSection& dynsym, const ByteSource& source, Slots& slots) {
  const uint64_t count = dynsym.size_bytes / sizeof(Elf64_Sym);
  for (auto& [address, symbol] : slots) {
    Elf64_Sym entry{};
    const std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(&entry), sizeof(entry));
    if (symbol >= count ||
        !source.ReadAt(dynsym.file_offset + uint64_t{symbol} * sizeof(entry), bytes).ok() ||
        entry.st_name >= 1u << 30)
      entry.st_name = 0;
    symbol = entry.st_name;
  }
  std::erase_if(slots, [](const auto& slot) { return slot.second == 0; });
  std::sort(slots.begin(), slots.end());
}

void AddStubs(const ElfSection& section, const ElfImage& image, const ByteSource& source,
              const Slots& slots, std::vector<PltEntry>& entries) {
  const absl::StatusOr<std::vector<uint8_t>> code =
      source.Read(section.file_offset, section.size_bytes, kMaxPltBytes);
  if (!code.ok()) return;
  const bool x86 = image.machine() == EM_X86_64;
  // .plt.got's stubs are 8 bytes without CET. arm64's header is 32 bytes, and its stubs are 16 or,
  // with a landing pad, 20 bytes in steps of 24.
  const uint64_t step = !x86 ? 4 : section.entry_bytes == 8 ? 8 : kStubBytes;
  for (uint64_t at = 0; at + 8 <= code->size();) {
    const uint64_t address = section.address + at;
    const bool landing_pad = !x86 && Load<uint32_t>(code->data() + at) == kBtiC;
    const uint64_t whole_bytes = x86 ? step : kStubBytes + (landing_pad ? 4 : 0);
    const uint64_t stub_bytes = std::min(whole_bytes, code->size() - at);
    const std::span<const uint8_t> stub(code->data() + at, stub_bytes);
    const std::optional<uint64_t> slot =
        x86 ? SlotOfX86(stub, address) : SlotOfArm64(stub, address);
    const auto found =
        slot ? std::lower_bound(slots.begin(), slots.end(), std::pair(*slot, 0u)) : slots.end();
    const bool known = found != slots.end() && found->first == *slot;
    if (known) entries.push_back({address, static_cast<uint32_t>(stub_bytes), found->second});
    at += known ? stub_bytes : step;
  }
}

}  // namespace

std::vector<PltEntry> FindPltEntries(const ElfImage& image, const ByteSource& source) {
  std::vector<PltEntry> entries;
  const ElfSection* dynsym = image.FindSection(".dynsym");
  if (dynsym == nullptr || dynsym->type != SHT_DYNSYM) return entries;
  Slots slots;
  for (const std::string_view name : {".rela.plt", ".rela.dyn"})
    if (const ElfSection* section = image.FindSection(name))
      AddSlots(*section, image, source, slots);
  ReadNames(*dynsym, source, slots);
  if (slots.empty()) return entries;
  for (const std::string_view name : {".plt", ".plt.sec", ".plt.got"})
    if (const ElfSection* section = image.FindSection(name))
      AddStubs(*section, image, source, slots, entries);
  return entries;
}

}  // namespace stackray
