#include "interpreters/thread_context/tls_variable.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "interpreters/symbol_finder.h"

namespace stackray {
namespace {

using Access = TlsVariable::Access;

constexpr size_t kRelocationsAtOnce = 4096;
constexpr uint64_t kMostRelocations = 4 << 20;
constexpr uint16_t kMostProgramHeaders = 256;

// A symbol of a table that has its number.
struct NumberedSymbol {
  uint32_t table = 0, number = 0;  // Section and index.
  uint64_t value = 0, size_bytes = 0;
};

std::optional<NumberedSymbol> FindNumbered(const ElfImage& image, const ByteSource& source,
                                           uint32_t type, std::string_view wanted) {
  for (uint32_t table = 0; table < image.sections().size(); ++table) {
    const ElfSection& section = image.sections()[table];
    if (section.type != type || section.link >= image.sections().size()) continue;
    const ElfSection& names = image.sections()[section.link];
    const auto strings = source.Read(names.file_offset, names.size_bytes, kMaxSectionBytes);
    const auto symbols = source.Read(section.file_offset, section.size_bytes, kMaxSectionBytes);
    if (!strings.ok() || !symbols.ok()) continue;
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols->size(); at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, symbols->data() + at, sizeof(symbol));
      if (ELF64_ST_TYPE(symbol.st_info) != STT_TLS || symbol.st_shndx == SHN_UNDEF ||
          symbol.st_name >= strings->size() || strings->size() - symbol.st_name <= wanted.size())
        continue;
      const char* const name = reinterpret_cast<const char*>(strings->data()) + symbol.st_name;
      if (std::string_view(name, wanted.size()) != wanted || name[wanted.size()] != '\0') continue;
      return NumberedSymbol{table, static_cast<uint32_t>(at / sizeof(Elf64_Sym)), symbol.st_value,
                            symbol.st_size};
    }
  }
  return std::nullopt;
}

// The kinds of relocations that thread-local variables have, on both machines.
std::optional<Access> AccessOf(uint16_t machine, uint64_t type) {
  const bool arm = machine == EM_AARCH64;
  if (type == (arm ? R_AARCH64_TLS_TPREL : R_X86_64_TPOFF64)) return Access::kOffsetSlot;
  if (type == (arm ? R_AARCH64_TLSDESC : R_X86_64_TLSDESC)) return Access::kDescriptor;
  if (type == (arm ? R_AARCH64_TLS_DTPMOD : R_X86_64_DTPMOD64)) return Access::kModuleSlot;
  return std::nullopt;
}

// Chooses among the relocations of a file the one that leads to a variable.
class SlotChoice {
 public:
  // A program reaches its own block without a slot, so one without a name is not of that block.
  SlotChoice(uint16_t machine, const NumberedSymbol& symbol, bool is_program)
      : machine_(machine), symbol_(symbol), is_program_(is_program) {}

  // `names_table`: the relocation's symbols are those of the variable's table.
  void Consider(const Elf64_Rela& relocation, bool names_table) {
    const std::optional<Access> access = AccessOf(machine_, ELF64_R_TYPE(relocation.r_info));
    if (!access) return;
    const uint64_t number = ELF64_R_SYM(relocation.r_info);
    const bool is_named = number != 0 && number == symbol_.number && names_table;
    if (!is_named && (number != 0 || is_program_)) return;
    Take(*access, relocation, is_named);
  }

  std::optional<TlsVariable> best() const {
    if (rank_ == 0) return std::nullopt;
    return best_;
  }

 private:
  // Relocations that name the variable come first. One without a name is of the file's whole block:
  // it is the variable's if its addend is, or leads to the block that the variable lies in.
  void Take(Access access, const Elf64_Rela& relocation, bool is_named) {
    const auto value = static_cast<int64_t>(symbol_.value);
    if (!is_named && access == Access::kOffsetSlot && relocation.r_addend != value) return;
    if (!is_named && access == Access::kDescriptor && relocation.r_addend > value) return;
    const int rank = (is_named ? 10 : 0) + (access == Access::kOffsetSlot   ? 3
                                            : access == Access::kDescriptor ? 2
                                                                            : 1);
    const bool is_nearer = rank == rank_ && access == Access::kDescriptor && !is_named &&
                           relocation.r_addend > addend_;
    if (rank <= rank_ && !is_nearer) return;
    rank_ = rank;
    addend_ = relocation.r_addend;
    best_ = {.access = access, .slot = relocation.r_offset, .size_bytes = symbol_.size_bytes};
    if (access == Access::kModuleSlot) best_.offset = value;
    // An addend may be anything: the difference wraps, and ResolveTls() looks at the sum.
    const auto less_addend = [&](uint64_t from) {
      return static_cast<int64_t>(from - static_cast<uint64_t>(relocation.r_addend));
    };
    if (access == Access::kDescriptor && !is_named) best_.offset = less_addend(symbol_.value);
    // What the loader makes of an addend is not the variable's, but that many bytes behind it.
    if (access != Access::kModuleSlot && is_named) best_.offset = less_addend(0);
  }

  const uint16_t machine_;
  const NumberedSymbol symbol_;
  const bool is_program_;
  TlsVariable best_;
  int rank_ = 0;
  int64_t addend_ = 0;
};

absl::Status VisitRelocations(const ElfImage& image, const ByteSource& source,
                              const NumberedSymbol& symbol, SlotChoice* choice) {
  for (const ElfSection& section : image.sections()) {
    if (section.type != SHT_RELA || (section.flags & SHF_ALLOC) == 0) continue;
    const uint64_t count =
        std::min<uint64_t>(section.size_bytes / sizeof(Elf64_Rela), kMostRelocations);
    for (uint64_t at = 0; at < count; at += kRelocationsAtOnce) {
      std::vector<Elf64_Rela> some(std::min<uint64_t>(kRelocationsAtOnce, count - at));
      const absl::Status read = source.ReadAt(
          section.file_offset + at * sizeof(Elf64_Rela),
          {reinterpret_cast<uint8_t*>(some.data()), some.size() * sizeof(Elf64_Rela)});
      if (!read.ok()) return absl::UnavailableError("its relocations cannot be read");
      for (const Elf64_Rela& relocation : some)
        choice->Consider(relocation, section.link == symbol.table);
    }
  }
  return absl::OkStatus();
}

std::optional<Elf64_Phdr> FindTlsSegment(const ByteSource& source) {
  Elf64_Ehdr header;
  if (!source.ReadAt(0, {reinterpret_cast<uint8_t*>(&header), sizeof(header)}).ok())
    return std::nullopt;
  for (uint16_t i = 0; i < std::min(header.e_phnum, kMostProgramHeaders); ++i) {
    Elf64_Phdr segment;
    const std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(&segment), sizeof(segment));
    if (!source.ReadAt(header.e_phoff + i * sizeof(segment), bytes).ok()) return std::nullopt;
    if (segment.p_type == PT_TLS) return segment;
  }
  return std::nullopt;
}

int64_t RoundedUp(uint64_t value, uint64_t to) {
  return static_cast<int64_t>((value + to - 1) / to * to);
}

// The program's own block: right below the thread pointer on x86-64, above two words on arm64.
absl::StatusOr<TlsVariable> FixedPlace(const ElfImage& image, const ByteSource& source,
                                       const NumberedSymbol& symbol) {
  constexpr uint64_t kMostBytes = 1 << 30, kArmHeadBytes = 16;
  const std::optional<Elf64_Phdr> segment = FindTlsSegment(source);
  if (!segment || segment->p_memsz > kMostBytes || segment->p_align > kMostBytes ||
      symbol.value >= segment->p_memsz)
    return absl::FailedPreconditionError("it has no block of thread-local memory");
  const uint64_t align = std::max<uint64_t>(segment->p_align, 1);
  const auto value = static_cast<int64_t>(symbol.value);
  const int64_t offset = image.machine() == EM_AARCH64 ? RoundedUp(kArmHeadBytes, align) + value
                                                       : value - RoundedUp(segment->p_memsz, align);
  return TlsVariable{.offset = offset, .size_bytes = symbol.size_bytes};
}

}  // namespace

absl::StatusOr<TlsVariable> FindTlsVariable(const ElfImage& image, const ByteSource& source,
                                            std::string_view name, bool is_program,
                                            TlsSymbols where) {
  std::optional<NumberedSymbol> symbol;
  // A file with a table of names that lacks this one need not be read further.
  if (HasDynamicSymbol(image, source, name).value_or(true))
    symbol = FindNumbered(image, source, SHT_DYNSYM, name);
  if (!symbol && is_program && where == TlsSymbols::kAll)
    symbol = FindNumbered(image, source, SHT_SYMTAB, name);
  if (!symbol) return absl::NotFoundError("no such variable");
  SlotChoice choice(image.machine(), *symbol, is_program);
  if (absl::Status status = VisitRelocations(image, source, *symbol, &choice); !status.ok())
    return status;
  if (const std::optional<TlsVariable> found = choice.best()) return *found;
  if (is_program) return FixedPlace(image, source, *symbol);
  return absl::FailedPreconditionError(
      "no relocation leads to the variable (is it linked into its library, and used there?)");
}

}  // namespace stackray
