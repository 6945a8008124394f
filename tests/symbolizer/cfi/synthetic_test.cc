// Pages of files that no compiler writes: overlaps, limits, damage.
#include <gtest/gtest.h>

#include <chrono>

#include "fmt/format.h"
#include "tests/symbolizer/cfi/page_helpers.h"

namespace stackray {
namespace {

TEST(Entries, LaterOneHoldsWhereTwoOverlap) {
  FrameFile file;
  file.entries = {{0, 0x100, CfaOffset(32)}, {0x40, 0x20, CfaOffset(64)}};
  const DecodedPage page = FirstPage(file);
  EXPECT_EQ(TextAt(page, 0x3f), "rsp+32");
  EXPECT_EQ(TextAt(page, 0x40), "rsp+64");
  EXPECT_EQ(TextAt(page, 0x5f), "rsp+64");
  EXPECT_EQ(TextAt(page, 0x60), "NONE");
}

TEST(Entries, EmptyOnesCoverNothing) {
  FrameFile file;
  file.entries = {{0x3ff0, 0x100, CfaOffset(32)},
                  {0x3ff8, 0, CfaOffset(64)},
                  {0x4000, 0, CfaOffset(64)},
                  {0x4010, 0, CfaOffset(64)}};
  const std::unique_ptr<OpenedTables> opened = OpenBytes(file.Build().bytes);
  ASSERT_TRUE(opened->tables);
  const DecodedPage first = BuildAndDecode(*opened->tables, kFirstPage);
  EXPECT_EQ(TextAt(first, 0x3fef), "NONE");
  EXPECT_EQ(TextAt(first, 0x3fff), "rsp+32");
  const DecodedPage second = BuildAndDecode(*opened->tables, kFirstPage + 1);
  EXPECT_EQ(TextAt(second, 0), "rsp+32");
  EXPECT_EQ(TextAt(second, 0xef), "rsp+32");
  EXPECT_EQ(TextAt(second, 0xf0), "NONE");
}

TEST(Entries, OneThatCrossesPagesIsTheNextPagesSentinel) {
  FrameFile file;
  file.text_bytes = 0xc000;
  file.entries = {
      {0x3000, 0x8000,
       Join(
           {CfaOffset(16), {0x03, 0x00, 0x08}, CfaOffset(24), {0x03, 0x00, 0x40}, CfaOffset(40)})}};
  const std::vector<std::vector<u16>> pages = AllPages(file.Build());
  ASSERT_EQ(pages.size(), 3u);
  EXPECT_EQ(pages[0][0x2fff], CODE_SPECIAL(SPECIAL_NONE));
  EXPECT_EQ(pages[0][0x3000], 2);
  EXPECT_EQ(pages[0][0x3800], 3);
  EXPECT_EQ(pages[1][0], 3);
  EXPECT_EQ(pages[1][0x37ff], 3);
  EXPECT_EQ(pages[1][0x3800], 5);
  EXPECT_EQ(pages[2][0x2fff], 5);
  EXPECT_EQ(pages[2][0x3000], CODE_SPECIAL(SPECIAL_NONE));
}

TEST(Pages, WithoutEntriesAreAHeader) {
  FrameFile file;
  file.text_bytes = 0xc000;
  file.entries = {{0x10, 0x20, {}}};
  const std::unique_ptr<OpenedTables> opened = OpenBytes(file.Build().bytes);
  ASSERT_TRUE(opened->tables);
  const absl::StatusOr<std::vector<uint8_t>> blob = opened->tables->BuildPage(kFirstPage + 1);
  ASSERT_TRUE(blob.ok());
  EXPECT_EQ(blob->size(), 144u);
  EXPECT_EQ(TextAt(DecodePage(*blob), 77), "NONE");
  EXPECT_TRUE(absl::IsInvalidArgument(opened->tables->BuildPage(kFirstPage + 3).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(opened->tables->BuildPage(kFirstPage - 1).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(opened->tables->BuildPage(~0u).status()));
}

TEST(Pages, HoldARowAtEveryByte) {
  FrameFile file;
  std::vector<uint8_t> instructions;
  for (unsigned i = 0; i < PAGE_TEXT_BYTES; ++i)
    instructions.insert(instructions.end(), {0x0e, static_cast<uint8_t>(16 + i % 2 * 8), 0x41});
  file.entries = {{0, PAGE_TEXT_BYTES, instructions}};
  const std::unique_ptr<OpenedTables> opened = OpenBytes(file.Build().bytes);
  ASSERT_TRUE(opened->tables);
  const absl::StatusOr<std::vector<uint8_t>> blob = opened->tables->BuildPage(kFirstPage);
  ASSERT_TRUE(blob.ok());
  const DecodedPage page = DecodePage(*blob);
  EXPECT_EQ(page.error, "");
  EXPECT_EQ(page.row_starts.size(), PAGE_TEXT_BYTES - 1);  // The first is the sentinel.
  EXPECT_LT(blob->size(), 1u << 16);
  for (unsigned i = 0; i < PAGE_TEXT_BYTES; ++i) ASSERT_EQ(page.code_at[i], 2 + i % 2);
}

TEST(Pages, RulesBeyondTheLimitAreUnsupported) {
  FrameFile file;
  std::vector<uint8_t> instructions = {0x0c, 10, 0};  // CFA from r10: never compact.
  for (unsigned i = 0; i < PAGE_TEXT_BYTES; ++i) {
    const std::vector<uint8_t> next = CfaOffset(i);
    instructions.insert(instructions.end(), next.begin(), next.end());
    instructions.push_back(0x41);
  }
  file.entries = {{0, PAGE_TEXT_BYTES, instructions}};
  const DecodedPage page = FirstPage(file);
  ASSERT_EQ(page.rules.size(), static_cast<size_t>(PAGE_MAX_RULES));
  EXPECT_EQ(TextAt(page, 0), "r10+0");
  EXPECT_EQ(TextAt(page, PAGE_MAX_RULES - 1), fmt::format("r10+{}", PAGE_MAX_RULES - 1));
  EXPECT_EQ(TextAt(page, PAGE_MAX_RULES), "UNSUPPORTED");
  EXPECT_EQ(TextAt(page, PAGE_TEXT_BYTES - 1), "UNSUPPORTED");
}

TEST(Programs, RememberAtMost64States) {
  for (const unsigned depth : {64u, 65u}) {
    FrameFile file;
    std::vector<uint8_t> instructions(depth, 0x0a);
    const std::vector<uint8_t> rest = Join({Advance(4), CfaOffset(24), Advance(4), {0x0b}});
    instructions.insert(instructions.end(), rest.begin(), rest.end());
    file.entries = {{0, 16, instructions}};
    const DecodedPage page = FirstPage(file);
    EXPECT_EQ(TextAt(page, 0), depth == 64 ? "rsp+8" : "UNSUPPORTED");
    EXPECT_EQ(TextAt(page, 5), depth == 64 ? "rsp+24" : "UNSUPPORTED");
    EXPECT_EQ(TextAt(page, 9), depth == 64 ? "rsp+8" : "UNSUPPORTED");
    EXPECT_EQ(TextAt(page, 16), "NONE");
  }
}

TEST(Programs, DamageCostsTheRestOfTheirEntryOnly) {
  FrameFile file;
  file.entries = {{0, 16, Join({Advance(4), CfaOffset(24), Advance(4), {0x3f}, CfaOffset(32)})},
                  {16, 16, CfaOffset(48)}};
  const DecodedPage page = FirstPage(file);
  EXPECT_EQ(TextAt(page, 3), "rsp+8");
  EXPECT_EQ(TextAt(page, 7), "rsp+24");
  EXPECT_EQ(TextAt(page, 8), "UNSUPPORTED");
  EXPECT_EQ(TextAt(page, 15), "UNSUPPORTED");
  EXPECT_EQ(TextAt(page, 16), "rsp+48");
}

TEST(Programs, OneUnusableCommonEntryMakesUnsupportedRows) {
  FrameFile file;
  file.common_instructions = {0x3e};
  file.entries = {{0x10, 16, {}}};
  EXPECT_EQ(TextAt(FirstPage(file), 0xf), "NONE");
  EXPECT_EQ(TextAt(FirstPage(file), 0x10), "UNSUPPORTED");
}

TEST(Programs, WorkOfAPageIsBounded) {
  FrameFile file;
  // 200 KB of nops in each of 40 entries: ten times what a page may cost.
  for (uint64_t i = 0; i < 40; ++i)
    file.entries.push_back({i * 16, 16, Join({CfaOffset(16), std::vector<uint8_t>(200000, 0)})});
  const auto start = std::chrono::steady_clock::now();
  const DecodedPage page = FirstPage(file);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(TextAt(page, 0), "rsp+16");
  EXPECT_EQ(TextAt(page, 39 * 16), "UNSUPPORTED");
}

// DW_CFA_expression: a register saved at rsp + offset, which needs two bytes of LEB128.
std::vector<uint8_t> SavedAtRsp(uint8_t dwarf_register, uint8_t offset) {
  return {0x10, dwarf_register, 3, 0x77, static_cast<uint8_t>(offset | 0x80), 1};
}

TEST(SignalFrames, OfTheKernelsLayoutAreSpecial) {
  FrameFile file;
  file.augmentation = "zRS";
  const std::vector<uint8_t> cfa = {0x0f, 4, 0x77, 0xa0, 1, 0x06};
  const std::vector<uint8_t> rip = SavedAtRsp(16, 168 & 0x7f), rsp = SavedAtRsp(7, 160 & 0x7f);
  const std::vector<uint8_t> rbp = {0x10, 6, 3, 0x77, 0xf8, 0x00};  // rsp + 120
  file.entries = {
      {0, 16, Join({cfa, rip, rsp, rbp})}, {16, 16, Join({cfa, rip, rsp})}, {32, 16, {}}};
  const DecodedPage page = FirstPage(file);
  EXPECT_EQ(TextAt(page, 0), "SIGNAL");
  ASSERT_EQ(page.rules.size(), 2u);  // Others keep the flag, which no compact code has.
  EXPECT_EQ(TextAt(page, 16), "exp");
  EXPECT_EQ(page.rules[0].signal_frame, 1);
  EXPECT_EQ(page.rules[0].ra_kind, VALUE_AT_REGISTER);
  EXPECT_EQ(page.rules[0].ra_offset, 168);
  EXPECT_EQ(TextAt(page, 32), "rsp+8");
  EXPECT_EQ(page.rules[1].signal_frame, 1);
}

// As OpenSSL's bn_mul_mont has it: rsp is saved above as many words as r9 says.
TEST(Expressions, MayAddARegistersWords) {
  const auto indexed = [](std::vector<uint8_t> eightfold, std::vector<uint8_t> rest) {
    const std::vector<uint8_t> both =
        Join({{0x77, 8, 0x79, 0}, std::move(eightfold), std::move(rest)});
    return Join({{0x0f, static_cast<uint8_t>(both.size())}, both});
  };
  const std::vector<uint8_t> multiplied = {0x38, 0x1e, 0x22}, shifted = {0x33, 0x24, 0x22};
  const std::vector<uint8_t> deref = {0x06, 0x23, 8};
  FrameFile file;
  file.entries = {
      {0, 16, indexed(multiplied, deref)},
      {16, 16, indexed(shifted, deref)},
      {32, 16, indexed(multiplied, {})},             // Not read: no CFA of that kind.
      {48, 16, indexed({0x34, 0x1e, 0x22}, deref)},  // Fourfold.
      {64, 16, indexed({0x38, 0x1e, 0x1c}, deref)},  // Subtracted.
      {80, 16, indexed(multiplied, {0x06, 0x79, 0, 0x38, 0x1e, 0x22})}};  // Added behind the read.
  const DecodedPage page = FirstPage(file);
  ASSERT_EQ(page.rules.size(), 1u);  // Both ways to say it are one.
  EXPECT_EQ(TextAt(page, 0), "exp");
  EXPECT_EQ(TextAt(page, 16), "exp");
  for (const unsigned at : {32, 48, 64, 80}) EXPECT_EQ(TextAt(page, at), "UNSUPPORTED") << at;
  const unwind_rule& rule = page.rules[0];
  EXPECT_EQ(rule.cfa_kind, CFA_DEREF);
  EXPECT_EQ(rule.cfa_register, 7);
  EXPECT_EQ(rule.cfa_index, 9 + 1);
  EXPECT_EQ(rule.cfa_offset, 8);
  EXPECT_EQ(rule.cfa_add, 8);
}

TEST(Plt, OnlyItsExactExpressionIsSpecial) {
  const auto plt = [](uint8_t threshold) {
    return std::vector<uint8_t>{0x0f, 11,        0x77, 8,    0x80, 0,   0x3f,
                                0x1a, threshold, 0x2a, 0x33, 0x24, 0x22};
  };
  FrameFile file;
  file.entries = {{0, 16, plt(0x3b)}, {16, 16, plt(0x39)}, {32, 16, Join({plt(0x3b), {0x86, 2}})}};
  const DecodedPage page = FirstPage(file);
  EXPECT_EQ(TextAt(page, 0), "PLT");
  EXPECT_EQ(TextAt(page, 16), "UNSUPPORTED");  // A threshold of 9.
  EXPECT_EQ(TextAt(page, 32), "UNSUPPORTED");  // rbp saved.
}

TEST(Rules, RbxIsKeptWhereARuleIsNeededAnyway) {
  FrameFile file;
  file.entries = {{0, 16, Join({{0x0c, 10, 16}, {0x83, 3}})}};
  const DecodedPage page = FirstPage(file);
  ASSERT_EQ(page.rules.size(), 1u);
  EXPECT_EQ(page.rules[0].rbx_kind, VALUE_AT_CFA);
  EXPECT_EQ(page.rules[0].rbx_offset, -24);
}

// A shared object that starts by itself and has no interpreter: the dynamic loader.
TEST(Rules, EveryRowOfTheLoaderSaysWhereRbxIs) {
  FrameFile file;
  file.file_type = 3;                                           // ET_DYN
  file.entries = {{0, 16, Join({{0x44, 0x0e, 16, 0x83, 2}})}};  // push %rbx after 4 bytes.
  const DecodedPage page = FirstPage(file);
  ASSERT_EQ(page.rules.size(), 2u);
  EXPECT_EQ(page.rules[0].rbx_kind, VALUE_REGISTER);
  EXPECT_EQ(page.rules[0].cfa_offset, 8);
  EXPECT_EQ(page.rules[1].rbx_kind, VALUE_AT_CFA);
  EXPECT_EQ(page.rules[1].rbx_offset, -16);
  file.file_type = 2;  // ET_EXEC: nothing there needs rbx.
  EXPECT_TRUE(FirstPage(file).rules.empty());
}

TEST(LargeFrames, HaveCodesOfTheirOwn) {
  FrameFile file;
  const std::vector<uint8_t> rbp_first = {0x86, 2}, rbp_later = {0x86, 3};
  file.entries = {
      {0, 16, Join({CfaOffset(4088), rbp_first})},   {16, 16, Join({CfaOffset(4096), rbp_first})},
      {32, 16, Join({CfaOffset(65528), rbp_first})}, {48, 16, CfaOffset(65528)},
      {64, 16, Join({CfaOffset(4096), rbp_later})},  {80, 16, Join({CfaOffset(65536), rbp_first})}};
  const DecodedPage page = FirstPage(file);
  const auto text = [&](unsigned at) {
    return DescribeCode(page.code_at[at], page.rules, EM_X86_64);
  };
  const auto base = [&](unsigned at) { return page.code_at[at] >> CODE_BASE_SHIFT; };
  EXPECT_EQ(base(0), CODE_BASE_RSP);
  EXPECT_EQ(base(16), CODE_BASE_LARGE);
  EXPECT_EQ(text(16).cfa, "rsp+4096");
  EXPECT_EQ(text(16).rbp, "c-16");
  EXPECT_EQ(base(32), CODE_BASE_LARGE);
  EXPECT_EQ(text(32).cfa, "rsp+65528");
  EXPECT_EQ(base(48), CODE_BASE_LARGE_SAME_RBP);
  EXPECT_EQ(text(48).rbp, "u");
  EXPECT_EQ(base(64), CODE_BASE_RULE);
  EXPECT_EQ(text(64).rbp, "c-24");
  EXPECT_EQ(base(80), CODE_BASE_RULE);
  EXPECT_EQ(text(80).cfa, "rsp+65536");
}

TEST(Rules, NumbersBeyond32BitsAreUnsupported) {
  FrameFile file;
  file.entries = {{0, 16, CfaOffset(uint64_t{1} << 40)},
                  {16, 16, {0x12, 7, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}},
                  {32, 16, {0x05, 6, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}},
                  {48, 16, CfaOffset(0x7ffffff0)}};
  const DecodedPage page = FirstPage(file);
  EXPECT_EQ(TextAt(page, 0), "UNSUPPORTED");
  EXPECT_EQ(TextAt(page, 48), "rsp+2147483632");
}

TEST(Create, SaysWhatIsMissing) {
  FrameFile file;
  file.entries = {{0, 16, {}}};
  file.machine = 243;  // EM_RISCV.
  EXPECT_TRUE(absl::IsUnimplemented(OpenBytes(file.Build().bytes)->status));
  file.machine = 62;
  file.with_header = file.with_sections = false;
  // Without entries all code is looked at; this is zeros, which are none.
  const DecodedPage page = FirstPage(file);
  EXPECT_EQ(TextAt(page, 0), "NONE");
  EXPECT_TRUE(page.rules.empty());
}

// A file that is cut while it is open.
class ShrinkingSource : public ByteSource {
 public:
  explicit ShrinkingSource(std::vector<uint8_t> bytes)
      : bytes_(std::move(bytes)), source_(bytes_) {}
  uint64_t size_bytes() const override { return bytes_.size(); }
  absl::Status ReadAt(uint64_t offset, std::span<uint8_t> out) const override {
    if (offset + out.size() > limit_bytes) return absl::OutOfRangeError("the file became shorter");
    return source_.ReadAt(offset, out);
  }
  uint64_t limit_bytes = ~uint64_t{0};

 private:
  std::vector<uint8_t> bytes_;
  MemorySource source_;
};

TEST(ShrinkingFile, IsAnErrorOnceAndThenWorksAgain) {
  for (const bool with_header : {true, false}) {
    FrameFile file = SomeFunctions();
    file.with_header = with_header;
    const FrameFile::Built built = file.Build();
    ShrinkingSource source(built.bytes);
    const absl::StatusOr<ElfImage> elf = ElfImage::Create(source);
    ASSERT_TRUE(elf.ok());
    absl::StatusOr<UnwindTables> tables = UnwindTables::Create(source, *elf);
    ASSERT_TRUE(tables.ok());
    source.limit_bytes = built.eh_frame_offset + 100;
    EXPECT_TRUE(absl::IsOutOfRange(tables->BuildPage(kFirstPage).status()));
    source.limit_bytes = ~uint64_t{0};
    EXPECT_EQ(BuildAndDecode(*tables, kFirstPage).code_at, AllPages(built)[0]);
  }
}

}  // namespace
}  // namespace stackray
