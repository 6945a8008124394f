// Rows from SFrame sections: each form of the three versions, what is refused, damage, and its
// bounds. What assemblers write is in sframe_oracle_test.cc.
#include <elf.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>

#include "tests/symbolizer/cfi/page_helpers.h"
#include "tests/symbolizer/cfi/sframe_file.h"

namespace stackray {
namespace {

using Function = SframeFile::Function;
using Row = SframeFile::Row;

constexpr uint64_t kText = FrameFile::kTextAddress;

// No other table; the text is padding, of which the look at instructions says nothing.
FrameFile FileWith(const SframeFile& sframe, uint16_t machine = EM_X86_64) {
  FrameFile file;
  file.machine = machine;
  file.with_header = false;
  file.with_sections = false;
  file.sframe = sframe.Build(file.sframe_address());
  return file;
}

std::string RowAt(const FrameFile& file, uint32_t offset) {
  const std::unique_ptr<OpenedTables> opened = OpenBytes(file.Build().bytes);
  if (!opened->tables) return std::string(opened->status.message());
  const absl::StatusOr<std::vector<uint8_t>> blob = opened->tables->BuildPage(kFirstPage);
  EXPECT_TRUE(blob.ok()) << blob.status();
  const DecodedPage page = DecodePage(*blob, file.machine);
  EXPECT_EQ(page.error, "");
  const CodeText text = DescribeCode(page.code_at.at(offset), page.rules, file.machine);
  return text.special.empty() ? text.cfa + " " + text.rbp + " " + text.ra : text.special;
}

std::string RowAt(const SframeFile& sframe, uint32_t offset, uint16_t machine = EM_X86_64) {
  return RowAt(FileWith(sframe, machine), offset);
}

SframeFile OneFunction(uint8_t version, std::vector<Row> rows) {
  SframeFile file;
  file.version = version;
  file.functions = {{.address = kText + 0x100, .size_bytes = 0x40, .rows = std::move(rows)}};
  return file;
}

class SframeVersion : public testing::TestWithParam<uint8_t> {
 protected:
  SframeFile Prologue() const {
    return OneFunction(GetParam(),
                       {{.begin = 0, .words = {8}},
                        {.begin = 1, .words = {16, -16}},
                        {.begin = 4, .from_sp = false, .words = {16, -16}, .word_bytes = 2},
                        {.begin = 0x3f, .words = {8, -16}, .word_bytes = 4}});
  }
};

TEST_P(SframeVersion, RowsOfAFunction) {
  const SframeFile file = Prologue();
  EXPECT_EQ(RowAt(file, 0xff), "NONE");
  EXPECT_EQ(RowAt(file, 0x100), "rsp+8 u c-8");
  EXPECT_EQ(RowAt(file, 0x101), "rsp+16 c-16 c-8");
  EXPECT_EQ(RowAt(file, 0x103), "rsp+16 c-16 c-8");
  EXPECT_EQ(RowAt(file, 0x104), "rbp+16 c-16 c-8");
  EXPECT_EQ(RowAt(file, 0x13f), "rsp+8 c-16 c-8");
  EXPECT_EQ(RowAt(file, 0x140), "NONE");
}

TEST_P(SframeVersion, AddressesOfEverySizeAndPlace) {
  for (unsigned type = 0; type < 3; ++type) {
    SframeFile file = Prologue();
    file.functions[0].address_type = type;
    file.more_header_bytes = static_cast<uint8_t>(type * 12);
    if (GetParam() > 1) file.flags |= SframeFile::kStartsAtField;
    EXPECT_EQ(RowAt(file, 0x104), "rbp+16 c-16 c-8") << type;
  }
}

TEST_P(SframeVersion, SectionThatIsNotSorted) {
  SframeFile file = Prologue();
  file.flags = 0;
  for (uint64_t i = 0; i < 40; ++i)
    file.functions.insert(file.functions.begin(),
                          {.address = kText + 0x200 + i * 16,
                           .size_bytes = 16,
                           .rows = {{.words = {static_cast<int64_t>(16 + 8 * (i % 4))}}}});
  EXPECT_EQ(RowAt(file, 0x104), "rbp+16 c-16 c-8");
  EXPECT_EQ(RowAt(file, 0x200), "rsp+16 u c-8");
  EXPECT_EQ(RowAt(file, 0x235), "rsp+40 u c-8");
}

TEST_P(SframeVersion, StubsThatRepeat) {
  SframeFile file = OneFunction(GetParam(), {{.words = {8}}, {.begin = 11, .words = {16}}});
  file.functions[0].repeats = true;
  for (uint32_t stub = 0; stub < 4; ++stub) {
    EXPECT_EQ(RowAt(file, 0x100 + stub * 16), "rsp+8 u c-8");
    EXPECT_EQ(RowAt(file, 0x10a + stub * 16), "rsp+8 u c-8");
    EXPECT_EQ(RowAt(file, 0x10b + stub * 16), "rsp+16 u c-8");
  }
}

// What GNU ld writes of .plt.got, wrongly.
TEST_P(SframeVersion, StubThatBeginsWithTwoWordsOnTheStackIsNotBelieved) {
  SframeFile file = OneFunction(GetParam(), {{.words = {16}}});
  file.functions[0].repeats = true;
  EXPECT_EQ(RowAt(file, 0x100), "NONE");
}

// Across the page's begin too: the function begins a page earlier.
TEST_P(SframeVersion, PagesAgreeWithEachOther) {
  SframeFile file = OneFunction(GetParam(), {});
  Function& function = file.functions[0];
  function.size_bytes = 0x7000;
  function.address_type = 1;
  for (uint32_t i = 0; i < 0x6ff0; i += 16)
    function.rows.push_back({.begin = i, .words = {static_cast<int64_t>(8 + 8 * (i / 16 % 11))}});
  const std::vector<std::vector<u16>> pages = AllPages(FileWith(file).Build());
  ASSERT_EQ(pages.size(), 2u);
  for (uint32_t at = 0; at < 0x6ff0; ++at) {
    const u16 code = pages[(0x100 + at) / PAGE_TEXT_BYTES][(0x100 + at) % PAGE_TEXT_BYTES];
    ASSERT_EQ(code, 1 + at / 16 % 11) << at;
  }
}

TEST_P(SframeVersion, Arm64) {
  SframeFile file = OneFunction(
      GetParam(), {{.words = {0}},
                   {.begin = 4, .words = {32, -24, -32}},
                   {.begin = 8, .from_sp = false, .words = {32, -24, -32}, .signed_address = true},
                   {.begin = 12, .words = {32, -8}},
                   {.begin = 16, .words = {16, 0, -16}}});
  file.abi = SframeFile::kArm64;
  file.fixed_ra_offset = 0;
  file.functions[0].key_b = true;
  EXPECT_EQ(RowAt(file, 0x100, EM_AARCH64), "sp+0 u u");
  EXPECT_EQ(RowAt(file, 0x104, EM_AARCH64), "sp+32 c-32 c-24");
  EXPECT_EQ(RowAt(file, 0x108, EM_AARCH64), "x29+32 c-32 c-24");
  EXPECT_EQ(RowAt(file, 0x10c, EM_AARCH64), "sp+32 u c-8");
  EXPECT_EQ(RowAt(file, 0x110, EM_AARCH64), "sp+16 c-16 u");  // The filler.
  EXPECT_EQ(RowAt(file, 0x140, EM_AARCH64), "NONE");
}

TEST_P(SframeVersion, OutermostFrame) {
  EXPECT_EQ(RowAt(OneFunction(GetParam(), {{.words = {}}}), 0x100), "END");
  EXPECT_EQ(RowAt(OneFunction(GetParam(), {}), 0x100), GetParam() == 3 ? "END" : "NONE");
}

TEST_P(SframeVersion, WhatIsNotUnderstoodIsNoGuess) {
  EXPECT_EQ(RowAt(OneFunction(GetParam(), {{.words = {8, -16, 3, 4}}}), 0x100), "UNSUPPORTED");
  SframeFile no_address = Prologue();
  no_address.fixed_ra_offset = 0;
  EXPECT_EQ(RowAt(no_address, 0x100), "UNSUPPORTED");
  SframeFile odd_size = Prologue();
  odd_size.functions[0].address_type = 3;
  EXPECT_EQ(RowAt(odd_size, 0x100), "NONE");
}

TEST_P(SframeVersion, OtherByteOrderMachineOrVersionIsNone) {
  const auto refused = [](const SframeFile& file, uint16_t machine = EM_X86_64) {
    EXPECT_EQ(RowAt(file, 0x100, machine),
              machine == EM_X86_64 ? "NONE" : "no call frame information");
  };
  SframeFile big = Prologue();
  big.big_endian = true;
  refused(big);
  big.abi = SframeFile::kArm64Big;
  refused(big, EM_AARCH64);
  big.big_endian = false;  // It says so in its header only.
  refused(big, EM_AARCH64);
  refused(Prologue(), EM_AARCH64);
  SframeFile other = Prologue();
  other.version = 4;
  refused(other);
  other.version = 0;
  refused(other);
}

TEST_P(SframeVersion, EhFrameIsAskedFirst) {
  FrameFile file = FileWith(Prologue());
  file.with_header = file.with_sections = true;
  file.entries = {{0x104, 4, CfaOffset(64)}};
  EXPECT_EQ(RowAt(file, 0x100), "rsp+8 u c-8");
  EXPECT_EQ(RowAt(file, 0x104), "rsp+64 u c-8");
  EXPECT_EQ(RowAt(file, 0x108), "rbp+16 c-16 c-8");
}

INSTANTIATE_TEST_SUITE_P(All, SframeVersion, testing::Values(1, 2, 3),
                         [](const auto& version) { return "V" + std::to_string(version.param); });

SframeFile Flexible(std::vector<int64_t> words) {
  SframeFile file = OneFunction(3, {{.words = std::move(words)}});
  file.functions[0].kind = 1;
  return file;
}

TEST(SframeFlexible, AnyBaseAndWhatLiesThere) {
  EXPECT_EQ(RowAt(Flexible({FromRegister(10), 0}), 0x100), "r10+0 u c-8");
  EXPECT_EQ(RowAt(Flexible({AtRegister(6), -8, 0, AtRegister(6), 0}), 0x100), "exp exp c-8");
  EXPECT_EQ(RowAt(Flexible({FromRegister(7), 8, kAtCfa, -8, kAtCfa, -16}), 0x100),
            "rsp+8 c-16 c-8");
  EXPECT_EQ(RowAt(Flexible({FromRegister(7), 0, FromRegister(1), 0}), 0x100), "rsp+0 u rdx");
  EXPECT_EQ(RowAt(Flexible({FromRegister(7), 16, AtRegister(7), 8}), 0x100), "rsp+16 u exp");
}

TEST(SframeFlexible, WhatIsNotUnderstoodIsNoGuess) {
  EXPECT_EQ(RowAt(Flexible({kAtCfa, 8}), 0x100), "UNSUPPORTED");         // The CFA from itself.
  EXPECT_EQ(RowAt(Flexible({FromRegister(10)}), 0x100), "UNSUPPORTED");  // No offset.
  EXPECT_EQ(RowAt(Flexible({0}), 0x100), "UNSUPPORTED");
  EXPECT_EQ(RowAt(Flexible({FromRegister(16), 0}), 0x100), "UNSUPPORTED");  // Another register.
  EXPECT_EQ(RowAt(Flexible({FromRegister(7) | 4, 0}), 0x100), "UNSUPPORTED");
  EXPECT_EQ(RowAt(Flexible({FromRegister(7), 8, FromRegister(2), 8}), 0x100), "UNSUPPORTED");
  SframeFile other_kind = Flexible({8});
  other_kind.functions[0].kind = 2;
  EXPECT_EQ(RowAt(other_kind, 0x100), "NONE");
}

TEST(SframeFlexible, SignalFrame) {
  SframeFile file = Flexible({AtRegister(7), 160 - 128, AtRegister(7), 40, AtRegister(7), -8});
  file.functions[0].signal_frame = true;
  file.functions[0].rows[0].word_bytes = 2;
  file.functions[0].rows[0].words = {AtRegister(7), 160, AtRegister(7), 168, AtRegister(7), 120};
  EXPECT_EQ(RowAt(file, 0x100), "SIGNAL");
}

SframeFile ManyFunctions(uint8_t version) {
  SframeFile file;
  file.version = version;
  for (uint64_t i = 0; i < 300; ++i)
    file.functions.push_back({.address = kText + i * 96,
                              .size_bytes = static_cast<uint32_t>(64 + i % 33),
                              .rows = {{.words = {8}},
                                       {.begin = 4, .words = {16, -16}, .word_bytes = 2},
                                       {.begin = 9, .from_sp = false, .words = {16, -16}}},
                              .address_type = static_cast<unsigned>(i % 3),
                              .repeats = i % 7 == 0});
  return file;
}

TEST(SframeDamage, NeverBreaksAnything) {
  std::mt19937_64 random(5);
  double slowest_ms = 0;
  size_t changed = 0, rounds = 0;
  for (const uint8_t version : {1, 2, 3}) {
    const FrameFile good = FileWith(ManyFunctions(version));
    const std::vector<std::vector<u16>> whole = AllPages(good.Build());
    for (int round = 0; round < 120; ++round, ++rounds) {
      FrameFile file = good;
      for (uint64_t i = 0; i <= random() % 8; ++i) {
        const size_t reach = random() % 2 != 0 ? file.sframe.size() : 200;
        file.sframe[4 + random() % (reach - 4)] =
            static_cast<uint8_t>(random() % 3 == 0 ? 0xff : random());
      }
      if (random() % 4 == 0) file.sframe.resize(1 + random() % file.sframe.size());
      const auto start = std::chrono::steady_clock::now();
      changed += AllPages(file.Build()) != whole;
      const auto elapsed = std::chrono::steady_clock::now() - start;
      slowest_ms = std::max(slowest_ms, std::chrono::duration<double, std::milli>(elapsed).count());
    }
  }
  EXPECT_GT(changed, rounds / 2);
  EXPECT_LT(slowest_ms, 5000);
}

// All functions claim all of the text and a million rows each.
TEST(SframeDamage, WorkIsBounded) {
  SframeFile sframe;
  std::vector<Row> rows(60000, Row{.words = {8}});
  for (uint32_t i = 0; i < rows.size(); ++i) rows[i].words[0] = 8 + 8 * (i % 9);
  for (uint64_t i = 0; i < 3000; ++i)
    sframe.functions.push_back({.address = kText + i, .size_bytes = 0x7000, .rows = {}});
  sframe.functions[0].rows = rows;
  FrameFile file = FileWith(sframe);
  for (uint64_t i = 0; i < 3000; ++i)  // The number of rows, 12 bytes into an entry.
    for (const uint64_t at : {uint64_t{12}, uint64_t{13}, uint64_t{14}})
      file.sframe[28 + i * 20 + at] = 0xee;
  const std::unique_ptr<OpenedTables> opened = OpenBytes(file.Build().bytes);
  ASSERT_TRUE(opened->tables);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(opened->tables->BuildPage(kFirstPage).ok());
  const auto elapsed = std::chrono::steady_clock::now() - start;
  EXPECT_LT(std::chrono::duration<double>(elapsed).count(), 2.0);
  EXPECT_LT(opened->tables->memory_bytes(), 200u << 10);
}

TEST(SframeDamage, AFunctionWithABrokenRowHasNone) {
  SframeFile file =
      OneFunction(2, {{.words = {8}}, {.begin = 4, .words = {16}}, {.begin = 2, .words = {24}}});
  EXPECT_EQ(RowAt(file, 0x100), "NONE");
  EXPECT_EQ(RowAt(file, 0x105), "NONE");
  FrameFile cut = FileWith(OneFunction(2, {{.words = {8}}, {.begin = 4, .words = {16, -16}}}));
  cut.with_sections = true;  // They say where the section ends.
  cut.sframe.pop_back();
  EXPECT_EQ(RowAt(cut, 0x100), "NONE");
}

}  // namespace
}  // namespace stackray
