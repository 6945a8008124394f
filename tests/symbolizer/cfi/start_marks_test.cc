// What a page says of return addresses that are a function's first byte.
#include <gtest/gtest.h>

#include "tests/symbolizer/cfi/page_helpers.h"

namespace stackray {
namespace {

// Two functions that touch each other at 0x40, behind some that the first one may call.
FrameFile TwoFunctions() {
  FrameFile file;
  file.entries = {{0x20, 0x20, CfaOffset(32)}, {0x40, 0x20, CfaOffset(48)}, {0x100, 0x30, {}}};
  return file;
}

// call rel32 at 0x3b, to `target`.
void CallBefore40(uint32_t target, FrameFile* file) {
  const uint32_t distance = target - 0x40;
  file->words[0x38] = 0xe8909090;
  file->words[0x3c] = distance;
}

TEST(StartMarks, NobodyReturnsBehindNoCall) {
  const DecodedPage page = FirstPage(TwoFunctions());
  EXPECT_EQ(TextAt(page, 0x3e), "rsp+32");
  EXPECT_EQ(TextAt(page, 0x3f), "START");
  EXPECT_EQ(TextAt(page, 0x40), "rsp+48");
  EXPECT_TRUE(page.rules.empty());
}

TEST(StartMarks, AlignmentIsNobodys) {
  FrameFile file = TwoFunctions();
  file.entries = {{0x20, 0x15, CfaOffset(32)}, {0x40, 0x15, CfaOffset(48)}, {0x100, 0x20, {}}};
  const DecodedPage page = FirstPage(file);
  EXPECT_EQ(TextAt(page, 0x34), "rsp+32");
  EXPECT_EQ(TextAt(page, 0x35), "START");
  EXPECT_EQ(TextAt(page, 0x3f), "START");
  EXPECT_EQ(TextAt(page, 0x60), "NONE");  // Large enough for a function without rules.
}

TEST(StartMarks, ACallsRuleNamesTheFunction) {
  FrameFile file = TwoFunctions();
  CallBefore40(0x100, &file);
  const DecodedPage page = FirstPage(file);
  EXPECT_EQ(TextAt(page, 0x3f), "rsp+32");
  EXPECT_EQ(TextAt(page, 0x40), "rsp+48");
  ASSERT_EQ(page.rules.size(), 1u);
  EXPECT_EQ(page.rules[0].last_call, LAST_CALL_DIRECT);
  EXPECT_EQ(page.rules[0].cfa_add, 0x100 - 0x40);
  EXPECT_EQ(page.rules[0].rbx_offset, 0x30);
}

TEST(StartMarks, ACallOfAStubNamesItsPointer) {
  FrameFile file = TwoFunctions();
  CallBefore40(0x200, &file);
  file.words[0x200] = 0x100025ff;  // jmp *0x1000(%rip)
  file.words[0x204] = 0x90900000;
  const DecodedPage page = FirstPage(file);
  EXPECT_EQ(TextAt(page, 0x3f), "rsp+32");
  ASSERT_EQ(page.code_at[0x3f] >> CODE_BASE_SHIFT, CODE_BASE_RULE);
  const unwind_rule& rule = page.rules[page.code_at[0x3f] & CODE_INDEX_MASK];
  EXPECT_EQ(rule.last_call, LAST_CALL_POINTER);
  EXPECT_EQ(rule.cfa_add, 0x206 + 0x1000 - 0x40);
}

TEST(StartMarks, OtherCallsAreBelieved) {
  FrameFile file = TwoFunctions();
  file.words[0x3c] = 0xd0ff9090;  // call *%rax
  EXPECT_EQ(TextAt(FirstPage(file), 0x3f), "rsp+32");
  CallBefore40(0x108, &file);  // Into the middle of a function.
  EXPECT_EQ(TextAt(FirstPage(file), 0x3f), "rsp+32");
  CallBefore40(0x10000000, &file);  // To no code: it was none.
  EXPECT_EQ(TextAt(FirstPage(file), 0x3f), "START");
}

TEST(StartMarks, APageEndsBeforeTheNextOnesFunction) {
  FrameFile file;
  file.entries = {{0x3f00, 0x100, CfaOffset(32)}, {0x4000, 0x40, CfaOffset(48)}};
  EXPECT_EQ(TextAt(FirstPage(file), 0x3fff), "START");
}

TEST(StartMarks, NoneInsideAnotherFunction) {
  FrameFile file;
  file.entries = {{0, 0x100, CfaOffset(32)}, {0x40, 0x20, CfaOffset(64)}};
  EXPECT_EQ(TextAt(FirstPage(file), 0x3f), "rsp+32");
}

TEST(StartMarks, Arm64sCallsAreBelieved) {
  FrameFile file = TwoFunctions();
  file.machine = 183;  // EM_AARCH64
  file.common_instructions = {0x0c, 31, 0};
  file.return_register = 30;
  file.code_alignment = 4;
  file.words[0x3c] = 0x97ffffff;  // bl
  const auto at = [&file](uint32_t offset) {
    const std::unique_ptr<OpenedTables> opened = OpenBytes(file.Build().bytes);
    const absl::StatusOr<std::vector<uint8_t>> blob = opened->tables->BuildPage(kFirstPage);
    const DecodedPage page = DecodePage(*blob, file.machine);
    return DescribeCode(page.code_at[offset], page.rules, file.machine).special;
  };
  EXPECT_EQ(at(0x3f), "");
  file.words[0x3c] = 0xd65f03c0;  // ret
  EXPECT_EQ(at(0x3f), "START");
}

}  // namespace
}  // namespace stackray
