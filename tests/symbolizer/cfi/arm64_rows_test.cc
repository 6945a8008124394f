// Rows of arm64: what compilers write, one form at a time, and code that has no rules. Real
// libraries: oracle_test.cc.
#include <elf.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "symbolizer/cfi/arm64_gaps.h"
#include "symbolizer/cfi/arm64_scan.h"
#include "tests/symbolizer/cfi/page_helpers.h"

namespace stackray {
namespace {

using Instructions = std::vector<uint8_t>;

constexpr uint8_t kOffset = 0x80;  // DW_CFA_offset, with the register in it.
constexpr uint8_t kX29 = 29, kX30 = 30, kSp = 31;
constexpr uint32_t kMovX8RtSigreturn = 0xd2801168, kSvc = 0xd4000001, kNop = 0xd503201f;

FrameFile Arm64File() {
  FrameFile file;
  file.machine = EM_AARCH64;
  file.return_register = kX30;
  file.common_instructions = {0x0c, kSp, 0};  // CFA sp + 0.
  return file;
}

// A function of 64 bytes whose rows these are.
FrameFile Function(const Instructions& instructions) {
  FrameFile file = Arm64File();
  file.entries = {{0, 64, instructions}};
  return file;
}

// Saved at CFA - `below_cfa`.
Instructions Saved(uint8_t number, unsigned below_cfa) {
  return {static_cast<uint8_t>(kOffset | number), static_cast<uint8_t>(below_cfa / 8)};
}

Instructions Record(unsigned below_cfa) {
  return Join({Saved(kX29, below_cfa), Saved(kX30, below_cfa - 8)});
}

// "CFA x29 x30" at one byte of the first page.
std::string RowAt(const FrameFile& file, uint32_t offset) {
  const std::unique_ptr<OpenedTables> opened = OpenBytes(file.Build().bytes);
  EXPECT_TRUE(opened->tables) << opened->status;
  if (!opened->tables) return "";
  const absl::StatusOr<std::vector<uint8_t>> blob = opened->tables->BuildPage(kFirstPage);
  EXPECT_TRUE(blob.ok()) << blob.status();
  const DecodedPage page = DecodePage(*blob, file.machine);
  EXPECT_EQ(page.error, "");
  const CodeText text = DescribeCode(page.code_at.at(offset), page.rules, file.machine);
  return text.special.empty() ? text.cfa + " " + text.rbp + " " + text.ra : text.special;
}

size_t RuleCount(const FrameFile& file) {
  const absl::StatusOr<std::vector<uint8_t>> blob =
      OpenBytes(file.Build().bytes)->tables->BuildPage(kFirstPage);
  return DecodePage(*blob, file.machine).rules.size();
}

TEST(Arm64Rows, ALeafNeedsNoMemory) {
  const FrameFile file = Function({});
  EXPECT_EQ(RowAt(file, 0), "sp+0 u u");
  EXPECT_EQ(RowAt(file, 63), "sp+0 u u");
  EXPECT_EQ(RowAt(file, 64), "NONE");
  EXPECT_EQ(RuleCount(file), 0u);
}

TEST(Arm64Rows, FrameRecordAtTheBottomOrAnywhere) {
  const FrameFile bottom = Function(Join({Advance(4), CfaOffset(64), Record(64)}));
  EXPECT_EQ(RowAt(bottom, 3), "sp+0 u u");
  EXPECT_EQ(RowAt(bottom, 4), "sp+64 c-64 c-56");
  const FrameFile top = Function(Join({CfaOffset(160), Record(16)}));
  EXPECT_EQ(RowAt(top, 0), "sp+160 c-16 c-8");
  const FrameFile middle = Function(Join({CfaOffset(4096), Record(224)}));
  EXPECT_EQ(RowAt(middle, 0), "sp+4096 c-224 c-216");
  for (const FrameFile& file : {bottom, top, middle}) EXPECT_EQ(RuleCount(file), 0u);
}

TEST(Arm64Rows, CfaFromX29) {
  const FrameFile file = Function(Join({{0x0c, kX29, 48}, Record(48)}));
  EXPECT_EQ(RowAt(file, 0), "x29+48 c-48 c-40");
  EXPECT_EQ(RuleCount(file), 0u);
}

TEST(Arm64Rows, X30Alone) {
  for (const unsigned below : {8, 16, 24, 32, 128}) {
    const FrameFile file = Function(Join({CfaOffset(256), Saved(kX30, below)}));
    EXPECT_EQ(RowAt(file, 0), "sp+256 u c-" + std::to_string(below));
    EXPECT_EQ(RuleCount(file), 0u);
  }
}

// What 16 bits cannot hold is a rule in full, and says the same.
TEST(Arm64Rows, EverythingElseIsARule) {
  const auto is = [](const Instructions& instructions, const char* row) {
    const FrameFile file = Function(instructions);
    EXPECT_EQ(RowAt(file, 0), row);
    EXPECT_EQ(RuleCount(file), 1u) << row;
  };
  is(Join({CfaOffset(8192), Record(16)}), "sp+8192 c-16 c-8");
  is(Join({CfaOffset(40), Record(24)}), "sp+40 c-24 c-16");
  is(Join({CfaOffset(512), Record(240)}), "sp+512 c-240 c-232");
  is(Join({CfaOffset(64), Saved(kX29, 48), Saved(kX30, 16)}), "sp+64 c-48 c-16");
  is(Join({CfaOffset(64), Saved(kX29, 64)}), "sp+64 c-64 u");
  is(Join({CfaOffset(256), Saved(kX30, 136)}), "sp+256 u c-136");
  is({0x09, kX30, 9}, "sp+0 u x9");  // DW_CFA_register.
  is({0x0c, 16, 0}, "x16+0 u u");
  // DW_CFA_def_cfa_expression: DW_OP_breg20 + 8.
  is({0x0f, 2, 0x70 + 20, 8}, "x20+8 u u");
}

TEST(Arm64Rows, RegistersThatX86DoesNotHave) {
  FrameFile file;
  file.entries = {{0, 64, {0x0f, 2, 0x70 + 20, 8}}};
  EXPECT_EQ(RowAt(file, 0), "UNSUPPORTED");
}

TEST(Arm64Rows, SigningIsNoRule) {
  for (const uint8_t opcode : {0x2d, 0x2c}) {
    FrameFile file = Function(Join({Advance(4),
                                    {opcode},
                                    Advance(4),
                                    CfaOffset(32),
                                    Record(32),
                                    Advance(8),
                                    CfaOffset(0),
                                    {0xc0 | kX29, 0xc0 | kX30},
                                    {opcode}}));
    EXPECT_EQ(RowAt(file, 4), "sp+0 u u");
    EXPECT_EQ(RowAt(file, 8), "sp+32 c-32 c-24");
    EXPECT_EQ(RowAt(file, 16), "sp+0 u u");
    FrameFile x86;
    x86.entries = {{0, 64, {opcode}}};
    EXPECT_EQ(RowAt(x86, 0), "UNSUPPORTED") << "nobody defined it there";
  }
}

TEST(Arm64Rows, SignedWithTheOtherKey) {
  FrameFile file = Function(Join({CfaOffset(32), Record(32)}));
  file.augmentation = "zRB";
  EXPECT_EQ(RowAt(file, 0), "sp+32 c-32 c-24");
  FrameFile x86;
  x86.entries = {{0, 64, {}}};
  x86.augmentation = "zRB";
  EXPECT_EQ(RowAt(x86, 0), "UNSUPPORTED");
}

TEST(Arm64Rows, AdvancesCountInstructions) {
  FrameFile file = Function(Join({Advance(2), CfaOffset(32), Record(32)}));
  file.code_alignment = 4;
  EXPECT_EQ(RowAt(file, 7), "sp+0 u u");
  EXPECT_EQ(RowAt(file, 8), "sp+32 c-32 c-24");
}

TEST(Arm64Rows, TheOutermostFrame) {
  EXPECT_EQ(RowAt(Function({0x07, kX30}), 0), "END");  // DW_CFA_undefined.
}

// As glibc's rawmemchr has it: its return address is in x15, which is another column.
TEST(Arm64Rows, AnotherReturnColumn) {
  FrameFile file = Function({});
  file.return_register = 15;
  EXPECT_EQ(RowAt(file, 0), "sp+0 u x15");
  file.return_register = 29;
  EXPECT_EQ(RowAt(file, 0), "UNSUPPORTED");
  file.return_register = 200;
  EXPECT_EQ(RowAt(file, 0), "UNSUPPORTED");
}

TEST(Arm64Rows, TheWayOutOfASignalHandler) {
  FrameFile file = Function({});
  file.words = {{96, kNop}, {100, kMovX8RtSigreturn}, {104, kSvc}, {108, kNop}};
  EXPECT_EQ(RowAt(file, 95), "NONE");
  EXPECT_EQ(RowAt(file, 99), "SIGNAL") << "a handler's return address is looked up one byte before";
  EXPECT_EQ(RowAt(file, 100), "SIGNAL");
  EXPECT_EQ(RowAt(file, 107), "SIGNAL");
  EXPECT_EQ(RowAt(file, 108), "NONE");
  file.words = {{100, kMovX8RtSigreturn}, {104, kNop}};
  EXPECT_EQ(RowAt(file, 100), "NONE") << "another system call";
  file.words = {{32, kMovX8RtSigreturn}, {36, kSvc}};
  EXPECT_EQ(RowAt(file, 32), "sp+0 u u") << "a function with rules of its own";
  file.words = {{64, kMovX8RtSigreturn}, {68, kSvc}};
  EXPECT_EQ(RowAt(file, 63), "sp+0 u u") << "the byte before is a function's";
  EXPECT_EQ(RowAt(file, 64), "SIGNAL");
  file.words = {{PAGE_TEXT_BYTES - 8, kMovX8RtSigreturn}, {PAGE_TEXT_BYTES - 4, kSvc}};
  EXPECT_EQ(RowAt(file, PAGE_TEXT_BYTES - 1), "SIGNAL") << "at a page's end";
  file.words = {{PAGE_TEXT_BYTES - 4, kMovX8RtSigreturn}, {PAGE_TEXT_BYTES, kSvc}};
  EXPECT_EQ(RowAt(file, PAGE_TEXT_BYTES - 1), "NONE") << "across two pages: not looked for";
  FrameFile x86 = file;
  x86.machine = EM_X86_64;
  x86.return_register = 16;
  x86.words = {{100, kMovX8RtSigreturn}, {104, kSvc}};
  EXPECT_NE(RowAt(x86, 100), "SIGNAL") << "arm64's instructions mean nothing there";
}

std::string Scanned(const std::vector<uint32_t>& words, size_t at) {
  const std::span<const uint8_t> text(reinterpret_cast<const uint8_t*>(words.data()),
                                      words.size() * 4);
  const cfi::TextPiece piece{
      .begin = 64, .end = static_cast<uint32_t>(64 + text.size()), .address = 0x1000};
  const uint64_t functions[] = {0x1000};
  cfi::PageRows rows;
  cfi::ScanArm64Functions(piece, text, functions, &rows);
  u16 code = 0;
  for (const cfi::PageRow& row : rows.rows())
    if (row.offset <= 64 + 4 * at) code = row.code;
  const CodeText described = DescribeCode(code, {}, EM_AARCH64);
  return described.special.empty() ? described.cfa + " " + described.rbp + " " + described.ra
                                   : described.special;
}

TEST(Arm64Scan, FollowsEveryPath) {
  constexpr uint32_t kRet = 0xd65f03c0;
  const std::vector<uint32_t> words = {
      0xb4000120,  // 0: cbz x0, 9
      0xa9bd7bfd,  // 1: stp x29, x30, [sp, #-48]!
      0x910003fd,  // 2: mov x29, sp
      0xd10043ff,  // 3: sub sp, sp, #16
      0x94000000,  // 4: bl
      0x910043ff,  // 5: add sp, sp, #16
      0xa8c37bfd,  // 6: ldp x29, x30, [sp], #48
      kRet,        // 7
      kNop,        // 8: nobody comes here
      0xf81f0ffe,  // 9: str x30, [sp, #-16]!
      0xf84107fe,  // 10: ldr x30, [sp], #16
      kRet,        // 11
  };
  const char* expected[] = {"sp+0 u u",        "sp+0 u u",        "sp+48 c-48 c-40",
                            "sp+48 c-48 c-40", "sp+64 c-48 c-40", "sp+64 c-48 c-40",
                            "sp+48 c-48 c-40", "sp+0 u u",        "NONE",
                            "sp+0 u u",        "sp+16 u c-16",    "sp+0 u u"};
  for (size_t i = 0; i < words.size(); ++i) EXPECT_EQ(Scanned(words, i), expected[i]) << i;
  EXPECT_EQ(Scanned(words, words.size()), "NONE") << "behind the text";
}

// Whatever the words are, the scan ends and its rows ascend.
TEST(Arm64Scan, AnyWords) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint32_t> words(random() % 500);
    for (uint32_t& word : words)
      word = random() % 3 ? 0xa9007bfd | (random() & 0x01ff8000) : static_cast<uint32_t>(random());
    Scanned(words, 0);
  }
}

// Functions of a library that does have rules: its compiler's word on what the scan finds out.
TEST(Arm64Scan, AgreesWithTheRulesOfRealFunctions) {
  const std::unique_ptr<OpenedTables> opened = OpenFile("/usr/aarch64-linux-gnu/lib/libm.so.6");
  if (absl::IsNotFound(opened->status)) GTEST_SKIP() << "no libm6 of arm64: libc6-arm64-cross";
  ASSERT_TRUE(opened->tables) << opened->status;
  const absl::StatusOr<std::vector<uint64_t>> functions =
      cfi::FindArm64Functions(*opened->source, *opened->elf);
  ASSERT_TRUE(functions.ok()) << functions.status();
  uint64_t same = 0, different = 0;
  const PageRange range = opened->tables->pages();
  for (uint32_t page = range.first_page; page < range.first_page + range.page_count; ++page) {
    const absl::StatusOr<std::vector<uint8_t>> blob = opened->tables->BuildPage(page);
    ASSERT_TRUE(blob.ok()) << blob.status();
    const DecodedPage decoded = DecodePage(*blob, EM_AARCH64);
    const uint64_t begin = uint64_t{page} << PAGE_TEXT_SHIFT;
    std::vector<uint8_t> text(
        std::min<uint64_t>(PAGE_TEXT_BYTES, opened->source->size_bytes() - begin));
    ASSERT_TRUE(opened->source->ReadAt(begin, text).ok());
    const std::optional<uint64_t> address = opened->elf->AddressOfOffset(begin);
    if (!address) continue;
    const cfi::TextPiece piece{
        .begin = 0, .end = static_cast<uint32_t>(text.size()), .address = *address};
    cfi::PageRows rows;
    cfi::ScanArm64Functions(piece, text, *functions, &rows);
    for (size_t i = 0; i < rows.rows().size(); ++i) {
      const cfi::PageRow& row = rows.rows()[i];
      const CodeText ours = DescribeCode(row.code, {}, EM_AARCH64);
      const CodeText theirs = DescribeCode(decoded.code_at[row.offset], decoded.rules, EM_AARCH64);
      if (!ours.special.empty() || !theirs.special.empty() || theirs.cfa.starts_with("x29"))
        continue;
      const bool is_same = ours.cfa == theirs.cfa && ours.rbp == theirs.rbp && ours.ra == theirs.ra;
      ++(is_same ? same : different);
    }
  }
  fmt::print("{} rows as the compiler's, {} not\n", same, different);
  EXPECT_GT(same, 1000u);
  EXPECT_LE(different, same / 100);
}

}  // namespace
}  // namespace stackray
