// Jitdump files: what their records say, growing ones and damaged ones.
#include "interpreters/jit/jit_dump.h"

#include <gtest/gtest.h>

#include "tests/interpreters/jit/dump_bytes.h"
#include "tests/interpreters/jit/eh_frame_bytes.h"
#include "tests/symbolizer/cfi/blob_reader.h"

namespace stackray {
namespace {

using test::DumpBytes;

struct Read {
  JitCode code{16 << 20};
  cfi::JitRows rows{1 << 20};
  JitDumpReader reader;
  absl::Status On(std::span<const uint8_t> bytes) {
    return reader.ReadOn(MemorySource(bytes), code, rows);
  }
  std::string At(uint64_t address) const {
    const JitFunction* const found = code.Find(address);
    if (found == nullptr) return "";
    const SourceLine line = found->LineAt(address);
    return line.function + " " + line.file + ":" + std::to_string(line.line);
  }
};

DumpBytes Example() {
  DumpBytes dump;
  dump.Lines(0x1000, {{0x1000, 10, "a.js"}, {0x1004, 11, "\xff"}, {0x1008, 5, "b.js"}});
  dump.Load(0x1000, "LazyCompile:*f a.js", std::string(16, '\x90'));
  dump.Unwinding(test::EntriesOf(-32, 32)).Load(0x2000, "g", std::string(32, '\x90'));
  dump.Move(0x2000, 0x3000, 32).Other(3, "").Other(99, "later versions");
  return dump;
}

TEST(JitDump, ReadsFunctionsLinesAndMoves) {
  Read read;
  ASSERT_TRUE(read.On(Example().bytes()).ok());
  EXPECT_EQ(read.At(0x1003), "LazyCompile:*f a.js a.js:10");
  EXPECT_EQ(read.At(0x1004), "LazyCompile:*f a.js a.js:11");
  EXPECT_EQ(read.At(0x100f), "LazyCompile:*f a.js b.js:5");
  EXPECT_EQ(read.At(0x2000), "");
  EXPECT_EQ(read.At(0x301f), "g :0");
  EXPECT_EQ(read.reader.functions(), 2U);
  EXPECT_EQ(read.reader.damaged(), 0U);
}

// CFA = rsp + 8 up to the function's second byte, and rsp + 16 from there on.
TEST(JitDump, ReadsRowsThatComeBeforeTheirFunction) {
  DumpBytes dump;
  dump.Unwinding(test::EntriesOf(-16, 13)).Load(0x2000, "g", std::string(13, '\x90'));
  dump.Load(0x4000, "h", std::string(8, '\x90'));
  Read read;
  ASSERT_TRUE(read.On(dump.bytes()).ok());
  EXPECT_EQ(read.rows.size(), 1U);  // Not again for the next one.
  EXPECT_EQ(read.rows.Pages(), std::set<uint64_t>{0});
  const std::vector<uint8_t> blob = read.rows.EncodePage(0);
  EXPECT_EQ(FindCodeLinearly(blob, 0x1fff), CODE_SPECIAL(SPECIAL_NONE));
  EXPECT_EQ(FindCodeLinearly(blob, 0x2000), 1);
  EXPECT_EQ(FindCodeLinearly(blob, 0x2001), 2);
  EXPECT_EQ(FindCodeLinearly(blob, 0x200c), 2);
  EXPECT_EQ(FindCodeLinearly(blob, 0x200d), CODE_SPECIAL(SPECIAL_NONE));
}

// However much of the file is there already.
TEST(JitDump, ReadsAGrowingFile) {
  const std::vector<uint8_t> bytes = Example().bytes();
  for (size_t first = 0; first <= bytes.size(); ++first) {
    Read read;
    ASSERT_TRUE(read.On(std::span(bytes).first(first)).ok()) << first;
    ASSERT_TRUE(read.On(bytes).ok()) << first;
    EXPECT_EQ(read.At(0x1004), "LazyCompile:*f a.js a.js:11") << first;
    EXPECT_EQ(read.At(0x3000), "g :0") << first;
    EXPECT_EQ(read.reader.functions(), 2U) << first;
  }
}

TEST(JitDump, RefusesOtherFiles) {
  EXPECT_TRUE(absl::IsUnimplemented(Read().On(DumpBytes(0x4454694A).bytes())));
  EXPECT_TRUE(absl::IsDataLoss(Read().On(DumpBytes(0x464c457f).bytes())));
  EXPECT_TRUE(absl::IsUnimplemented(Read().On(DumpBytes(0x4A695444, EM_386).bytes())));
  EXPECT_TRUE(Read().On({}).ok());
  EXPECT_TRUE(Read().On(DumpBytes(0x4A695444, EM_NONE).bytes()).ok());  // CPython 3.13's.
}

TEST(JitDump, ARecordWithoutASizeEndsTheFile) {
  std::vector<uint8_t> bytes = DumpBytes().Load(0x1000, "f", "1234").bytes();
  bytes.insert(bytes.end(), 64, 0);
  Read read;
  EXPECT_TRUE(absl::IsDataLoss(read.On(bytes)));
  EXPECT_EQ(read.At(0x1000), "f :0");
  EXPECT_TRUE(absl::IsDataLoss(read.On(Example().bytes())));  // It is not read again.
}

TEST(JitDump, LinesThatClaimMoreThanThereIs) {
  DumpBytes dump;
  std::string body(16, '\xff');  // 2^64 - 1 lines.
  dump.Other(2, body).Load(0x1000, "f", "1234").Move(0x7000, 0x8000, 4).Load(0x2000, "", "1234");
  Read read;
  ASSERT_TRUE(read.On(dump.bytes()).ok());
  EXPECT_EQ(read.At(0x1000), "f :0");
  EXPECT_EQ(read.reader.damaged(), 2U);
}

TEST(JitDump, StopsWhenItsTimeIsOver) {
  const std::vector<uint8_t> bytes = Example().bytes();
  JitCode code(1 << 20);
  cfi::JitRows rows(1 << 20);
  JitDumpReader reader;
  int records = 0;
  ASSERT_TRUE(reader.ReadOn(MemorySource(bytes), code, rows, [&] { return records++ >= 2; }).ok());
  EXPECT_EQ(reader.functions(), 1U);
  ASSERT_TRUE(reader.ReadOn(MemorySource(bytes), code, rows).ok());
  EXPECT_EQ(reader.functions(), 2U);
}

// Each byte of the file set to some values: what comes out stays bounded.
TEST(JitDump, Damage) {
  const std::vector<uint8_t> good = Example().bytes();
  for (size_t at = 0; at < good.size(); ++at)
    for (const uint8_t value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::vector<uint8_t> bytes = good;
      bytes[at] = value;
      Read read;
      (void)read.On(bytes);
      ASSERT_LE(read.code.size(), good.size() / 16);
      ASSERT_LE(read.reader.offset(), bytes.size());
    }
}

}  // namespace
}  // namespace stackray
