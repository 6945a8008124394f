#include "agent/settings/resource_attribute_list.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stackray {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

ResourceAttributes Parsed(std::string_view text) {
  const auto attributes = ParseResourceAttributes(text);
  EXPECT_TRUE(attributes.ok()) << attributes.status();
  return attributes.value_or(ResourceAttributes{});
}

TEST(ResourceAttributeList, KeysAndValues) {
  EXPECT_THAT(Parsed("a=1,b=two words , c = 3"),
              ElementsAre(Pair("a", "1"), Pair("b", "two words"), Pair("c", "3")));
  EXPECT_THAT(Parsed(",, a=1 ,,"), ElementsAre(Pair("a", "1")));
  EXPECT_THAT(Parsed(""), ElementsAre());
  EXPECT_THAT(Parsed("a=,b=x=y"), ElementsAre(Pair("a", ""), Pair("b", "x=y")));
  EXPECT_THAT(Parsed("a=1,b=2,a=3"), ElementsAre(Pair("a", "3"), Pair("b", "2")));
}

TEST(ResourceAttributeList, PercentDecoding) {
  EXPECT_THAT(Parsed("a%2Cb=c%3Dd%25,e=%C3%a9"),
              ElementsAre(Pair("a,b", "c=d%"), Pair("e", "\xC3\xA9")));
  EXPECT_THAT(Parsed("a=%20b"), ElementsAre(Pair("a", " b")));  // Trimmed before, not after.
}

TEST(ResourceAttributeList, WhatIsWrongIsNamed) {
  const std::pair<std::string, std::string> cases[] = {
      {"a", "\"a\": no ="},
      {"a=1,=2", "\"=2\": no key"},
      {"a=%", "\"%\": after % there must be two hexadecimal digits"},
      {"a=%2", "\"%2\": after %"},
      {"a=%g0", "\"%g0\": after %"},
      {"a=%+1", "\"%+1\": after %"},
      {"a=%-1", "\"%-1\": after %"},
      {"a=%FF", "no valid UTF-8"},
      {"a=%C3", "no valid UTF-8"},
      {std::string(256, 'k') + "=v", "longer than"},
      {"k=" + std::string(1025, 'v'), "longer than"},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_THAT(ParseResourceAttributes(text).status().message(), HasSubstr(expected)) << text;
  std::string many;
  for (size_t i = 0; i <= kMaxResourceAttributes; ++i) many += fmt::format("k{}=v,", i);
  EXPECT_THAT(ParseResourceAttributes(many).status().message(), HasSubstr("more than 64"));
}

// Each of its bytes replaced by each other one: an answer, never a crash.
TEST(ResourceAttributeList, AnyBytes) {
  const std::string good = "a%2C=b%3D,c=d";
  int accepted = 0, refused = 0;
  for (size_t at = 0; at < good.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string damaged = good;
      damaged[at] = static_cast<char>(byte);
      ++(ParseResourceAttributes(damaged).ok() ? accepted : refused);
    }
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace stackray
