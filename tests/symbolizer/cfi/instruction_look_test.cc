// Frames from instructions: the decoder against objdump, what is found against a compiler's own
// rules.
#include "symbolizer/cfi/instruction_look.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "symbolizer/cfi/return_ahead.h"
#include "symbolizer/cfi/x86_instruction.h"
#include "tests/symbolizer/cfi/frame_oracle.h"
#include "tests/symbolizer/cfi/opened_tables.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::cfi {
namespace {

constexpr char kLibrary[] = "/lib/x86_64-linux-gnu/libc.so.6";

struct Text {
  std::vector<uint8_t> bytes;
  uint64_t address = 0;
};

// The executable segment of the C library.
std::optional<Text> LibraryText() {
  const std::unique_ptr<OpenedTables> file = OpenFile(kLibrary);
  if (!file->elf) return std::nullopt;
  for (const ElfSegment& segment : file->elf->segments()) {
    if (!segment.executable) continue;
    Text text{std::vector<uint8_t>(segment.file_bytes), segment.address};
    if (file->source->ReadAt(segment.file_offset, text.bytes).ok()) return text;
  }
  return std::nullopt;
}

TEST(X86Instruction, HasTheLengthThatObjdumpSays) {
  const std::optional<Text> text = LibraryText();
  if (!text || !test::HasTool("objdump")) GTEST_SKIP() << "no x86-64 C library or no objdump";
  uint64_t compared = 0, differ = 0;
  std::string first;
  // "   26004:\t48 83 ec 08 ": every instruction in one line.
  for (const std::string& line :
       test::RunLines(fmt::format("objdump -d --insn-width=16 -M intel -j .text {}", kLibrary))) {
    const size_t colon = line.find(":\t");
    if (colon == std::string::npos || line.find("(bad)") != std::string::npos) continue;
    const uint64_t address = std::strtoull(line.c_str(), nullptr, 16);
    const size_t end = line.find('\t', colon + 2);
    std::istringstream bytes(line.substr(colon + 2, end - colon - 2));
    const auto length = std::distance(std::istream_iterator<std::string>(bytes), {});
    // It prints some prefixes as instructions of their own, and data between functions as bytes.
    const std::string words = end == std::string::npos ? "" : line.substr(end + 1);
    if (words.empty() || words[0] == '.' || words.starts_with("rex") ||
        words.find(' ') == words.npos)
      continue;
    const X86Instruction found =
        DecodeX86(std::span(text->bytes).subspan(address - text->address), address);
    ++compared;
    if (found.length == length) continue;
    if (differ++ == 0) first = fmt::format("{}: found {}", line, found.length);
  }
  fmt::print("{} instructions, {} of another length\n", compared, differ);
  ASSERT_GT(compared, 100'000u);
  EXPECT_LE(differ, compared / 10'000) << first;
}

// All first bytes, with and without prefixes; a caller goes on at begin + length.
TEST(X86Instruction, IsNeverLongerThanItsBytes) {
  const std::vector<std::vector<uint8_t>> prefixes = {{},     {0x66},       {0x67},
                                                      {0x48}, {0xf3, 0x0f}, {0x0f}};
  uint64_t whole = 0;
  for (const std::vector<uint8_t>& prefix : prefixes)
    for (int opcode = 0; opcode < 256; ++opcode) {
      std::vector<uint8_t> code = prefix;
      code.push_back(static_cast<uint8_t>(opcode));
      code.resize(24, 0x84);
      const size_t length = DecodeX86(code, 0x1000).length;
      EXPECT_LE(length, 15u);
      whole += length > 0;
      for (size_t given = 0; given < length; ++given)
        EXPECT_EQ(DecodeX86(std::span(code).first(given), 0x1000).length, 0)
            << fmt::format("{} of {} bytes of opcode {:x}", given, length, opcode);
    }
  EXPECT_GT(whole, 1000u);
  EXPECT_EQ(DecodeX86(std::vector<uint8_t>{0xa1, 0, 0}, 0x1000).length, 0);
}

TEST(InstructionLook, FindsTheRulesOfTheCLibraryWithoutItsTables) {
  const std::optional<Text> text = LibraryText();
  if (!text) GTEST_SKIP() << "no x86-64 C library";
  const std::optional<FrameOracle> oracle =
      FrameOracle::FromReadelf(kLibrary, [](uint64_t, uint64_t) { return true; });
  if (!oracle) GTEST_SKIP() << "no readelf";
  const std::vector<LookedRow> rows = LookAtInstructions(text->bytes, text->address);
  uint64_t right = 0, wrong = 0, unknown = 0;
  for (const OracleEntry& entry : oracle->entries()) {
    for (uint64_t at = entry.begin; at < entry.end; at += 3) {
      const OracleRow* expected = FrameOracle::RowAt(entry, at);
      if (expected == nullptr || !expected->cfa.starts_with("rsp")) continue;
      const auto next = std::ranges::upper_bound(rows, at, {}, &LookedRow::address);
      if (next == rows.begin()) continue;
      const LookedFrame& frame = std::prev(next)->frame;
      if (frame.kind == LookedFrame::Kind::kUnknown)
        ++unknown;
      else if (frame.kind == LookedFrame::Kind::kRsp &&
               expected->cfa == fmt::format("rsp+{}", frame.cfa_offset))
        ++right;
      else if (frame.kind != LookedFrame::Kind::kRbp)
        ++wrong;
    }
  }
  const double all = static_cast<double>(right + wrong + unknown);
  fmt::print("{} right, {} wrong, {} unknown of the addresses with a rule\n", right, wrong,
             unknown);
  ASSERT_GT(right, 100'000u);
  EXPECT_LT(static_cast<double>(wrong) / all, 0.01);
  EXPECT_LT(static_cast<double>(unknown) / all,
            0.06);  // Padding inside functions, which nothing runs.
}

std::string Describe(const std::vector<uint8_t>& code, const LookHints& hints = {}) {
  std::string text;
  for (const LookedRow& row : LookAtInstructions(code, 0x1000, hints)) {
    constexpr const char* kKinds[] = {"unknown", "rsp",  "rbp",   "outermost",
                                      "reg",     "slot", "signal"};
    text += fmt::format("{}:{}", row.address - 0x1000, kKinds[static_cast<int>(row.frame.kind)]);
    if (row.frame.kind == LookedFrame::Kind::kReg) text += std::to_string(row.frame.reg);
    if (row.frame.kind == LookedFrame::Kind::kSlot)
      text += fmt::format("({})", row.frame.slot_offset);
    if (row.frame.cfa_offset != 0) text += fmt::format("+{}", row.frame.cfa_offset);
    if (row.frame.rbp_below_cfa != 0) text += fmt::format(",rbp-{}", row.frame.rbp_below_cfa);
    if (row.frame.exact) text += "!";
    text += " ";
  }
  return text;
}

TEST(InstructionLook, FollowsPushesAndPops) {
  // push rbx; sub rsp, 32; add rsp, 32; pop rbx; ret
  EXPECT_EQ(Describe({0x53, 0x48, 0x83, 0xec, 0x20, 0x48, 0x83, 0xc4, 0x20, 0x5b, 0xc3}),
            "0:rsp+8 1:rsp+16 5:rsp+48 9:rsp+16 10:rsp+8 ");
}

TEST(InstructionLook, TrustsAFrameRecord) {
  // push rbp; mov rbp, rsp; sub rsp, rax; leave; ret
  EXPECT_EQ(Describe({0x55, 0x48, 0x89, 0xe5, 0x48, 0x29, 0xc4, 0xc9, 0xc3}),
            "0:rsp+8 1:rsp+16,rbp-16 4:rbp+16,rbp-16 8:rsp+8 ");
}

TEST(InstructionLook, CodeThatReadsBelowRbpHasAFrameRecord) {
  // ret; mov rax, [rbp - 8]; leave; ret: nothing leads behind the first return.
  EXPECT_EQ(Describe({0xc3, 0x48, 0x8b, 0x45, 0xf8, 0xc9, 0xc3}),
            "0:rsp+8 1:rbp+16,rbp-16 6:rsp+8 ");
  // ret; mov rbp, rdi; mov rax, [rbp - 8]; ret: rbp is something else.
  EXPECT_EQ(Describe({0xc3, 0x48, 0x89, 0xfd, 0x48, 0x8b, 0x45, 0xf8, 0xc3}), "0:rsp+8 ");
}

TEST(InstructionLook, ARecordIsLeftByItsOwnWord) {
  // push rbp; mov rbp, rsp; push 16; mov rbp, [rbp]; add rsp, 16; jmp rcx: how V8's handlers end.
  EXPECT_EQ(Describe({0x55, 0x48, 0x89, 0xe5, 0x6a, 0x10, 0x48, 0x8b, 0x6d, 0x00, 0x48, 0x83, 0xc4,
                      0x10, 0xff, 0xe1}),
            "0:rsp+8 1:rsp+16,rbp-16 4:rbp+16,rbp-16 10:rsp+24 14:rsp+8 ");
}

TEST(InstructionLook, BehindTrapsNoSwitchGoesOn) {
  // push rbx; jmp rcx; int3 up to 16; ret: what follows is no case of that switch, and another
  // function.
  std::vector<uint8_t> code(17, 0xcc);
  const uint8_t jump[] = {0x53, 0xff, 0xe1};
  std::ranges::copy(jump, code.begin());
  code.back() = 0xc3;
  EXPECT_EQ(Describe(code), "0:rsp+8 1:rsp+16 3:unknown 16:rsp+8 ");
  // Behind nops it is a case.
  std::fill(code.begin() + 3, code.end() - 1, 0x90);
  EXPECT_EQ(Describe(code), "0:rsp+8 1:rsp+16 3:unknown 16:rsp+16 ");
}

TEST(InstructionLook, WhatFallsIntoAFunctionIsAPartOfIt) {
  // push rbx; jmp 32; nops; 16: mov rdi, rbx; call 0; nops; 32: jmp rcx, whose table leads to 16.
  std::vector<uint8_t> code(34, 0x90);
  const uint8_t start[] = {0x53, 0xeb, 0x1d},
                part[] = {0x48, 0x89, 0xdf, 0xe8, 0xe8, 0xff, 0xff, 0xff}, jump[] = {0xff, 0xe1};
  std::ranges::copy(start, code.begin());
  std::ranges::copy(part, code.begin() + 16);
  std::ranges::copy(jump, code.begin() + 32);
  EXPECT_EQ(Describe(code), "0:rsp+8 1:rsp+16 3:unknown 16:rsp+16 ");
}

TEST(InstructionLook, AFrameThatIsMadeAnewBehindACallIsAnotherFunctions) {
  // push rbp; mov rbp, rsp; push rbx; call out of here; push rbp; mov rbp, rsp; leave; ret
  EXPECT_EQ(Describe({0x55, 0x48, 0x89, 0xe5, 0x53, 0xe8, 0x00, 0x10, 0x00, 0x00, 0x55, 0x48, 0x89,
                      0xe5, 0xc9, 0xc3}),
            "0:rsp+8 1:rsp+16,rbp-16 4:rbp+16,rbp-16 10:rsp+8 11:rsp+16,rbp-16 14:rbp+16,rbp-16 "
            "15:rsp+8 ");
  // rbp alone is saved for something else: the function goes on.
  EXPECT_EQ(Describe({0x55, 0x48, 0x89, 0xe5, 0x53, 0xe8, 0x00, 0x10, 0x00, 0x00, 0x55, 0x90, 0xc9,
                      0xc3}),
            "0:rsp+8 1:rsp+16,rbp-16 4:rbp+16,rbp-16 13:rsp+8 ");
}

TEST(InstructionLook, FollowsABranchPastAnEpilogue) {
  // push rax; jne +2; pop rax; ret; nop; pop rax; ret
  EXPECT_EQ(Describe({0x50, 0x75, 0x02, 0x58, 0xc3, 0x58, 0xc3}),
            "0:rsp+8 1:rsp+16 4:rsp+8 5:rsp+16 6:rsp+8 ");
}

TEST(InstructionLook, WhereTablesEndAnotherFunctionBegins) {
  // push rbx; call +0 (abort(), say); push r12; pop r12; ret: the last three are what a call leads
  // to, or not.
  const std::vector<uint8_t> code = {0x53, 0xe8, 0x10, 0, 0, 0, 0x41, 0x54, 0x41, 0x5c, 0xc3};
  EXPECT_EQ(Describe(code), "0:rsp+8 1:rsp+16 8:rsp+24 10:rsp+16 ");
  const uint64_t end[] = {0x1006};
  EXPECT_EQ(Describe(code, {.table_ends = end}), "0:rsp+8 1:rsp+16 6:rsp+8 8:rsp+16 10:rsp+8 ");
  // Padding may come first: push rbx; call; nop; pop rbx; ret.
  EXPECT_EQ(Describe({0x53, 0xe8, 0x10, 0, 0, 0, 0x90, 0x41, 0x54, 0xc3}, {.table_ends = end}),
            "0:rsp+8 1:rsp+16 7:rsp+8 9:rsp+16 ");
  // Nothing ends there, or a branch leads there: it goes on.
  const uint64_t early[] = {0x1001};
  EXPECT_EQ(Describe(code, {.table_ends = early}), Describe(code));
  // push rbx; je 6; nop; nop; ret; pop rbx; ret
  const std::vector<uint8_t> branch = {0x53, 0x74, 0x03, 0x90, 0x90, 0xc3, 0x5b, 0xc3};
  EXPECT_EQ(Describe(branch, {.table_ends = end}), Describe(branch));
}

// As GraalVM's native-image makes code: behind each call a nop (`behind`), here up to a multiple of
// 16 behind the first; at 112 a call that a branch to the nop before it reaches; at 120 a handler
// that nothing leads to; traps; at 144 a function without a frame.
std::vector<uint8_t> NativeImageCode(uint8_t behind) {
  std::vector<uint8_t> code = {0x48, 0x83, 0xec, 0x18};  // sub rsp, 24
  const auto add = [&code](std::initializer_list<uint8_t> bytes) {
    code.insert(code.end(), bytes);
  };
  const auto call = [&] { add({0xe8, 0, 0, 0x10, 0, behind}); };  // Out of here.
  call();
  add({0x66, 0x0f, 0x1f, 0x44, 0, 0});  // A nop of six bytes.
  for (int i = 0; i < 14; ++i) call();
  add({0x85, 0xc0, 0x7e, 0x05});        // 100: test eax, eax; jle 109
  add({0x48, 0x83, 0xc4, 0x18, 0xc3});  // 104: add rsp, 24; ret
  add({0x0f, 0x1f, 0x00});              // 109: nop
  call();                               // 112
  add({0xeb, 0xf0});                    // 118: jmp 104
  add({0x48, 0x89, 0xc7});              // 120: mov rdi, rax
  call();                               // 123
  add({0xeb, 0xe5});                    // 129: jmp 104
  while (code.size() < 144) code.push_back(0xcc);
  add({0x8b, 0x07, 0xc3});  // 144: mov eax, [rdi]; ret
  return code;
}

TEST(InstructionLook, ANopBehindEveryCallIsNoPadding) {
  EXPECT_EQ(Describe(NativeImageCode(0x90)),
            "0:rsp+8 4:rsp+32 108:rsp+8 109:rsp+32 131:unknown 144:rsp+8 ");
}

TEST(InstructionLook, WithoutSuchNopsCodeThatNothingLeadsToMayBeAFunction) {
  // cmc instead.
  EXPECT_EQ(Describe(NativeImageCode(0xf5)),
            "0:rsp+8 4:rsp+32 108:rsp+8 109:rsp+32 120:rsp+8 131:unknown 144:rsp+8 ");
}

TEST(InstructionLook, KnowsWhereAThreadBeginsAndASignalEnds) {
  // xor ebp, ebp; pop rdi; call r9
  EXPECT_EQ(Describe({0x31, 0xed, 0x5f, 0x41, 0xff, 0xd1}), "0:outermost ");
  // push rbp; xor ebp, ebp; ret: rbp was saved, so this is an ordinary function.
  EXPECT_EQ(Describe({0x55, 0x31, 0xed, 0xc3}), "0:rsp+8 1:rsp+16,rbp-16 ");
  // nop; mov rax, 15; syscall
  EXPECT_EQ(Describe({0x90, 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}), "0:signal ");
}

TEST(InstructionLook, TheEntryPointHasNoCaller) {
  // mov rdi, rsp; call +0; mov r12, rax: the dynamic loader's begin, which does not clear rbp
  // first.
  const std::vector<uint8_t> code = {0x48, 0x89, 0xe7, 0xe8, 0, 0, 0, 0, 0x49, 0x89, 0xc4};
  const std::vector<LookedRow> rows = LookAtInstructions(code, 0x1000, {.entry = 0x1000});
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0].frame.kind, LookedFrame::Kind::kOutermost);
  EXPECT_EQ(LookAtInstructions(code, 0x1000)[0].frame.kind, LookedFrame::Kind::kRsp);
}

TEST(InstructionLook, FollowsACopyOfRspWhereItIsAligned) {
  // mov r10, rsp; and rsp, -64; sub rsp, 256; mov rsp, r10; ret
  EXPECT_EQ(Describe({0x49, 0x89, 0xe2, 0x48, 0x83, 0xe4, 0xc0, 0x48, 0x81, 0xec, 0, 1, 0, 0, 0x4c,
                      0x89, 0xd4, 0xc3}),
            "0:rsp+8 7:reg10+8 17:rsp+8 ");
  // push rbx; mov rax, rsp; and rsp, -32; sub rsp, 64; mov [rsp + 48], rax; xor eax, eax; push rcx;
  // pop rcx; mov rsp, [rsp + 48]; pop rbx; ret
  EXPECT_EQ(Describe({0x53, 0x48, 0x89, 0xe0, 0x48, 0x83, 0xe4, 0xe0, 0x48, 0x83,
                      0xec, 0x40, 0x48, 0x89, 0x44, 0x24, 0x30, 0x31, 0xc0, 0x51,
                      0x59, 0x48, 0x8b, 0x64, 0x24, 0x30, 0x5b, 0xc3}),
            "0:rsp+8 1:rsp+16 8:reg0+16 17:slot(48)+16 20:slot(56)+16 21:slot(48)+16 26:rsp+16 "
            "27:rsp+8 ");
  // mov rax, rsp; and rsp, -32; mov eax, 1; nop: the copy is gone.
  EXPECT_EQ(Describe({0x48, 0x89, 0xe0, 0x48, 0x83, 0xe4, 0xe0, 0xb8, 1, 0, 0, 0, 0x90}),
            "0:rsp+8 7:reg0+8 12:unknown ");
}

TEST(InstructionLook, BehindAChangeOfStacksTheWayToTheReturnCounts) {
  // push rbp; push rbx; mov [rdi], rsp; mov rsp, [rsi]; pop rbx; pop rbp; mov rax, rdi; ret: Ruby's
  // fibers to 3.3.
  EXPECT_EQ(Describe({0x55, 0x53, 0x48, 0x89, 0x27, 0x48, 0x8b, 0x26, 0x5b, 0x5d, 0x48, 0x89, 0xf8,
                      0xc3}),
            "0:rsp+8 1:rsp+16,rbp-16 2:rsp+24,rbp-16 8:rsp+24,rbp-16! 9:rsp+16,rbp-16! "
            "10:rsp+8! ");
  // sub rsp, 16; mov [rsp + 8], rbp; mov [rsp], rbx; mov [rdi], rsp; mov rsp, [rsi]; mov rbp, [rsp
  // + 8]; mov rbx, [rsp]; add rsp, 16; ret: Ruby's from 3.4 on.
  EXPECT_EQ(Describe({0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0x6c, 0x24, 0x08, 0x48, 0x89,
                      0x1c, 0x24, 0x48, 0x89, 0x27, 0x48, 0x8b, 0x26, 0x48, 0x8b, 0x6c,
                      0x24, 0x08, 0x48, 0x8b, 0x1c, 0x24, 0x48, 0x83, 0xc4, 0x10, 0xc3}),
            "0:rsp+8 4:rsp+24 9:rsp+24,rbp-16 19:rsp+24,rbp-16! 24:rsp+24! 32:rsp+8! ");
}

TEST(InstructionLook, AnAddressFromTheNewStackIsGoneToByAJump) {
  // lea rsp, [rsp - 8]; mov [rsp], rbp; mov rsp, rdi; mov r8, [rsp + 8]; mov rbp, [rsp]; lea rsp,
  // [rsp + 16]; jmp r8: boost's jump_fcontext().
  const std::vector<uint8_t> jump = {0x48, 0x8d, 0x64, 0x24, 0xf8, 0x48, 0x89, 0x2c, 0x24,
                                     0x48, 0x89, 0xfc, 0x4c, 0x8b, 0x44, 0x24, 0x08, 0x48,
                                     0x8b, 0x2c, 0x24, 0x48, 0x8d, 0x64, 0x24, 0x10};
  std::vector<uint8_t> code = jump;
  for (const uint8_t byte : {0x41, 0xff, 0xe0}) code.push_back(byte);
  EXPECT_EQ(Describe(code),
            "0:rsp+8 5:rsp+16 9:rsp+16,rbp-16 12:rsp+16,rbp-16! 21:rsp+16! 26:rsp! ");
  // jmp r9, which was set before: to a function that then returns (ontop_fcontext()).
  code.back() = 0xe1;
  EXPECT_EQ(Describe(code),
            "0:rsp+8 5:rsp+16 9:rsp+16,rbp-16 12:rsp+24,rbp-24! 21:rsp+24! 26:rsp+8! ");
}

TEST(InstructionLook, AStoredReturnAddressThatLeadsToTheEndIsOutermost) {
  // push rbp; jmp rbx; endbr64; xor rdi, rdi; call; hlt: where a fiber of boost.context returns,
  // looked up a byte before.
  const std::vector<uint8_t> fiber = {0x55, 0xff, 0xe3, 0xf3, 0x0f, 0x1e, 0xfa, 0x48,
                                      0x31, 0xff, 0xe8, 0,    0,    0,    0,    0xf4};
  EXPECT_EQ(Describe(fiber), "0:rsp+8 1:rsp+16,rbp-16 2:outermost ");
  // nop instead of hlt, a jump before the call, a push: a compiler's code.
  std::vector<uint8_t> other = fiber;
  other[15] = 0x90;
  EXPECT_EQ(Describe(other).find("outermost"), std::string::npos);
  other = fiber;
  other[7] = 0x50;
  other[8] = other[9] = 0x90;
  EXPECT_EQ(Describe(other).find("outermost"), std::string::npos);
  // je into it: something leads there.
  other = {0x74, 0x02, 0xff, 0xe3, 0x48, 0x31, 0xff, 0xe8, 0, 0, 0, 0, 0xf4};
  EXPECT_EQ(Describe(other).find("outermost"), std::string::npos);
}

TEST(InstructionLook, WhatIsNoWayToAReturnSaysNothingOfANewStack) {
  // mov rsp, [rdi + 48]; jmp [rdi + 56]: musl's longjmp().
  EXPECT_EQ(Describe({0x48, 0x8b, 0x67, 0x30, 0xff, 0x67, 0x38}), "0:rsp+8 4:unknown ");
  // mov rsp, [rdi + 48]; mov rdx, [rdi + 56]; jmp rdx
  EXPECT_EQ(Describe({0x48, 0x8b, 0x67, 0x30, 0x48, 0x8b, 0x57, 0x38, 0xff, 0xe2}),
            "0:rsp+8 4:unknown ");
  // mov rsp, [rsi]; then before pop rbx; ret: jne, call, push rax, mov rbp, [rdi], sub rsp, rax, an
  // invalid byte.
  for (const std::vector<uint8_t>& between : {std::vector<uint8_t>{0x75, 0x01},
                                              {0xe8, 0, 0, 0, 0},
                                              {0x50},
                                              {0x48, 0x8b, 0x2f},
                                              {0x48, 0x29, 0xc4},
                                              {0x06}}) {
    std::vector<uint8_t> code = {0x48, 0x8b, 0x26};
    code.insert(code.end(), between.begin(), between.end());
    code.push_back(0x5b);
    code.push_back(0xc3);
    EXPECT_EQ(RowsUpToReturn(std::span(code).subspan(3), 0x1003).size(), 0u)
        << "with " << static_cast<int>(between[0]);
  }
  // Cut off before the return, and 64 instructions without one.
  EXPECT_TRUE(RowsUpToReturn(std::vector<uint8_t>{0x5b}, 0).empty());
  std::vector<uint8_t> nops(64, 0x90);
  nops.push_back(0xc3);
  EXPECT_TRUE(RowsUpToReturn(nops, 0).empty());
  EXPECT_EQ(RowsUpToReturn(std::span(nops).subspan(1), 0).size(), 64u);
}

TEST(InstructionLook, StubsOfAProcedureLinkageTableBeginAnew) {
  // The header (push, jmp, nop), then two lazy stubs (jmp, push, jmp to the header).
  EXPECT_EQ(Describe({0xff, 0x35, 1, 0, 0, 0, 0xff, 0x25, 1, 0, 0, 0,    0x0f, 0x1f, 0x40, 0,
                      0xff, 0x25, 1, 0, 0, 0, 0x68, 0,    0, 0, 0, 0xe9, 0xe0, 0xff, 0xff, 0xff,
                      0xff, 0x25, 1, 0, 0, 0, 0x68, 1,    0, 0, 0, 0xe9, 0xd0, 0xff, 0xff, 0xff}),
            "0:rsp+16 6:rsp+24 12:unknown 16:rsp+8 27:rsp+16 32:rsp+8 43:rsp+16 ");
  // With indirect branch tracking: endbr64, push, jmp to the header; and .plt.sec's endbr64, jmp.
  EXPECT_EQ(Describe({0xf3, 0x0f, 0x1e, 0xfa, 0x68, 0,    0,    0,    0,    0xe9, 0xe2,
                      0xff, 0xff, 0xff, 0x66, 0x90, 0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25,
                      1,    0,    0,    0,    0x66, 0x90, 0x66, 0x90, 0x66, 0x90}),
            "0:rsp+8 9:rsp+16 14:unknown 16:rsp+8 26:unknown ");
}

TEST(InstructionLook, AnswersAnyBytes) {
  std::vector<uint8_t> code(4096);
  uint64_t seed = 1;
  for (int round = 0; round < 300; ++round) {
    for (uint8_t& byte : code) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      byte = static_cast<uint8_t>(seed >> 56);
    }
    const std::vector<LookedRow> rows = LookAtInstructions(code, ~uint64_t{0} - 100'000);
    ASSERT_FALSE(rows.empty());
    for (size_t i = 1; i < rows.size(); ++i) ASSERT_LT(rows[i - 1].address, rows[i].address);
  }
}

}  // namespace
}  // namespace stackray::cfi
