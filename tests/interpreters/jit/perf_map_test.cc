// Perf maps as runtimes write them, in pieces, and damaged.
#include "interpreters/jit/perf_map.h"

#include <gtest/gtest.h>

namespace stackray {
namespace {

struct Read {
  JitCode code{16 << 20};
  PerfMapReader reader;
  std::string NameAt(uint64_t address) const {
    const JitFunction* const found = code.Find(address);
    return found == nullptr ? "" : found->name;
  }
};

// Node 20, HotSpot 17, CPython 3.13.
constexpr std::string_view kMap =
    "7f0000001000 2c JS:*fib /tmp/a b.js:1:13\n"
    "0x00007f0000002000 0x0000000000000180 java.lang.String::hashCode()\n"
    "7f0000003000 b py::main:/tmp/x.py\n";

TEST(PerfMap, ReadsWhatRuntimesWrite) {
  Read read;
  read.reader.Take(kMap, read.code);
  EXPECT_EQ(read.NameAt(0x7f000000102b), "JS:*fib /tmp/a b.js:1:13");
  EXPECT_EQ(read.NameAt(0x7f0000002000), "java.lang.String::hashCode()");
  EXPECT_EQ(read.NameAt(0x7f000000300a), "py::main:/tmp/x.py");
  EXPECT_EQ(read.reader.functions(), 3U);
  EXPECT_EQ(read.reader.damaged(), 0U);
}

TEST(PerfMap, SaysTheSameInPiecesOfAnySize) {
  for (size_t piece = 1; piece <= kMap.size(); ++piece) {
    Read read;
    for (size_t at = 0; at < kMap.size(); at += piece)
      read.reader.Take(kMap.substr(at, piece), read.code);
    EXPECT_EQ(read.NameAt(0x7f0000001000), "JS:*fib /tmp/a b.js:1:13") << piece;
    EXPECT_EQ(read.reader.functions(), 3U) << piece;
  }
}

TEST(PerfMap, ALineCountsWhenItIsWhole) {
  Read read;
  read.reader.Take("1000 10 half", read.code);
  EXPECT_EQ(read.NameAt(0x1000), "");
  read.reader.Take("_written\n", read.code);
  EXPECT_EQ(read.NameAt(0x1000), "half_written");
}

TEST(PerfMap, TheLastEntryWins) {
  Read read;
  read.reader.Take("1000 10 old\n1008 10 new\n", read.code);
  EXPECT_EQ(read.NameAt(0x1000), "");
  EXPECT_EQ(read.NameAt(0x1008), "new");
}

TEST(PerfMap, CountsLinesThatSayNoFunction) {
  for (const std::string_view line :
       {"x\n", "1000\n", "1000 \n", "1000 10\n", "1000 10 \n", "zz 10 a\n", "1000 zz a\n",
        "1000 0 a\n", "ffffffff81000000 10 kernel\n", "1000 ffffffffffffffff a\n",
        "11112222333344445 10 a\n", "1000,10,a\n", "-1000 10 a\n"}) {
    Read read;
    read.reader.Take(line, read.code);
    EXPECT_EQ(read.reader.damaged(), 1U) << line;
    EXPECT_EQ(read.code.size(), 0U) << line;
    read.reader.Take("2000 10 good\r\n", read.code);
    EXPECT_EQ(read.NameAt(0x2000), "good") << line;
  }
}

TEST(PerfMap, LeavesALongLineOut) {
  Read read;
  read.reader.Take("1000 10 ", read.code);
  for (int i = 0; i < 1000; ++i) read.reader.Take(std::string(1000, 'x'), read.code);
  read.reader.Take("\n2000 10 next\n", read.code);
  EXPECT_EQ(read.NameAt(0x1000), "");
  EXPECT_EQ(read.NameAt(0x2000), "next");
  EXPECT_EQ(read.reader.damaged(), 1U);
}

TEST(PerfMap, CutsALongName) {
  Read read;
  read.reader.Take("1000 10 " + std::string(2 * kMaxJitNameBytes, 'n') + "\n", read.code);
  EXPECT_EQ(read.NameAt(0x1000).size(), kMaxJitNameBytes);
}

}  // namespace
}  // namespace stackray
