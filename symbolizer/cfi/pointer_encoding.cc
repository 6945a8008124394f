#include "symbolizer/cfi/pointer_encoding.h"

#include <dwarf.h>

namespace stackray::cfi {
namespace {

constexpr uint8_t kFormatMask = 0x0f;
constexpr uint8_t kBaseMask = 0x70;

template <typename T>
uint64_t ReadSigned(ByteCursor& cursor) {
  return static_cast<uint64_t>(static_cast<int64_t>(cursor.Read<T>()));
}

}  // namespace

std::optional<uint64_t> ReadEncodedFormat(ByteCursor& cursor, uint8_t encoding) {
  uint64_t value = 0;
  switch (encoding & kFormatMask) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8: value = cursor.Read<uint64_t>(); break;
    case DW_EH_PE_uleb128: value = cursor.ReadUleb(); break;
    case DW_EH_PE_udata2: value = cursor.Read<uint16_t>(); break;
    case DW_EH_PE_udata4: value = cursor.Read<uint32_t>(); break;
    case DW_EH_PE_sleb128: value = static_cast<uint64_t>(cursor.ReadSleb()); break;
    case DW_EH_PE_sdata2: value = ReadSigned<int16_t>(cursor); break;
    case DW_EH_PE_sdata4: value = ReadSigned<int32_t>(cursor); break;
    default: return std::nullopt;
  }
  if (!cursor.ok()) return std::nullopt;
  return value;
}

std::optional<uint64_t> ReadEncodedPointer(ByteCursor& cursor, uint8_t encoding,
                                           const PointerBases& bases) {
  if (encoding == DW_EH_PE_omit || (encoding & DW_EH_PE_indirect)) return std::nullopt;
  const std::optional<uint64_t> value = ReadEncodedFormat(cursor, encoding);
  if (!value) return std::nullopt;
  switch (encoding & kBaseMask) {
    case DW_EH_PE_absptr: return value;
    case DW_EH_PE_pcrel: return *value + bases.field_address;
    case DW_EH_PE_datarel: return *value + bases.data_address;
    case DW_EH_PE_textrel:
      if (!bases.text_address) return std::nullopt;
      return *value + *bases.text_address;
    default: return std::nullopt;
  }
}

size_t EncodedPointerBytes(uint8_t encoding) {
  switch (encoding & kFormatMask) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8: return 8;
    case DW_EH_PE_udata4:
    case DW_EH_PE_sdata4: return 4;
    case DW_EH_PE_udata2:
    case DW_EH_PE_sdata2: return 2;
    default: return 0;
  }
}

}  // namespace stackray::cfi
