#include "reporter/formats/text.h"

#include <gtest/gtest.h>

#include <random>

#include "reporter/formats/gzip.h"
#include "tests/reporter/formats/test_batches.h"

namespace stackray {
namespace {

TEST(Text, ValidUtf8StaysAsItIs) {
  for (const std::string text : {"", "main", "gr\xC3\xBC\xC3\x9F", "\xE2\x82\xAC",
                                 "\xF0\x9F\x94\xA5", "\xF4\x8F\xBF\xBF", "\xEE\x80\x80"}) {
    EXPECT_TRUE(IsValidUtf8(text)) << text;
    EXPECT_EQ(ToValidUtf8(text), text);
  }
}

TEST(Text, EachMaximalInvalidPartBecomesOneReplacement) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(ToValidUtf8("a\xFF"
                        "b"),
            "a" + bad + "b");
  EXPECT_EQ(ToValidUtf8("\xC0\xAF"), bad + bad);            // Overlong.
  EXPECT_EQ(ToValidUtf8("\xED\xA0\x80"), bad + bad + bad);  // Surrogate.
  EXPECT_EQ(ToValidUtf8("\xE2\x82"), bad);                  // Cut.
  EXPECT_EQ(ToValidUtf8("\xF0\x9F\x94"
                        "a"),
            bad + "a");
  EXPECT_EQ(ToValidUtf8("\xF4\x90\x80\x80"), bad + bad + bad + bad);
}

// Python's decoder is the oracle: 20,000 strings of bytes that are likely to be nearly right.
TEST(Text, InvalidUtf8IsReplacedAsPythonDoes) {
  if (!HaveTool("python3")) GTEST_SKIP() << "python3 is not installed";
  std::mt19937 random(7);
  const std::string alphabet("a\x80\x90\xA0\xBF\xC2\xC1\xE0\xE2\xED\xEF\xF0\xF1\xF4\xF5\xFF", 16);
  std::string input, ours;
  for (int i = 0; i < 20'000; ++i) {
    std::string line;
    for (size_t n = random() % 9; n > 0; --n) line += alphabet[random() % alphabet.size()];
    input += line + "\n";
    ours += ToValidUtf8(line) + "\n";
  }
  const std::string path = WriteTestFile("bytes", input);
  const auto theirs = RunTool(
      "python3 -c 'import sys; d = open(sys.argv[1], \"rb\").read().decode(\"utf-8\", \"replace\");"
      "sys.stdout.buffer.write(d.encode())' " +
      path);
  ASSERT_TRUE(theirs.has_value());
  EXPECT_EQ(ours, *theirs);
}

TEST(Text, BaseName) {
  EXPECT_EQ(PathBaseName("/usr/lib/libc.so.6"), "libc.so.6");
  EXPECT_EQ(PathBaseName("vmlinux"), "vmlinux");
  EXPECT_EQ(PathBaseName("/usr/lib/"), "/usr/lib/");
  EXPECT_EQ(PathBaseName(""), "");
}

TEST(Text, JsonStringsAreEscaped) {
  std::string out;
  AppendJsonString(std::string_view("a\"b\\c\n\r\t\x01\0</script>\xFF", 20), &out);
  EXPECT_EQ(out, "\"a\\\"b\\\\c\\n\\r\\t\\u0001\\u0000</script>\xEF\xBF\xBD\"");
}

TEST(Text, NothingDrivesATerminal) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(PrintableText("a\x1b[2Jb\x7f\x9b"), "a" + bad + "[2Jb" + bad + bad);
  EXPECT_EQ(PrintableText("\xC2\x9B"
                          "31m"),
            bad + "31m");  // CSI in one character.
  EXPECT_EQ(PrintableText("\xE2\x80\xAE"
                          "txt"),
            bad + "txt");                                // RIGHT-TO-LEFT OVERRIDE.
  EXPECT_EQ(PrintableText("\xE2\x81\xA6x"), bad + "x");  // LEFT-TO-RIGHT ISOLATE.
  EXPECT_EQ(PrintableText("a\nb\tc"), "a" + bad + "b" + bad + "c");
  for (const char* good : {"plain",
                           "Gr\xC3\xB6\xC3\x9F"
                           "e",
                           "\xE2\x80\xA6 \xE2\x9C\x93", "\xF0\x9F\x94\xA5"})
    EXPECT_EQ(PrintableText(good), good);
  EXPECT_EQ(PrintableLines("a\nb\x1b\n"), "a\n  b" + bad + "\n  ");
  EXPECT_EQ(FoldedElement("a;b\tc\nd\x1b]0;x\x07\xC2\x9B"), "a:b c d" + bad + "]0:x" + bad + bad);
  std::string json;
  AppendJsonString("\x1b\x7f\xC2\x9B\xC3\xB6", &json);
  EXPECT_EQ(json, "\"\\u001b\\u007f\\u009b\xC3\xB6\"");
}

TEST(Text, HtmlIsEscaped) {
  EXPECT_EQ(EscapeHtml("<a href='x' title=\"y\">&\xFF"),
            "&lt;a href=&#39;x&#39; title=&quot;y&quot;&gt;&amp;\xEF\xBF\xBD");
}

TEST(Text, NumbersAndTextAreJoined) {
  EXPECT_EQ(
      Concat("a", -5, std::string("b"), uint64_t{18446744073709551615u}, std::string_view("c")),
      "a-5b18446744073709551615c");
}

TEST(Gzip, GunzipReadsItAndBytesRepeat) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i);
  const auto first = GzipCompress(text), second = GzipCompress(text);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, *second);
  EXPECT_LT(first->size(), text.size());
  EXPECT_EQ(RunTool("gzip -dc < " + WriteTestFile("text.gz", *first)), text);
  EXPECT_EQ(*GzipExpand(*first, text.size()), text);
}

TEST(Gzip, DamagedCutAndHugeInputIsRefused) {
  const std::string good = *GzipCompress(std::string(1'000'000, 'x'));
  EXPECT_TRUE(absl::IsDataLoss(GzipExpand(good.substr(0, good.size() - 1), 2'000'000).status()));
  EXPECT_TRUE(absl::IsDataLoss(GzipExpand("", 10).status()));
  std::string damaged = good;
  damaged[damaged.size() - 6] ^= 1;  // Its checksum.
  EXPECT_TRUE(absl::IsDataLoss(GzipExpand(damaged, 2'000'000).status()));
  EXPECT_TRUE(absl::IsResourceExhausted(GzipExpand(good, 999'999).status()));
}

}  // namespace
}  // namespace stackray
