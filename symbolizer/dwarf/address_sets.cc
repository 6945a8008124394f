#include "symbolizer/dwarf/address_sets.h"

namespace stackray::dwarf {
namespace {

constexpr uint16_t kVersion = 2;

// The header of the set that begins at `begin`, the cursor behind its length. 0: not understood.
unsigned ReadHeader(SectionCursor& cursor, uint64_t begin, uint8_t offset_bytes, uint64_t* unit) {
  const auto version = cursor.Read<uint16_t>();
  *unit = cursor.ReadSized(offset_bytes);
  const auto address_bytes = cursor.Read<uint8_t>(), segment_bytes = cursor.Read<uint8_t>();
  if (version != kVersion || segment_bytes != 0 || (address_bytes != 4 && address_bytes != 8))
    return 0;
  const unsigned pair_bytes = 2u * address_bytes;  // Pairs are aligned to their size in the set.
  const auto misplaced = static_cast<unsigned>((cursor.position() - begin) % pair_bytes);
  if (misplaced != 0) cursor.Skip(pair_bytes - misplaced);
  return address_bytes;
}

}  // namespace

void ReadAddressSets(const SectionPart& aranges, WorkBudget& budget,
                     const std::function<void(uint64_t, const AddressRange&)>& visit) {
  SectionCursor cursor(aranges, budget);
  while (!cursor.AtEnd()) {
    const uint64_t begin = cursor.position();
    uint8_t offset_bytes = 0;
    const uint64_t length = cursor.ReadInitialLength(&offset_bytes);
    if (!cursor.ok() || length > aranges.size_bytes - cursor.position()) return;
    const uint64_t end = cursor.position() + length;
    uint64_t unit = 0;
    const unsigned bytes = ReadHeader(cursor, begin, offset_bytes, &unit);
    while (bytes != 0 && cursor.ok() && cursor.position() < end && budget.Spend(1)) {
      const uint64_t address = cursor.ReadSized(bytes), size_bytes = cursor.ReadSized(bytes);
      if (address == 0 && size_bytes == 0) break;
      if (size_bytes <= UINT64_MAX - address) visit(unit, {address, address + size_bytes});
    }
    cursor.Seek(end);
  }
}

}  // namespace stackray::dwarf
