// Tables of switches among code: as native-image makes them, and what is none.
#include "symbolizer/cfi/switch_tables.h"

#include <gtest/gtest.h>

#include <cstring>

namespace stackray::cfi {
namespace {

// 0: lea table(%rip), %rax; 7: movslq (%rax,%rdi,4), %rdi; 11: add %rdi, %rax; 14: jmp *%rax; the
// table at 16, its cases at 28 and 0; ret at 28.
std::vector<uint8_t> Code() {
  return {0x48, 0x8d, 0x05, 9, 0, 0,    0,    0x48, 0x63, 0x3c, 0xb8, 0x48, 0x01, 0xf8, 0xff,
          0xe0, 12,   0,    0, 0, 0xf0, 0xff, 0xff, 0xff, 12,   0,    0,    0,    0xc3, 0x90};
}

void ExpectCases(const std::vector<uint8_t>& code, size_t end, std::vector<uint32_t> cases) {
  const std::vector<SwitchTable> tables = FindSwitchTables(code);
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].begin, 16u);
  EXPECT_EQ(tables[0].end, end);
  EXPECT_EQ(tables[0].cases, cases);
}

TEST(SwitchTables, EndWhereTheirFirstCaseBegins) {
  ExpectCases(Code(), 28, {28, 0, 28});
  EXPECT_EQ(FindSwitchTables(Code())[0].jump, 14u);
}

TEST(SwitchTables, EndWhereAnEntryLeadsNowhere) {
  std::vector<uint8_t> code = Code();
  code[27] = 0x7f;
  ExpectCases(code, 24, {28, 0});
}

TEST(SwitchTables, AnEntryMayHaveItsKeyBeforeIt) {
  // sar $32, %r9 instead of movslq; then entries of eight bytes.
  std::vector<uint8_t> code = Code();
  const uint8_t sar[] = {0x49, 0xc1, 0xf9, 0x20};
  std::memcpy(code.data() + 7, sar, sizeof(sar));
  code.resize(34, 0x90);
  const int32_t entries[] = {0x51, 16, 0x6f, -16};  // Keys first.
  std::memcpy(code.data() + 16, entries, sizeof(entries));
  ExpectCases(code, 32, {32, 0});
}

TEST(SwitchTables, ACallOrNoReadBetweenMeansThatThereIsNone) {
  std::vector<uint8_t> code = Code();
  code[8] = 0x8b;  // mov, which reads no entry.
  EXPECT_TRUE(FindSwitchTables(code).empty());
  code = Code();
  code[11] = code[12] = code[13] = 0xc3;  // ret
  EXPECT_TRUE(FindSwitchTables(code).empty());
}

TEST(SwitchTables, AnyBytesAreAnswered) {
  for (size_t size = 0; size <= Code().size(); ++size) {
    std::vector<uint8_t> code = Code();
    code.resize(size);
    for (const SwitchTable& table : FindSwitchTables(code)) EXPECT_LE(table.end, size);
    for (size_t at = 0; at < size; ++at) {
      std::vector<uint8_t> damaged = code;
      damaged[at] ^= 0xff;
      for (const SwitchTable& table : FindSwitchTables(damaged)) {
        EXPECT_LE(table.end, size);
        for (const uint32_t each : table.cases) EXPECT_LT(each, size);
      }
    }
  }
}

}  // namespace
}  // namespace stackray::cfi
