// A request's and an answer's line: what is understood, and what is said of what is not.
#include "agent/control/control_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace stackray {
namespace {

using testing::HasSubstr;

std::string ErrorOf(std::string_view line) {
  const auto request = ParseRequest(line);
  EXPECT_TRUE(absl::IsInvalidArgument(request.status())) << line;
  return std::string(request.status().message());
}

TEST(ControlMessage, ARequestComesBack) {
  const std::string line = EncodeRequest("capture.stop", {{"name", "x\ny"}});
  EXPECT_EQ(line.find('\n'), line.size() - 1) << "one line";
  const auto request = ParseRequest(std::string_view(line).substr(0, line.size() - 1));
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->name, "capture.stop");
  EXPECT_EQ(request->arguments["name"], "x\ny");
}

TEST(ControlMessage, ArgumentsMayBeMissing) {
  const auto request = ParseRequest(R"({"stackray":1,"request":"status"})");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_TRUE(request->arguments.is_object());
}

TEST(ControlMessage, WhatIsNoRequestIsSaid) {
  for (const char* line : {"", "status", "[]", "{", "null", "\xff\xfe", "{\"stackray\":1}x"})
    EXPECT_NE(ErrorOf(line), "") << line;
  EXPECT_THAT(ErrorOf(R"({"request":"status"})"), HasSubstr("stackray"));
  EXPECT_THAT(ErrorOf(R"({"stackray":2,"request":"status"})"), HasSubstr("version 2"));
  EXPECT_THAT(ErrorOf(R"({"stackray":1})"), HasSubstr("name"));
  EXPECT_THAT(ErrorOf(R"({"stackray":1,"request":""})"), HasSubstr("name"));
  EXPECT_THAT(ErrorOf(R"({"stackray":1,"request":7})"), HasSubstr("name"));
  EXPECT_THAT(ErrorOf(R"({"stackray":1,"request":"x","arguments":[]})"), HasSubstr("arguments"));
}

TEST(ControlMessage, DeepNestingIsRefused) {
  const std::string deep = std::string(30'000, '[') + std::string(30'000, ']');
  ErrorOf(R"({"stackray":1,"request":"x","arguments":{"a":)" + deep + "}}");
}

TEST(ControlMessage, AnAnswerComesBack) {
  const auto good = ParseAnswer(EncodeAnswer(nlohmann::ordered_json({{"samples", 7}})));
  ASSERT_TRUE(good.ok());
  EXPECT_EQ((*good)["samples"], 7);
  const auto bad = ParseAnswer(EncodeAnswer(absl::NotFoundError("no capture is named x")));
  EXPECT_EQ(bad.status(), absl::NotFoundError("no capture is named x"));
}

TEST(ControlMessage, TextThatIsNotUtf8StillMakesALine) {
  const std::string line = EncodeAnswer(nlohmann::ordered_json({{"name", "\xff\xc3"}}));
  const auto back = ParseAnswer(line);
  ASSERT_TRUE(back.ok()) << line;
}

TEST(ControlMessage, DamagedAnswersAreAnError) {
  for (const char* line : {"", "{}", "[1]", R"({"ok":1})", R"({"ok":"true"})", "{\"ok\":true"})
    EXPECT_TRUE(absl::IsUnavailable(ParseAnswer(line).status())) << line;
}

TEST(ControlMessage, DamagedRequestsDoNoHarm) {
  const std::string whole =
      EncodeRequest("capture", {{"targets", {1, 2, 3}}, {"types", {"cpu", "off-cpu"}}});
  std::mt19937 random(7);
  int understood = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::string line = whole.substr(0, random() % (whole.size() + 1));
    for (unsigned n = random() % 4; n > 0 && !line.empty(); --n)
      line[random() % line.size()] = static_cast<char>(random());
    understood += ParseRequest(line).ok() ? 1 : 0;
  }
  EXPECT_LT(understood, 10'000);
}

}  // namespace
}  // namespace stackray
