// Debug information that no compiler writes, made to cost as much as it can: the work is bounded,
// counted in reads and bytes, and the program's other addresses keep their answers.
#include <gtest/gtest.h>

#include "symbolizer/dwarf/debug_file.h"
#include "symbolizer/inlined_cut.h"
#include "tests/symbolizer/counting_source.h"
#include "tests/symbolizer/made_elf.h"

namespace stackray::test {
namespace {

constexpr uint64_t kTextBytes = 4096;
constexpr uint64_t kStepsOfRead =
    16;  // What a read costs of the budget, as section_cursor.cc has it.

// Numbers of the abbreviations below.
enum : uint8_t { kUnit = 1, kFunction, kInlined, kAbstract, kPlain, kSpecified, kAlternate };

void Declare(uint64_t code, uint64_t tag, bool children,
             std::initializer_list<std::pair<uint64_t, uint64_t>> attributes, Bytes* abbrevs) {
  abbrevs->Uleb(code).Uleb(tag).U8(children ? 1 : 0);
  for (const auto& [name, form] : attributes) abbrevs->Uleb(name).Uleb(form);
  abbrevs->U8(0).U8(0);
}

// DWARF's numbers: tags, attributes (name 3, low_pc 0x11, high_pc 0x12, abstract_origin 0x31,
// specification 0x47) and forms (string 8, addr 1, data4 6, ref4 0x13, GNU_ref_alt 0x1f20).
Bytes Abbreviations() {
  Bytes abbrevs;
  Declare(kUnit, 0x11, true, {{0x03, 0x08}, {0x11, 0x01}, {0x12, 0x06}}, &abbrevs);
  Declare(kFunction, 0x2e, true, {{0x03, 0x08}, {0x11, 0x01}, {0x12, 0x06}}, &abbrevs);
  Declare(kInlined, 0x1d, true, {{0x31, 0x13}, {0x11, 0x01}, {0x12, 0x06}}, &abbrevs);
  Declare(kAbstract, 0x2e, false, {{0x03, 0x08}}, &abbrevs);
  Declare(kPlain, 0x24, false, {}, &abbrevs);
  Declare(kSpecified, 0x2e, false, {{0x47, 0x13}, {0x11, 0x01}, {0x12, 0x06}}, &abbrevs);
  Declare(kAlternate, 0x2e, false, {{0x31, 0x1f20}, {0x11, 0x01}, {0x12, 0x06}}, &abbrevs);
  return abbrevs;
}

class DwarfBounds : public testing::Test {
 protected:
  static constexpr uint64_t kHeaderBytes = 11;  // Of a unit of DWARF 4.
  static constexpr uint64_t kText = kMadeBase + 256;

  static Bytes Unit(const Bytes& entries) {
    Bytes unit;
    unit.U32(kHeaderBytes - 4 + entries.size()).U16(4).U32(0).U8(8);
    return unit.Append(entries);
  }
  // The first entry of a unit that covers all the text.
  static Bytes UnitEntry() { return Bytes().U8(kUnit).Text("unit").U64(kText).U32(kTextBytes); }
  static Bytes FunctionEntry(const char* name) {
    return Bytes().U8(kFunction).Text(name).U64(kText).U32(kTextBytes);
  }

  void Build(const Bytes& info, Bytes abbrevs, std::vector<MadeSection> more = {}) {
    Bytes text;
    for (uint64_t i = 0; i < kTextBytes; ++i) text.U8(0x90);
    std::vector<MadeSection> sections = {
        {.name = ".text", .bytes = text, .flags = SHF_ALLOC | SHF_EXECINSTR},
        {.name = ".debug_info", .bytes = info, .flags = 0},
        {.name = ".debug_abbrev", .bytes = abbrevs.U8(0), .flags = 0}};
    sections.insert(sections.end(), more.begin(), more.end());
    source_ = std::make_unique<CountingSource>(MakeElf(std::move(sections)));
    dwarf::DebugFileSettings settings;
    settings.open_related = [this](const std::string&) -> std::unique_ptr<ByteSource> {
      ++related_;
      return std::make_unique<View>(*source_);
    };
    file_ = dwarf::DebugFile::Open(*source_, std::move(settings));
    opening_reads_ = source_->reads();
    source_->Reset();
  }
  std::vector<SourceLine> Resolve(uint64_t offset = 16) {
    return file_ == nullptr ? std::vector<SourceLine>() : file_->Resolve(kText + offset);
  }
  void ExpectBounded(uint64_t most_bytes) const {
    EXPECT_LE(opening_reads_, dwarf::DebugFile::kStepsOfOpening / kStepsOfRead);
    EXPECT_LE(source_->reads(), dwarf::DebugFile::kStepsOfQuestion / kStepsOfRead);
    EXPECT_LE(source_->bytes_read(), most_bytes);
  }

  // A view of these bytes, counted with the others.
  class View : public ByteSource {
   public:
    explicit View(const ByteSource& source) : source_(source) {}
    uint64_t size_bytes() const override { return source_.size_bytes(); }
    absl::Status ReadAt(uint64_t offset, std::span<uint8_t> out) const override {
      return source_.ReadAt(offset, out);
    }

   private:
    const ByteSource& source_;
  };

  std::unique_ptr<CountingSource> source_;
  std::unique_ptr<dwarf::DebugFile> file_;
  uint64_t opening_reads_ = 0;
  size_t related_ = 0;
};

TEST_F(DwarfBounds, TheMadeFileIsRead) {
  Bytes entries = UnitEntry();
  const size_t abstract = kHeaderBytes + entries.size();
  entries.U8(kAbstract).Text("inner").Append(FunctionEntry("outer"));
  entries.U8(kInlined).U32(abstract).U64(kText).U32(64);
  entries.U8(0).U8(0).U8(0);
  Build(Unit(entries), Abbreviations());
  const auto inlined = Resolve(16), plain = Resolve(64);
  ASSERT_EQ(inlined.size(), 2u);
  EXPECT_EQ(inlined[0].function, "inner");
  EXPECT_EQ(inlined[1].function, "outer");
  ASSERT_EQ(plain.size(), 1u);
  ExpectBounded(64 << 10);
}

// A call from a line and a column of 2^63 and more: lines are signed where they are sent.
TEST_F(DwarfBounds, CallsFromLinesThatNoFileHas) {
  constexpr uint64_t kUnitOfLines = 20,
                     kCall = 21;  // stmt_list 0x10; call_file 0x58, _line 0x59, _column 0x57.
  Bytes abbrevs = Abbreviations();
  Declare(kUnitOfLines, 0x11, true, {{0x03, 0x08}, {0x11, 0x01}, {0x12, 0x06}, {0x10, 0x17}},
          &abbrevs);
  Declare(kCall, 0x1d, false,
          {{0x31, 0x13}, {0x11, 0x01}, {0x12, 0x06}, {0x58, 0x0b}, {0x59, 0x07}, {0x57, 0x07}},
          &abbrevs);
  Bytes entries = Bytes().U8(kUnitOfLines).Text("unit").U64(kText).U32(kTextBytes).U32(0);
  const size_t abstract = kHeaderBytes + entries.size();
  entries.U8(kAbstract).Text("inner").Append(FunctionEntry("outer"));
  entries.U8(kCall).U32(abstract).U64(kText).U32(64).U8(1).U64(~0ULL).U64(uint64_t{1} << 63);
  entries.U8(kCall).U32(abstract).U64(kText + 64).U32(64).U8(1).U64(~uint32_t{0}).U64(7);
  entries.U8(0).U8(0).U8(0);
  // One file, and a row of line 5 for all the text: set_address, advance_line, copy, advance_pc,
  // end_sequence.
  Bytes rules, program, lines;
  rules.U8(1).U8(1).U8(1).U8(0).U8(1).U8(10);
  for (const uint8_t arguments : {0, 1, 1, 1, 1, 0, 0, 0, 1}) rules.U8(arguments);
  rules.U8(0).Text("a.c").U8(0).U8(0).U8(0).U8(0);
  program.U8(0).U8(9).U8(2).U64(kText).U8(3).U8(4).U8(1).U8(2).Uleb(kTextBytes).U8(0).U8(1).U8(1);
  lines.U32(6 + rules.size() + program.size())
      .U16(4)
      .U32(rules.size())
      .Append(rules)
      .Append(program);
  Build(Unit(entries), abbrevs, {{.name = ".debug_line", .bytes = lines, .flags = 0}});
  const auto wrong = Resolve(16), largest = Resolve(80);
  ASSERT_EQ(wrong.size(), 2u);
  EXPECT_EQ(wrong[0].line, 5);
  EXPECT_EQ(wrong[1].file, "a.c");
  EXPECT_EQ(wrong[1].line, 0);
  EXPECT_EQ(wrong[1].column, 0);
  ASSERT_EQ(largest.size(), 2u);
  EXPECT_EQ(largest[1].line, int64_t{UINT32_MAX});
  EXPECT_EQ(largest[1].column, 7);
}

TEST_F(DwarfBounds, InlinedDeeperThanAnyProgram) {
  Bytes entries = UnitEntry();
  const size_t abstract = kHeaderBytes + entries.size();
  entries.U8(kAbstract).Text("inner").Append(FunctionEntry("outer"));
  for (int i = 0; i < 100'000; ++i) entries.U8(kInlined).U32(abstract).U64(kText).U32(kTextBytes);
  for (int i = 0; i < 100'002; ++i) entries.U8(0);
  Build(Unit(entries), Abbreviations());
  const auto lines = Resolve();
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.size(), InlinedCut::kInnermost + 1 + InlinedCut::kOutermost + 1);
  EXPECT_EQ(lines.back().function, "outer");
  ExpectBounded(16 << 20);
}

// 48 Mi entries of one byte each: more than a question may look at.
TEST_F(DwarfBounds, EntriesWithoutEnd) {
  Bytes entries = UnitEntry();
  for (int i = 0; i < 48 << 20; ++i) entries.U8(kPlain);
  Build(Unit(entries.Append(FunctionEntry("behind")).U8(0).U8(0)), Abbreviations());
  EXPECT_LE(Resolve().size(), 1u);
  ExpectBounded(dwarf::DebugFile::kStepsOfQuestion + (1 << 20));
}

TEST_F(DwarfBounds, UnitsThatAllClaimOneAddress) {
  Bytes info;
  for (int i = 0; i < 20'000; ++i) info.Append(Unit(UnitEntry().U8(kPlain).U8(0)));
  info.Append(Unit(UnitEntry().Append(FunctionEntry("last")).U8(0).U8(0)));
  Build(info, Abbreviations());
  const auto lines = Resolve();
  if (!lines.empty()) {
    EXPECT_EQ(lines.back().function, "last");
  }
  ExpectBounded(uint64_t{512} << 20);
}

// As ld.bfd leaves the units that compiled one function of a header.
TEST_F(DwarfBounds, OfUnitsThatClaimTheSameCodeTheFirstCounts) {
  Bytes info;
  for (const char* name : {"kept", "dropped", "dropped"})
    info.Append(Unit(UnitEntry().Append(FunctionEntry(name)).U8(0).U8(0)));
  Build(info, Abbreviations());
  const auto lines = Resolve();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].function, "kept");
}

TEST_F(DwarfBounds, MoreAbbreviationsThanAreKept) {
  Bytes abbrevs;
  for (int i = 8; i < 1'000'000; ++i) Declare(i, 0x24, false, {}, &abbrevs);
  Build(Unit(UnitEntry().Append(FunctionEntry("f")).U8(0).U8(0)), abbrevs.Append(Abbreviations()));
  (void)Resolve();
  ExpectBounded(4 << 20);
  if (file_ != nullptr) {
    EXPECT_LE(file_->bytes(), 16u << 20);
  }
}

TEST_F(DwarfBounds, AbbreviationsOfEndlessAttributes) {
  Bytes abbrevs;
  abbrevs.Uleb(8).Uleb(0x24).U8(0);
  for (int i = 0; i < 1'000'000; ++i) abbrevs.Uleb(0x03).Uleb(0x08);
  abbrevs.U8(0).U8(0);
  Build(Unit(UnitEntry().Append(FunctionEntry("f")).U8(0).U8(0)), abbrevs.Append(Abbreviations()));
  (void)Resolve();
  ExpectBounded(8 << 20);
}

TEST_F(DwarfBounds, OverlongNumbers) {
  Bytes entries = UnitEntry().Append(FunctionEntry("f"));
  for (int i = 0; i < 4 << 20; ++i) entries.U8(0x80);
  Build(Unit(entries), Abbreviations());
  EXPECT_LE(Resolve().size(), 1u);
  ExpectBounded(1 << 20);
}

TEST_F(DwarfBounds, NamesThatReferToThemselves) {
  Bytes entries = UnitEntry();
  const size_t first = kHeaderBytes + entries.size();
  entries.U8(kSpecified).U32(first).U64(kText).U32(64);
  const size_t second = kHeaderBytes + entries.size();
  entries.U8(kSpecified).U32(second + 17).U64(kText + 64).U32(64);
  entries.U8(kSpecified).U32(second).U64(kText + 128).U32(64);
  entries.Append(Bytes().U8(kFunction).Text("named").U64(kText + 192).U32(64)).U8(0).U8(0);
  Build(Unit(entries), Abbreviations());
  for (const uint64_t at : {16, 80, 144}) EXPECT_LE(Resolve(at).size(), 1u);
  const auto named = Resolve(200);
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0].function, "named");
  ExpectBounded(256 << 10);
}

// Its common file is the file itself, whose entry refers to the common file's at the same place.
TEST_F(DwarfBounds, ACommonFileThatIsTheFileItself) {
  Bytes entries = UnitEntry();
  const size_t own = kHeaderBytes + entries.size();
  entries.U8(kAlternate).U32(own).U64(kText).U32(64).U8(0);
  Bytes note, link;
  note.U32(4).U32(8).U32(NT_GNU_BUILD_ID).Text("GNU").U64(0x0807060504030201);
  link.Text("self").U64(0x0807060504030201);
  Build(Unit(entries), Abbreviations(),
        {{.name = ".note.gnu.build-id", .bytes = note, .type = SHT_NOTE},
         {.name = ".gnu_debugaltlink", .bytes = link, .flags = 0}});
  EXPECT_LE(Resolve().size(), 1u);
  EXPECT_EQ(related_, 1u) << "the link of a common file is not followed";
  ExpectBounded(256 << 10);
}

}  // namespace
}  // namespace stackray::test
