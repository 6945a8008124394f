// Go tables that no linker writes: what they cost is bounded in bytes read, whatever they say.
#include <gtest/gtest.h>

#include "symbolizer/go/go_table.h"
#include "tests/symbolizer/counting_source.h"
#include "tests/symbolizer/go/made_go_file.h"

namespace stackray::test {
namespace {

class GoBounds : public testing::Test {
 protected:
  void Build(const MadeGoFile& made) {
    bytes_ = made.Build(&text_);
    source_ = std::make_unique<CountingSource>(bytes_);
  }
  absl::StatusOr<GoTable> Open() {
    const auto image = ElfImage::Create(*source_);
    if (!image.ok()) return image.status();
    return GoTable::Open(*image, *source_);
  }
  std::vector<SourceLine> Resolve(uint64_t pc) {
    const auto table = Open();
    if (!table.ok()) return {};
    source_->Reset();
    return table->Resolve(*source_, text_ + pc);
  }
  std::vector<uint8_t> bytes_;
  std::unique_ptr<CountingSource> source_;
  uint64_t text_ = 0;
};

TEST_F(GoBounds, TheMadeFileIsRead) {
  Build({});
  auto lines = Resolve(8);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].function, "main.first");
  lines = Resolve(MadeGoFile::kSecond + 20);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].function, "main.inner");
  EXPECT_EQ(lines[0].file, "/src/main.go");
  EXPECT_EQ(lines[0].line, 14);
  EXPECT_EQ(lines[0].start_line, 3);
  EXPECT_EQ(lines[1].function, "main.second");
  EXPECT_EQ(lines[1].line, 10);
  EXPECT_EQ(lines[1].start_line, 7);
  EXPECT_TRUE(Resolve(MadeGoFile::kEnd).empty());
}

TEST_F(GoBounds, CallsThatCallThemselvesEnd) {
  MadeGoFile made;
  made.parent_pc = 20;  // In the very code that was inlined.
  Build(made);
  const auto lines = Resolve(MadeGoFile::kSecond + 20);
  ASSERT_EQ(lines.size(), GoTable::kMaxInlined + 2);
  EXPECT_EQ(lines[GoTable::kMaxInlined].function, "[cut: more inlined functions]");
  EXPECT_EQ(lines.back().function, "main.second");
  EXPECT_LT(source_->bytes_read(), 2u << 20);
}

TEST_F(GoBounds, ACallFromOutsideOfTheFunctionIsNone) {
  MadeGoFile made;
  made.parent_pc = 64;
  Build(made);
  EXPECT_EQ(Resolve(MadeGoFile::kSecond + 20).size(), 1u);
}

// Changes that never come to the address: 24 MiB of them, and the function is asked for 120 times
// over.
TEST_F(GoBounds, LongValueTablesCostTheBudgetOnce) {
  MadeGoFile made;
  Bytes endless;
  endless.U8(2).U8(0);
  for (int i = 0; i < 12 << 20; ++i) endless.U8(2).U8(0);
  made.lines = endless;
  Build(made);
  const auto lines = Resolve(MadeGoFile::kSecond + 20);
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back().function, "main.second");
  EXPECT_LT(source_->bytes_read(), 2 * GoTable::kStepsOfQuestion + (1u << 20));
}

TEST_F(GoBounds, OverlongNumbersEndATable) {
  MadeGoFile made;
  Bytes overlong;
  for (int i = 0; i < 1 << 20; ++i) overlong.U8(0x80);
  made.lines = overlong;
  Build(made);
  const auto lines = Resolve(MadeGoFile::kSecond + 20);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].line, 0);
  EXPECT_LT(source_->bytes_read(), 64u << 10);
}

TEST_F(GoBounds, MoreFunctionsThanThereAreAreNoneAtAll) {
  MadeGoFile made;
  made.function_count = 1 << 20;
  Build(made);
  EXPECT_TRUE(Resolve(8).empty());
  EXPECT_LT(source_->bytes_read(), 64u << 10);
  made.function_count = ~uint64_t{0};
  Build(made);
  EXPECT_TRUE(absl::IsUnimplemented(Open().status()));
}

// Every cut of the file, and every byte of the table changed: no answer is too long, nothing is
// read out of bounds.
TEST_F(GoBounds, DamageCostsAnswersOnly) {
  Build({});
  const std::vector<uint8_t> whole = bytes_;
  size_t answers = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const bool cut : {true, false}) {
      bytes_ = whole;
      if (cut) {
        bytes_.resize(i);
      } else {
        bytes_[i] ^= 0xff;
      }
      source_ = std::make_unique<CountingSource>(bytes_);
      const auto lines = Resolve(MadeGoFile::kSecond + 20);
      EXPECT_LE(lines.size(), GoTable::kMaxInlined + 2);
      answers += lines.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(answers, whole.size() / 2);
}

}  // namespace
}  // namespace stackray::test
