// Any bytes become text that a batch can carry.
#include "reporter/valid_text.h"

#include <gtest/gtest.h>

namespace stackray {
namespace {

std::string Clean(std::string_view text) {
  std::string buffer;
  return std::string(ValidText(text, &buffer));
}

TEST(ValidText, ValidTextIsNotCopied) {
  const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80";
  std::string buffer;
  EXPECT_EQ(ValidText(text, &buffer).data(), text.data());
  EXPECT_EQ(ValidUtf8Prefix(text), text.size());
}

struct Broken {
  const char* name;
  std::string_view bytes, clean;
};

// What the Unicode standard's section "U+FFFD Substitution of Maximal Subparts" asks for; the
// second opinion test compares thousands more with Python.
const Broken kBroken[] = {
    {"LoneContinuation", "a\x80z", "a\xEF\xBF\xBDz"},
    {"Overlong", "\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD"},
    {"Surrogate", "\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
    {"PastTheLast", "\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
    {"CutShort", "\xE2\x82", "\xEF\xBF\xBD"},
    {"CutInTheMiddle", "\xF0\x9F\x98z", "\xEF\xBF\xBDz"},
    {"NeverALead", "\xFF", "\xEF\xBF\xBD"},
};

class BrokenText : public testing::TestWithParam<Broken> {};
TEST_P(BrokenText, IsReplaced) {
  EXPECT_EQ(Clean(GetParam().bytes), GetParam().clean);
  EXPECT_LT(ValidUtf8Prefix(GetParam().bytes), GetParam().bytes.size());
}
INSTANTIATE_TEST_SUITE_P(Kinds, BrokenText, testing::ValuesIn(kBroken),
                         [](const auto& broken) { return broken.param.name; });

TEST(ValidText, LongTextsEndInAnEllipsisWithinTheBound) {
  const std::string fits(kMaxTextBytes, 'x');
  EXPECT_EQ(Clean(fits), fits);
  EXPECT_EQ(Clean(fits + "y"), std::string(kMaxTextBytes - 3, 'x') + "\xE2\x80\xA6");
  for (const std::string_view unit :
       {"\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xFF", "x\xFF"}) {
    for (const size_t repeats : {1300, 1365, 1366, 2048, 4096, 100'000}) {
      std::string text;
      for (size_t i = 0; i < repeats; ++i) text += unit;
      const std::string clean = Clean(text);
      EXPECT_LE(clean.size(), kMaxTextBytes);
      EXPECT_EQ(ValidUtf8Prefix(clean), clean.size()) << "cut between characters";
      EXPECT_EQ(Clean(clean), clean);
    }
  }
}

}  // namespace
}  // namespace stackray
