// Where functions begin by their call frame information, against the symbols of files that have
// them.
#include "symbolizer/cfi/function_begins.h"

#include <gtest/gtest.h>

#include "symbolizer/elf_image.h"
#include "tests/oracles/symbol_oracle.h"

namespace stackray {
namespace {

TEST(FunctionBegins, AreTheSymbolsOwn) {
  const auto self = test::OpenFile(test::OwnFile());
  const test::OracleSymbols oracle = test::ReadOracle(test::OwnFile());
  if (oracle.symbols.empty()) GTEST_SKIP() << "no readelf";
  FunctionBegins begins;
  size_t asked = 0, known = 0;
  for (const test::OracleSymbol& symbol : oracle.symbols) {
    if (symbol.size < 2 || begins.Find(1, *self->source, symbol.start) != symbol.start) continue;
    ++asked;
    known += begins.Find(1, *self->source, symbol.start + symbol.size / 2) == symbol.start ? 1 : 0;
  }
  EXPECT_GT(asked, 1000u);
  EXPECT_GE(known, asked * 999 / 1000);
  EXPECT_FALSE(begins.Find(1, *self->source, 1)) << "no entry covers address 1";
  EXPECT_LT(begins.bytes(), 128u << 10);
}

// Files come and go; a source lives no longer than the question.
TEST(FunctionBegins, ManyFilesTakeNoMoreRoom) {
  const auto self = test::OpenFile(test::OwnFile());
  const absl::StatusOr<ElfImage> image = ElfImage::Create(*self->source);
  ASSERT_TRUE(image.ok());
  FunctionBegins begins;
  std::optional<uint64_t> first;
  size_t most = 0;
  for (uint64_t handle = 1; handle < 4 * FunctionBegins::kMostFiles; ++handle) {
    const auto opened = test::OpenFile(test::OwnFile());
    const std::optional<uint64_t> begin = begins.Find(handle, *opened->source, image->entry() + 1);
    if (handle == 1) first = begin;
    EXPECT_EQ(begin, first);
    if (handle == FunctionBegins::kMostFiles) most = begins.bytes();
  }
  EXPECT_TRUE(first);
  EXPECT_LE(begins.bytes(), most);
  begins.Wipe();
  EXPECT_EQ(begins.bytes(), 0u);
}

TEST(FunctionBegins, AnOverwrittenFileSaysNothing) {
  class Overwritten : public MemorySource {
   public:
    using MemorySource::MemorySource;
    bool IsUnchanged() const override { return false; }
  };
  const auto self = test::OpenFile(test::OwnFile());
  const auto bytes = self->source->Read(0, self->source->size_bytes(), 1 << 30);
  ASSERT_TRUE(bytes.ok());
  const absl::StatusOr<ElfImage> image = ElfImage::Create(*self->source);
  ASSERT_TRUE(image.ok());
  FunctionBegins begins;
  EXPECT_TRUE(begins.Find(1, MemorySource(*bytes), image->entry()));
  EXPECT_FALSE(begins.Find(1, Overwritten(*bytes), image->entry()));
}

}  // namespace
}  // namespace stackray
