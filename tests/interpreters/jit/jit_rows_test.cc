// Rows of JIT code: from what a process says of it to a walk through that code.
#include "symbolizer/cfi/jit_rows.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "interpreters/jit/gdb_jit_rows.h"
#include "symbolizer/unwind/host_walk.h"
#include "symbolizer/unwind/jit_tables.h"
#include "tests/interpreters/jit/eh_frame_bytes.h"
#include "tests/interpreters/jit/jit_elf.h"
#include "tests/recorder/memory_rows.h"
#include "tests/symbolizer/cfi/blob_reader.h"

namespace stackray {
namespace {

using cfi::CodeRows;
using cfi::JitRows;
using test::EntriesOf;
using test::TextRelativeEntriesOf;
using From = JitRows::From;

constexpr u16 kNone = CODE_SPECIAL(SPECIAL_NONE);
constexpr uint64_t kCode = 0x7f12'3456'7000;
constexpr process_key kProcess = {.pid = 7, .exec_id = 1, .start_time_ns = 99};

// From `begin` on CFA = rsp + 8, and 16 bytes later rsp + 24.
CodeRows RowsAt(uint64_t begin, uint64_t end) {
  return {.begin = begin, .end = end, .rows = {{0, 1}, {16, 3}}, .rules = {}};
}
u16 CodeAt(const JitRows& rows, uint64_t address) {
  const std::vector<uint8_t> blob = rows.EncodePage(address >> PAGE_TEXT_SHIFT);
  return blob.empty() ? kNone
                      : FindCodeLinearly(blob, static_cast<uint32_t>(address % PAGE_TEXT_BYTES));
}

TEST(JitRows, WhatIsNewerTakesThePlaceOfAllThatItOverlaps) {
  JitRows rows(1 << 20);
  ASSERT_TRUE(rows.Put(RowsAt(kCode, kCode + 64), From::kList));
  ASSERT_TRUE(rows.Put(RowsAt(kCode + 48, kCode + 100), From::kDump));
  EXPECT_EQ(CodeAt(rows, kCode), kNone);
  EXPECT_EQ(CodeAt(rows, kCode + 48), 1);
  EXPECT_EQ(CodeAt(rows, kCode + 99), 3);
  EXPECT_EQ(CodeAt(rows, kCode + 100), kNone);
  rows.EraseAll(From::kList);
  EXPECT_EQ(rows.size(), 1U);
  rows.Erase(kCode + 99, kCode + 200);
  EXPECT_TRUE(rows.empty());
  EXPECT_EQ(rows.bytes(), 0U);
}

TEST(JitRows, SaysWhichPagesHaveChanged) {
  JitRows rows(1 << 20);
  const uint64_t edge = (kCode >> PAGE_TEXT_SHIFT << PAGE_TEXT_SHIFT) + PAGE_TEXT_BYTES;
  ASSERT_TRUE(rows.Put(RowsAt(edge - 8, edge + 64), From::kList));
  const uint64_t page = edge >> PAGE_TEXT_SHIFT;
  EXPECT_EQ(rows.TakeChanged(), (std::set<uint64_t>{page - 1, page}));
  EXPECT_FALSE(rows.has_changed());
  EXPECT_EQ(CodeAt(rows, edge - 9), kNone);
  EXPECT_EQ(CodeAt(rows, edge - 1), 1);
  EXPECT_EQ(CodeAt(rows, edge + 7), 1);
  EXPECT_EQ(CodeAt(rows, edge + 8), 3);
  EXPECT_EQ(CodeAt(rows, edge + 64), kNone);
  rows.Clear();
  EXPECT_EQ(rows.TakeChanged().size(), 2U);
  EXPECT_TRUE(rows.EncodePage(page).empty());
}

TEST(JitRows, KeepsItsLimitAndRefusesWhatIsNoUserMemory) {
  JitRows rows(1024);
  for (uint64_t i = 0; i < 100; ++i)
    rows.Put(RowsAt(kCode + i * 64, kCode + i * 64 + 64), From::kList);
  EXPECT_LE(rows.bytes(), 1024U);
  EXPECT_GT(rows.left_out(), 80U);
  rows.Clear();
  EXPECT_FALSE(rows.Put(RowsAt(~0ULL - 64, ~0ULL), From::kList));
  EXPECT_FALSE(rows.Put(RowsAt(kCode, kCode), From::kList));
  EXPECT_FALSE(rows.Put(RowsAt(kCode, kCode + JIT_REGION_BYTES + 1), From::kList));
}

// Rules in full keep their meaning when functions share a page.
TEST(JitRows, RulesInFull) {
  JitRows rows(1 << 20);
  for (uint64_t i = 0; i < 3; ++i) {
    CodeRows one = {.begin = kCode + i * 32, .end = kCode + i * 32 + 32, .rows = {}, .rules = {}};
    one.rows = {{0, u16{CODE_BASE_RULE << CODE_BASE_SHIFT}}};
    one.rules = {
        {.cfa_register = 3, .ra_kind = VALUE_AT_CFA, .cfa_offset = static_cast<s32>(i / 2)}};
    ASSERT_TRUE(rows.Put(std::move(one), From::kList));
  }
  const DecodedPage page = DecodePage(rows.EncodePage(kCode >> PAGE_TEXT_SHIFT));
  ASSERT_EQ(page.error, "");
  ASSERT_EQ(page.rules.size(), 2U);
  const auto rule_at = [&](uint64_t address) {
    return page.rules.at(page.code_at.at(address % PAGE_TEXT_BYTES) & CODE_INDEX_MASK);
  };
  EXPECT_EQ(rule_at(kCode + 32).cfa_offset, 0);
  EXPECT_EQ(rule_at(kCode + 64).cfa_offset, 1);
}

class ElfRows : public testing::Test {
 protected:
  absl::StatusOr<JitElfRows> Read(const std::vector<uint8_t>& elf) {
    const GdbJitEntry entry{
        .entry = 0, .elf = reinterpret_cast<uint64_t>(elf.data()), .size_bytes = elf.size()};
    return RowsOfJitElf(memory_, entry);
  }
  LiveProcessMemory memory_{static_cast<uint32_t>(getpid())};
};

// As wasmtime registers it: the section has no address, and lies behind the code in the file.
TEST_F(ElfRows, EntriesBehindTheCode) {
  const std::vector<uint8_t> without = test::JitElf(ET_DYN, kCode, 64, {});
  const auto behind = static_cast<int32_t>(without.size() - 5 * sizeof(Elf64_Shdr));
  const auto elf = test::JitElf(ET_DYN, kCode, 64, {}, EntriesOf(-behind, 64));
  const auto found = Read(elf);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->rows.size(), 1U);
  EXPECT_EQ(found->rows[0].begin, kCode);
  EXPECT_EQ(found->rows[0].end, kCode + 64);
  ASSERT_EQ(found->rows[0].rows.size(), 2U);
  EXPECT_EQ(found->rows[0].rows[0].code, 1);
  EXPECT_EQ(found->rows[0].rows[1].offset, 1U);
  EXPECT_EQ(found->rows[0].rows[1].code, 2);
}

TEST_F(ElfRows, EntriesOfCodeThatIsNotTheFilesDoNotCount) {
  const auto elf = test::JitElf(ET_DYN, kCode, 64, {}, EntriesOf(-4096, 64));
  ASSERT_TRUE(Read(elf).ok());
  EXPECT_TRUE(Read(elf)->rows.empty());
  EXPECT_FALSE(Read({0x7f, 'E', 'L', 'F'}).ok());
}

// As LuaJIT registers a trace.
TEST_F(ElfRows, EntriesRelativeToText) {
  const auto found = Read(test::JitElf(ET_REL, kCode, 64, {}, TextRelativeEntriesOf(16, 48)));
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->rows.size(), 1U);
  EXPECT_EQ(found->rows[0].begin, kCode + 16);
  EXPECT_EQ(found->rows[0].end, kCode + 64);
  ASSERT_EQ(found->rows[0].rows.size(), 2U);
  EXPECT_EQ(found->rows[0].rows[1].code, 2);
  // Beyond its end, and of a file that says no address.
  EXPECT_TRUE(
      Read(test::JitElf(ET_REL, kCode, 64, {}, TextRelativeEntriesOf(17, 48)))->rows.empty());
  EXPECT_TRUE(Read(test::JitElf(ET_REL, 0, 64, {}, TextRelativeEntriesOf(0, 64)))->rows.empty());
}

class DamagedElfRows : public ElfRows,
                       public testing::WithParamInterface<std::vector<uint8_t> (*)()> {};

// Each byte set to some values: what comes out lies in what the file says is its code.
TEST_P(DamagedElfRows, LieInTheFilesCode) {
  const auto good = test::JitElf(ET_DYN, kCode, 64, {}, GetParam()());
  for (size_t at = 0; at < good.size(); ++at)
    for (const uint8_t value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::vector<uint8_t> elf = good;
      elf[at] = value;
      const auto found = Read(elf);
      if (!found.ok()) continue;
      for (const CodeRows& rows : found->rows)
        ASSERT_TRUE(std::ranges::any_of(found->code, [&](const cfi::AddressRange& code) {
          return rows.begin >= code.begin && rows.end <= code.end;
        }));
    }
}

INSTANTIATE_TEST_SUITE_P(Encodings, DamagedElfRows,
                         testing::Values([] { return EntriesOf(-232, 64); },
                                         [] { return TextRelativeEntriesOf(0, 64); }));

// A stack and the code that it returns to, in made-up memory of no file.
class Walked : public WalkEnvironment {
 public:
  Walked(JitTables& tables, MemoryRows& memory) : tables_(tables), memory_(memory) {}
  std::map<uint64_t, uint64_t> words;
  bool is_list_changed = false;

  bool Read(uint64_t address, std::span<uint8_t> to) override {
    for (size_t i = 0; i < to.size(); i += 8) {
      const auto word = words.find(address + i);
      const uint64_t value = word == words.end() ? 0 : word->second;
      std::memcpy(to.data() + i, &value, std::min<size_t>(8, to.size() - i));
    }
    return true;
  }
  std::optional<code_range> FindRange(uint64_t pc) override {
    if (pc - kCode >= (1 << 20)) return std::nullopt;
    return code_range{
        .start = kCode, .end = kCode + (1 << 20), .file_offset = kCode, .kind = RANGE_ANON};
  }
  range_table DescribeTable(const code_range&) override { return {.state = RANGE_NO_TABLE}; }
  bool Load(const code_range&, uint64_t) override { return false; }
  uint8_t* Chunk(uint32_t index) override { return memory_.Chunk(index); }
  bool FindJitProcess(jit_process* found) override {
    const std::optional<jit_process> known = tables_.Of(kProcess);
    if (!known || is_list_changed) return false;
    *found = *known;
    found->list = 0;
    return true;
  }
  std::optional<range_table> DescribeJitTable(const file_key& region) override {
    const file_entry* const entry = tables_.FindFile(region);
    if (entry == nullptr) return std::nullopt;
    return range_table{.directory = entry->directory,
                       .first_page = entry->first_page,
                       .page_count = entry->page_count};
  }

 private:
  JitTables& tables_;
  MemoryRows& memory_;
};

class JitWalk : public testing::Test {
 protected:
  static constexpr uint64_t kStack = 0x7ffd'0000'1000;
  JitWalk() {
    // leaf(), which returns into a function with 16 bytes of its own, and that to address 0.
    walked_.words[kStack] = kCode + 0x120;
    walked_.words[kStack + 8 + 16] = 0;
  }
  WalkResult Walk() {
    unwind_registers leaf = {};
    leaf.pc = kCode;
    leaf.r[UNWIND_SP] = kStack;
    leaf.r[UNWIND_FP] = 0;
    leaf.known = ~0U;
    leaf.exact_pc = 1;
    return HostWalk().Walk(walked_, leaf);
  }
  void Tell() { tables_.Update(kProcess, {}, rows_); }
  MemoryRows memory_;
  RowStore store_{memory_, 8 << 20};
  JitTables tables_{store_};
  JitRows rows_{1 << 20};
  Walked walked_{tables_, memory_};
};

TEST_F(JitWalk, FollowsTheRowsThatWereTold) {
  EXPECT_EQ(Walk().words.size(), 1U);  // Nobody has told any: rbp is 0.
  rows_.Put(RowsAt(kCode, kCode + 64), From::kList);
  rows_.Put(RowsAt(kCode + 0x100, kCode + 0x180), From::kList);
  Tell();
  const WalkResult whole = Walk();
  EXPECT_EQ(whole.words.size(), 2U);
  EXPECT_EQ(whole.end, u32{END_NULL_RA});
  EXPECT_EQ(whole.flags, 0U);  // No guess.
  walked_.is_list_changed = true;
  EXPECT_EQ(Walk().words.size(), 1U);
}

TEST_F(JitWalk, RowsThatWentAreNotFollowed) {
  rows_.Put(RowsAt(kCode, kCode + 64), From::kList);
  Tell();
  EXPECT_EQ(Walk().words.size(), 2U);
  rows_.Erase(kCode, kCode + 1);
  rows_.Put(RowsAt(kCode + 0x1000, kCode + 0x1040), From::kList);
  Tell();
  EXPECT_EQ(Walk().words.size(), 1U);
  rows_.Clear();
  Tell();
  EXPECT_EQ(tables_.size(), 0U);
  EXPECT_EQ(store_.statistics().files, 0U);
}

TEST_F(JitWalk, OneRowForALargeBuffer) {
  CodeRows large = {.begin = kCode, .end = kCode + (64 << 20), .rows = {{0, 1}}, .rules = {}};
  ASSERT_TRUE(rows_.Put(std::move(large), From::kList));
  Tell();
  walked_.words[kStack] = kCode + 0x5'1234;
  walked_.words[kStack + 8] = 0;
  EXPECT_EQ(Walk().words.size(), 2U);
  EXPECT_EQ(Walk().end, u32{END_NULL_RA});
}

// Code in more places than there are regions: what has no room is left out, and room that is empty
// is used again.
TEST_F(JitWalk, RegionsAreUsedAgain) {
  for (uint64_t i = 0; i < MAX_JIT_REGIONS + 3; ++i) {
    const uint64_t at = kCode + i * JIT_REGION_BYTES;
    rows_.Put(RowsAt(at, at + 64), From::kList);
  }
  Tell();
  EXPECT_EQ(tables_.left_out(), 3U);
  rows_.Erase(kCode + JIT_REGION_BYTES, kCode + 3 * JIT_REGION_BYTES);
  Tell();
  rows_.Put(RowsAt(kCode - JIT_REGION_BYTES, kCode - JIT_REGION_BYTES + 64), From::kList);
  Tell();
  EXPECT_EQ(tables_.left_out(), 3U);
  EXPECT_EQ(store_.statistics().files, MAX_JIT_REGIONS);
}

TEST_F(JitWalk, TheProcessesThatChangedLastAreKept) {
  rows_.Put(RowsAt(kCode, kCode + 64), From::kList);
  for (uint32_t pid = 1; pid <= MAX_JIT_PROCESSES + 5; ++pid)
    tables_.Update({.pid = pid, .exec_id = 1, .start_time_ns = 1}, {}, rows_);
  EXPECT_EQ(tables_.size(), MAX_JIT_PROCESSES);
  EXPECT_FALSE(tables_.Of({.pid = 1, .exec_id = 1, .start_time_ns = 1}));
  tables_.RemoveGone();  // None of them is there.
  EXPECT_EQ(tables_.size(), 0U);
}

}  // namespace
}  // namespace stackray
