// gdb's list of JIT code, in this process's own memory: lists that change or lie, and ELF files as
// LLVM, V8 and wasmtime register them.
#include "interpreters/jit/gdb_jit.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/interpreters/jit/jit_elf.h"

namespace stackray {
namespace {

using test::JitElf;

struct Entry {
  uint64_t next = 0, before = 0, elf = 0, size = 0;
};
struct Descriptor {
  uint32_t version = 1, action = 0;
  uint64_t relevant = 0, first = 0;
};

template <typename T>
uint64_t At(const T& object) {
  return reinterpret_cast<uint64_t>(&object);
}

class GdbJit : public testing::Test {
 protected:
  GdbJit() {
    for (size_t i = 0; i < entries_.size(); ++i) {
      entries_[i] = {.elf = 0x1000 + i, .size = 10 + i};
      if (i > 0) entries_[i].before = At(entries_[i - 1]);
      if (i + 1 < entries_.size()) entries_[i].next = At(entries_[i + 1]);
    }
    descriptor_.first = At(entries_[0]);
  }
  LiveProcessMemory memory_{static_cast<uint32_t>(getpid())};
  std::array<Entry, 3> entries_;
  Descriptor descriptor_;
};

TEST_F(GdbJit, ReadsAList) {
  const absl::StatusOr<GdbJitWords> words = ReadGdbJitWords(memory_, At(descriptor_));
  ASSERT_TRUE(words.ok());
  const GdbJitList list = ReadGdbJitList(memory_, (*words)[JIT_FIRST_ENTRY], 100);
  EXPECT_TRUE(list.is_whole);
  ASSERT_EQ(list.entries.size(), 3U);
  EXPECT_EQ(words->back(), 10U);  // The first entry's size: another file may lie in its place.
  EXPECT_EQ(list.entries[2], (GdbJitEntry{At(entries_[2]), 0x1002, 12}));
}

TEST_F(GdbJit, RefusesAnotherVersion) {
  descriptor_.version = 2;
  EXPECT_FALSE(ReadGdbJitWords(memory_, At(descriptor_)).ok());
  EXPECT_FALSE(ReadGdbJitWords(memory_, 8).ok());
  descriptor_ = {.version = 0};
  EXPECT_EQ(ReadGdbJitWords(memory_, At(descriptor_)).value()[JIT_FIRST_ENTRY], 0U);
}

TEST_F(GdbJit, ACircleEnds) {
  entries_[2].next = At(entries_[0]);
  const GdbJitList list = ReadGdbJitList(memory_, At(entries_[0]), 100);
  EXPECT_FALSE(list.is_whole);
  EXPECT_EQ(list.entries.size(), 3U);
}

TEST_F(GdbJit, AListThatChangesEndsWhereItDoes) {
  entries_[1].before = 0;
  EXPECT_EQ(ReadGdbJitList(memory_, At(entries_[0]), 100).entries.size(), 1U);
  entries_[0].next = 0x10;
  EXPECT_EQ(ReadGdbJitList(memory_, At(entries_[0]), 100).entries.size(), 1U);
  entries_[0].size = ~0ULL;
  EXPECT_EQ(ReadGdbJitList(memory_, At(entries_[0]), 100).entries.size(), 0U);
}

TEST_F(GdbJit, TakesNoMoreThanItMay) {
  const GdbJitList list = ReadGdbJitList(memory_, At(entries_[0]), 2);
  EXPECT_EQ(list.entries.size(), 2U);
  EXPECT_FALSE(list.is_whole);
}

std::string Functions(const std::vector<uint8_t>& elf) {
  const auto functions = FunctionsOfJitElf(MemorySource(elf));
  if (!functions.ok()) return std::string(functions.status().message());
  std::string text;
  for (const JitFunction& function : *functions)
    text += function.name + "@" + std::to_string(function.start) + "+" +
            std::to_string(function.size_bytes) + " ";
  return text;
}

TEST(JitElfFile, ValuesFromTheSectionOn) {  // LLVM, V8: ET_REL.
  EXPECT_EQ(Functions(JitElf(ET_REL, 0x5000, 0x100, {{"f", 0, 16}, {"g", 0x20, 8}})),
            "f@20480+16 g@20512+8 ");
}

TEST(JitElfFile, ValuesThatAreAddresses) {
  EXPECT_EQ(Functions(JitElf(ET_DYN, 0x5000, 0x100, {{"f", 0x5000, 16}})), "f@20480+16 ");
}

TEST(JitElfFile, ValuesFromTheSectionOnInALinkedFile) {  // wasmtime 50.
  EXPECT_EQ(Functions(JitElf(ET_DYN, 0x5000, 0x100, {{"f", 0x10, 16}})), "f@20496+16 ");
}

TEST(JitElfFile, LeavesOutWhatIsNowhere) {
  EXPECT_EQ(Functions(JitElf(ET_REL, 0x5000, 0x100, {{"out", 0x100, 16}, {"empty", 0, 0}})), "");
}

TEST(JitElfFile, Damage) {
  const std::vector<uint8_t> good = JitElf(ET_REL, 0x5000, 0x100, {{"f", 0, 16}, {"g", 0x20, 8}});
  for (size_t at = 0; at < good.size(); ++at)
    for (const uint8_t value : {0x00, 0x01, 0x80, 0xff}) {
      std::vector<uint8_t> bytes = good;
      bytes[at] = value;
      const auto functions = FunctionsOfJitElf(MemorySource(bytes));
      if (!functions.ok()) continue;
      ASSERT_LE(functions->size(), bytes.size() / sizeof(Elf64_Sym));
    }
  for (size_t size = 0; size < good.size(); ++size)
    (void)FunctionsOfJitElf(MemorySource(std::span(good).first(size)));
}

}  // namespace
}  // namespace stackray
