#include "symbolizer/dwarf/form_value.h"

#include "symbolizer/dwarf/constants.h"

namespace stackray::dwarf {
namespace {

// DW_FORM_ref_addr was an address in DWARF 2.
unsigned RefAddrBytes(const UnitFormat& format) {
  return format.version <= 2 ? format.address_bytes : format.offset_bytes;
}

FormValue Sized(SectionCursor& cursor, ValueKind kind, unsigned bytes) {
  return {kind, cursor.ReadSized(bytes)};
}

FormValue Block(SectionCursor& cursor, uint64_t bytes) {
  cursor.Skip(bytes);
  return {};
}

FormValue InlineString(SectionCursor& cursor) {
  const uint64_t at = cursor.position();
  cursor.SkipString();
  return {ValueKind::kInlineString, at};
}

// The form that stands in the data itself, once.
FormValue Indirect(SectionCursor& cursor, const UnitFormat& format) {
  const uint64_t form = cursor.ReadUleb();
  if (form == kFormIndirect || form == kFormImplicitConst || form > 0xffff) {
    cursor.Fail();
    return {};
  }
  return ReadForm(cursor, static_cast<uint16_t>(form), 0, format);
}

}  // namespace

int FixedFormBytes(uint16_t form, const UnitFormat& format) {
  switch (form) {
    case kFormFlagPresent:
    case kFormImplicitConst: return 0;
    case kFormData1:
    case kFormFlag:
    case kFormRef1:
    case kFormStrx1:
    case kFormAddrx1: return 1;
    case kFormData2:
    case kFormRef2:
    case kFormStrx2:
    case kFormAddrx2: return 2;
    case kFormStrx3:
    case kFormAddrx3: return 3;
    case kFormData4:
    case kFormRef4:
    case kFormRefSup4:
    case kFormStrx4:
    case kFormAddrx4: return 4;
    case kFormData8:
    case kFormRef8:
    case kFormRefSig8:
    case kFormRefSup8: return 8;
    case kFormData16: return 16;
    case kFormAddr: return format.address_bytes;
    case kFormRefAddr: return static_cast<int>(RefAddrBytes(format));
    case kFormStrp:
    case kFormLineStrp:
    case kFormStrpSup:
    case kFormSecOffset:
    case kFormGnuRefAlt:
    case kFormGnuStrpAlt: return format.offset_bytes;
    default: return kVariable;
  }
}

FormValue ReadForm(SectionCursor& cursor, uint16_t form, int64_t implicit,
                   const UnitFormat& format) {
  switch (form) {
    case kFormFlagPresent: return {ValueKind::kConstant, 1};
    case kFormImplicitConst: return {ValueKind::kConstant, static_cast<uint64_t>(implicit)};
    case kFormData1:
    case kFormFlag: return Sized(cursor, ValueKind::kConstant, 1);
    case kFormData2: return Sized(cursor, ValueKind::kConstant, 2);
    // Before DWARF 4 these two were offsets into sections as well; the attribute decides.
    case kFormData4: return Sized(cursor, ValueKind::kConstant, 4);
    case kFormData8: return Sized(cursor, ValueKind::kConstant, 8);
    case kFormSdata: return {ValueKind::kConstant, static_cast<uint64_t>(cursor.ReadSleb())};
    case kFormUdata: return {ValueKind::kConstant, cursor.ReadUleb()};
    case kFormAddr: return Sized(cursor, ValueKind::kAddress, format.address_bytes);
    case kFormAddrx:
    case kFormGnuAddrIndex: return {ValueKind::kAddressIndex, cursor.ReadUleb()};
    case kFormAddrx1: return Sized(cursor, ValueKind::kAddressIndex, 1);
    case kFormAddrx2: return Sized(cursor, ValueKind::kAddressIndex, 2);
    case kFormAddrx3: return Sized(cursor, ValueKind::kAddressIndex, 3);
    case kFormAddrx4: return Sized(cursor, ValueKind::kAddressIndex, 4);
    case kFormRef1: return Sized(cursor, ValueKind::kUnitOffset, 1);
    case kFormRef2: return Sized(cursor, ValueKind::kUnitOffset, 2);
    case kFormRef4: return Sized(cursor, ValueKind::kUnitOffset, 4);
    case kFormRef8: return Sized(cursor, ValueKind::kUnitOffset, 8);
    case kFormRefUdata: return {ValueKind::kUnitOffset, cursor.ReadUleb()};
    case kFormRefAddr: return Sized(cursor, ValueKind::kInfoOffset, RefAddrBytes(format));
    case kFormRefSup4: return Sized(cursor, ValueKind::kAltOffset, 4);
    case kFormRefSup8: return Sized(cursor, ValueKind::kAltOffset, 8);
    case kFormGnuRefAlt: return Sized(cursor, ValueKind::kAltOffset, format.offset_bytes);
    case kFormString: return InlineString(cursor);
    case kFormStrp: return Sized(cursor, ValueKind::kString, format.offset_bytes);
    case kFormLineStrp: return Sized(cursor, ValueKind::kLineString, format.offset_bytes);
    case kFormStrpSup:
    case kFormGnuStrpAlt: return Sized(cursor, ValueKind::kAltString, format.offset_bytes);
    case kFormStrx:
    case kFormGnuStrIndex: return {ValueKind::kStringIndex, cursor.ReadUleb()};
    case kFormStrx1: return Sized(cursor, ValueKind::kStringIndex, 1);
    case kFormStrx2: return Sized(cursor, ValueKind::kStringIndex, 2);
    case kFormStrx3: return Sized(cursor, ValueKind::kStringIndex, 3);
    case kFormStrx4: return Sized(cursor, ValueKind::kStringIndex, 4);
    case kFormSecOffset: return Sized(cursor, ValueKind::kSectionOffset, format.offset_bytes);
    case kFormRnglistx: return {ValueKind::kRangesIndex, cursor.ReadUleb()};
    case kFormLoclistx: return {ValueKind::kNone, cursor.ReadUleb()};
    case kFormRefSig8: return Block(cursor, 8);
    case kFormData16: return Block(cursor, 16);
    case kFormBlock1: return Block(cursor, cursor.Read<uint8_t>());
    case kFormBlock2: return Block(cursor, cursor.Read<uint16_t>());
    case kFormBlock4: return Block(cursor, cursor.Read<uint32_t>());
    case kFormBlock:
    case kFormExprloc: return Block(cursor, cursor.ReadUleb());
    case kFormIndirect: return Indirect(cursor, format);
    default: break;
  }
  cursor.Fail();
  return {};
}

void SkipForm(SectionCursor& cursor, uint16_t form, const UnitFormat& format) {
  const int fixed = FixedFormBytes(form, format);
  if (fixed != kVariable) {
    cursor.Skip(static_cast<uint64_t>(fixed));
  } else {
    (void)ReadForm(cursor, form, 0, format);
  }
}

}  // namespace stackray::dwarf
