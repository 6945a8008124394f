#include "agent/doctor/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace stackray {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

Findings ThreeLevels() {
  return {Good("btf", "types are there"),
          Warning("uprobes", "no uprobes", "no probes", "another kernel"),
          Blocking("cpu_clock", "no clock", "no samples", "run as root (sudo stackray …)")};
}

TEST(DoctorText, ShowsMarkCostAndFix) {
  EXPECT_EQ(RenderText(ThreeLevels()),
            "  ✓ types are there\n"
            "  ! no uprobes\n"
            "      cost: no probes\n"
            "      fix:  another kernel\n"
            "  ✗ no clock\n"
            "      cost: no samples\n"
            "      fix:  run as root (sudo stackray …)\n"
            "\n"
            "Sampling is not possible: 1 thing to mend.\n");
}

TEST(DoctorText, IsPlainAsciiWhereTheTerminalIsNot) {
  const std::string text = RenderText(ThreeLevels(), {.utf8 = false});
  EXPECT_TRUE(std::ranges::all_of(text, [](unsigned char c) { return c < 0x80; })) << text;
  EXPECT_THAT(text, HasSubstr("X  no clock"));
  EXPECT_THAT(text, HasSubstr("(sudo stackray ...)"));
}

TEST(DoctorText, EndsWithTheVerdict) {
  EXPECT_THAT(RenderText({Good("a", "a")}), EndsWith("possible; nothing is missing.\n"));
  EXPECT_THAT(RenderText({Warning("a", "a", "b", "c"), Warning("d", "a", "b", "c")}),
              EndsWith("possible; 2 things missing.\n"));
}

TEST(DoctorText, KeepsControlBytesOfTheKernelFromTheTerminal) {
  Finding finding = Good("kernel", "Linux \x1b[2J");
  finding.detail = "log\x07 line\n\nnext";
  const std::string text = RenderText({finding});
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("      | log\xEF\xBF\xBD line\n      | next\n"));
}

TEST(DoctorText, ShowsTheEndOfALongLog) {
  Finding finding = Good("bpf_load", "x");
  for (int line = 0; line < 1000; ++line) finding.detail += "line " + std::to_string(line) + "\n";
  const std::string text = RenderText({finding});
  EXPECT_THAT(text, HasSubstr("| line 999\n"));
  EXPECT_THAT(text, Not(HasSubstr("| line 900\n")));
}

TEST(DoctorText, KnowsALocaleByItsFirstVariable) {
  EXPECT_TRUE(LocaleIsUtf8(nullptr, nullptr, "en_US.UTF-8"));
  EXPECT_TRUE(LocaleIsUtf8("", "C.utf8", "C"));
  EXPECT_FALSE(LocaleIsUtf8("C", nullptr, "en_US.UTF-8"));
  EXPECT_FALSE(LocaleIsUtf8(nullptr, nullptr, nullptr));
}

}  // namespace
}  // namespace stackray
