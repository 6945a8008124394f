// .debug_aranges: sets in both formats and sizes of addresses, damaged ones, and the units of DWARF
// 2 that need them.
#include "symbolizer/dwarf/address_sets.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "symbolizer/dwarf/debug_file.h"
#include "tests/symbolizer/made_elf.h"

namespace stackray::test {
namespace {

struct Found {
  uint64_t unit, begin, end;
  friend bool operator==(const Found&, const Found&) = default;
};

std::vector<Found> Read(const Bytes& bytes, uint64_t steps = 1 << 20) {
  const MemorySource source(bytes.bytes());
  dwarf::WorkBudget budget{steps};
  std::vector<Found> found;
  dwarf::ReadAddressSets({&source, 0, bytes.size()}, budget,
                         [&](uint64_t unit, const dwarf::AddressRange& range) {
                           found.push_back({unit, range.begin, range.end});
                         });
  return found;
}

// A set of addresses of 8 bytes; the padding aligns the first pair to 16.
Bytes Set(uint32_t unit, const std::vector<std::pair<uint64_t, uint64_t>>& pairs,
          uint16_t version = 2, uint8_t segment_bytes = 0) {
  Bytes set;
  set.U32(12 + 16 * (pairs.size() + 1)).U16(version).U32(unit).U8(8).U8(segment_bytes).U32(0);
  for (const auto& [address, size] : pairs) set.U64(address).U64(size);
  return set.U64(0).U64(0);
}

TEST(AddressSets, SayTheCodeOfEachUnit) {
  const Bytes both = Set(0, {{0x1000, 0x10}, {0x3000, 0x20}}).Append(Set(77, {{0x2000, 1}}));
  EXPECT_EQ(Read(both),
            (std::vector<Found>{{0, 0x1000, 0x1010}, {0, 0x3000, 0x3020}, {77, 0x2000, 0x2001}}));
}

TEST(AddressSets, ComeInTheWideFormatAndWithShortAddresses) {
  Bytes wide;  // 24 bytes up to the padding, which are 8.
  wide.U32(0xffffffff).U64(20 + 32).U16(2).U64(5).U8(8).U8(0).U64(0).U64(0x1000).U64(4);
  wide.U64(0).U64(0);
  EXPECT_EQ(Read(wide), (std::vector<Found>{{5, 0x1000, 0x1004}}));
  Bytes narrow;
  narrow.U32(12 + 16).U16(2).U32(6).U8(4).U8(0).U32(0).U32(0x2000).U32(8).U32(0).U32(0);
  EXPECT_EQ(Read(narrow), (std::vector<Found>{{6, 0x2000, 0x2008}}));
}

TEST(AddressSets, OfUnknownKindsAreLeftOut) {
  const std::vector<Found> last = {{9, 0x2000, 0x2010}};
  for (const Bytes& unknown : {Set(0, {{0x1000, 1}}, 3), Set(0, {{0x1000, 1}}, 2, 4)})
    EXPECT_EQ(Read(Bytes(unknown).Append(Set(9, {{0x2000, 0x10}}))), last);
}

TEST(AddressSets, DamageEndsThem) {
  const Bytes whole = Set(0, {{0x1000, 0x10}}).Append(Set(1, {{0x2000, 0x10}}));
  for (size_t length = 0; length < whole.size(); ++length) {
    Bytes cut;
    for (size_t i = 0; i < length; ++i) cut.U8(whole.bytes()[i]);
    EXPECT_EQ(Read(cut).size(), length < 48 ? 0u : 1u) << length;
  }
  EXPECT_TRUE(Read(Set(0, {{UINT64_MAX - 4, 16}})).empty()) << "wraps around";
  EXPECT_TRUE(Read(Bytes().U32(0xfffffff5).U64(0)).empty()) << "a reserved length";
  EXPECT_LE(Read(Set(0, std::vector<std::pair<uint64_t, uint64_t>>(1000, {1, 1})), 100).size(),
            100u);
}

constexpr uint64_t kText = kMadeBase + 256;

// DWARF's numbers: tags, attributes (name 3, low_pc 0x11, high_pc 0x12, abstract_origin 0x31) and
// forms (string 8, addr 1, ref4 0x13).
enum : uint8_t { kUnit = 1, kFunction, kInlined, kAbstract };
Bytes Abbreviations() {
  Bytes abbrevs;
  for (const auto& [code, tag] : {std::pair{kUnit, 0x11}, {kFunction, 0x2e}})
    abbrevs.U8(code).U8(tag).U8(1).U8(3).U8(8).U8(0x11).U8(1).U8(0x12).U8(1).U16(0);
  abbrevs.U8(kInlined).U8(0x1d).U8(1).U8(0x31).U8(0x13).U8(0x11).U8(1).U8(0x12).U8(1).U16(0);
  return abbrevs.U8(kAbstract).U8(0x2e).U8(0).U8(3).U8(8).U16(0).U8(0);
}

// A unit of DWARF 2: outer() calls middle(), which calls inner() in a piece of its own, and, in
// another section, cold().
Bytes UnitInPieces() {
  constexpr size_t kHeaderBytes = 11;
  Bytes entries;
  const auto code = [&](uint64_t begin, uint64_t end) {
    entries.U64(kText + begin).U64(kText + end);
  };
  const auto abstract = [&](const char* name) {
    const size_t at = kHeaderBytes + entries.size();
    entries.U8(kAbstract).Text(name);
    return at;
  };
  entries.U8(kUnit).Text("unit");
  code(0, 64);
  const size_t middle = abstract("middle"), inner = abstract("inner"), cold = abstract("cold");
  entries.U8(kFunction).Text("outer");
  code(0, 64);
  entries.U8(kInlined).U32(middle);
  code(0, 16);
  entries.U8(kInlined).U32(inner);
  code(32, 48);
  entries.U8(0).U8(0).U8(kInlined).U32(cold);
  code(256, 272);
  entries.U8(0).U8(0).U8(kFunction).Text("second");
  code(256, 512);
  entries.U8(0).U8(0);
  return Bytes().U32(kHeaderBytes - 4 + entries.size()).U16(2).U32(0).U8(8).Append(entries);
}

// The functions at an offset in the text, innermost first.
std::vector<std::string> FunctionsAt(uint64_t offset, const Bytes& sets, uint64_t flags = 0) {
  Bytes text;
  for (int i = 0; i < 1024; ++i) text.U8(0x90);
  const std::vector<uint8_t> elf =
      MakeElf({{.name = ".text", .bytes = text, .flags = SHF_ALLOC | SHF_EXECINSTR},
               {.name = ".debug_info", .bytes = UnitInPieces(), .flags = 0},
               {.name = ".debug_abbrev", .bytes = Abbreviations(), .flags = 0},
               {.name = ".debug_aranges", .bytes = sets, .flags = flags}});
  const MemorySource source(elf);
  const auto file = dwarf::DebugFile::Open(source, {});
  std::vector<std::string> names;
  if (file == nullptr) return names;
  for (const SourceLine& line : file->Resolve(kText + offset)) names.push_back(line.function);
  return names;
}

using Names = std::vector<std::string>;

TEST(UnitsOfDwarf2, HaveThePiecesThatTheyCannotName) {
  const Bytes sets = Set(0, {{kText, 64}, {kText + 256, 256}});
  EXPECT_EQ(FunctionsAt(8, sets), (Names{"middle", "outer"}));
  EXPECT_EQ(FunctionsAt(20, sets), (Names{"outer"}));
  EXPECT_EQ(FunctionsAt(40, sets), (Names{"inner", "middle", "outer"}));
  EXPECT_EQ(FunctionsAt(260, sets), (Names{"cold", "outer"}));
  EXPECT_EQ(FunctionsAt(300, sets), (Names{"second"}));
  EXPECT_EQ(FunctionsAt(600, sets), Names());
}

TEST(UnitsOfDwarf2, AreFoundByWhatTheySayAlone) {
  EXPECT_EQ(FunctionsAt(40, Set(1, {{kText + 256, 256}})), (Names{"inner", "middle", "outer"}));
  EXPECT_EQ(FunctionsAt(260, Set(1, {{kText + 256, 256}})), Names()) << "another unit's set";
}

// As a linker packs a section.
Bytes Packed(const Bytes& plain) {
  std::vector<uint8_t> packed(compressBound(plain.size()));
  uLongf size_bytes = packed.size();
  EXPECT_EQ(compress(packed.data(), &size_bytes, plain.bytes().data(), plain.size()), Z_OK);
  Bytes section;
  section.U32(ELFCOMPRESS_ZLIB).U32(0).U64(plain.size()).U64(1);
  for (size_t i = 0; i < size_bytes; ++i) section.U8(packed[i]);
  return section;
}

TEST(UnitsOfDwarf2, HaveTheirSetsUnpacked) {
  const Bytes sets = Packed(Set(0, {{kText, 64}, {kText + 256, 256}}));
  EXPECT_EQ(FunctionsAt(260, sets, SHF_COMPRESSED), (Names{"cold", "outer"}));
  EXPECT_EQ(FunctionsAt(260, Bytes().U32(ELFCOMPRESS_ZLIB), SHF_COMPRESSED), Names()) << "damaged";
}

TEST(PackedSets, AreUnpackedWhenTheyAreAskedFor) {
  const std::vector<uint8_t> elf = MakeElf(
      {{.name = ".debug_info", .bytes = Packed(UnitInPieces()), .flags = SHF_COMPRESSED},
       {.name = ".debug_aranges", .bytes = Packed(Set(0, {{1, 2}})), .flags = SHF_COMPRESSED}});
  const MemorySource source(elf);
  const auto image = ElfImage::Create(source);
  ASSERT_TRUE(image.ok()) << image.status();
  dwarf::DebugSections sections = dwarf::DebugSections::Open(*image, source, false, {});
  EXPECT_EQ(sections.parts().info.size_bytes, UnitInPieces().size());
  EXPECT_TRUE(sections.parts().aranges.empty());
  for (int time = 0; time < 2; ++time)
    EXPECT_EQ(sections.AddressSets().size_bytes, Set(0, {{1, 2}}).size());
}

}  // namespace
}  // namespace stackray::test
