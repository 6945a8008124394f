#include "reporter/page/page_question.h"

#include <gtest/gtest.h>

#include "reporter/page/page_keys.h"

namespace stackray {
namespace {

TEST(PageQuestion, SaysWhatIsAsked) {
  const absl::StatusOr<PageQuestion> question = ParsePageQuestion(
      "from_ms=1000&to_ms=61000&type=off_cpu&by=container&processes=1+init&processes=7+a%26b&"
      "threads=&fold=1&inverted=0&order=total&rows=7&width=0&query=%2Fa.b%2F&zoom=2s&other=1");
  ASSERT_TRUE(question.ok()) << question.status();
  EXPECT_EQ(question->from_ms, 1000);
  EXPECT_EQ(question->to_ms, 61000);
  EXPECT_EQ(question->type, "off_cpu");
  EXPECT_EQ(question->grouping, PageGrouping::kContainer);
  EXPECT_EQ(question->processes, (PageQuestion::Texts{"1 init", "7 a&b"}));
  EXPECT_EQ(question->threads, PageQuestion::Texts{""});
  EXPECT_TRUE(question->fold);
  EXPECT_FALSE(question->inverted);
  EXPECT_EQ(question->order, PageOrder::kTotal);
  EXPECT_EQ(question->rows, 7u);
  EXPECT_EQ(question->width, 0u);
  EXPECT_EQ(question->query, "/a.b/");
  EXPECT_EQ(question->zoom, "2s");
}

TEST(PageQuestion, WhatIsNoneIsRefused) {
  for (const char* words :
       {"", "from_ms=2&to_ms=1", "from_ms=1&to_ms=2&rows=x", "from_ms=1&to_ms=2&width=-1",
        "from_ms=1&to_ms=2&by=colour", "from_ms=1&to_ms=99999999999999999999",
        "from_ms=1&to_ms=2&rows=1000000", "from_ms=1e3&to_ms=9"})
    EXPECT_TRUE(absl::IsInvalidArgument(ParsePageQuestion(words).status())) << words;
}

// The values are those of web/src/model/path.ts (web/test/path.test.ts has them too).
TEST(PageKeys, AreThoseOfThePage) {
  EXPECT_EQ(KeyText(MixKey("native main app", 0)), "fnj7dhx85s");
  EXPECT_EQ(KeyText(MixKey("", 0)), "udntgy60fl");
  EXPECT_EQ(KeyText(MixKey("cpython größe 😀.py", 0)), "b6s2yelvhb");
  EXPECT_EQ(KeyText(StepKey(MixKey("native main app", 0), MixKey("group web", 0))), "604w9atw1c");
  for (const uint64_t key : {uint64_t{1}, uint64_t{35}, uint64_t{36}, (uint64_t{1} << 53) - 1})
    EXPECT_EQ(ReadKey(KeyText(key)), key);
  EXPECT_EQ(ReadKey("zzzzzzzzzzzzzz"), 0u);
  EXPECT_EQ(ReadKey("A"), 0u);
}

TEST(PageQuestion, RequestsAreIdsOrLabels) {
  const auto question = ParsePageQuestion(
      "from_ms=1&to_ms=2&requests=trace_id%3D4BF92F3577B34DA6A3CE929D0E0E4736&requests=route%3D%"
      "2Fa");
  ASSERT_TRUE(question.ok()) << question.status();
  EXPECT_EQ(question->requests.size(), 2u);
  EXPECT_EQ(RequestCondition("trace_id=4BF92F3577B34DA6A3CE929D0E0E4736")->value,
            "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(RequestCondition("route=/a")->key, "route");
  for (const char* by : {"trace", "span", "label%3Ahttp.route"}) {
    const auto grouped = ParsePageQuestion(std::string("from_ms=1&to_ms=2&by=") + by);
    ASSERT_TRUE(grouped.ok()) << grouped.status();
    EXPECT_EQ(grouped->grouping, PageGrouping::kNone);
    EXPECT_FALSE(grouped->by_request.empty());
  }
  EXPECT_FALSE(ParsePageQuestion("from_ms=1&to_ms=2&by=label%3A").ok());
  for (const char* wrong : {"trace_id%3D1", "span_id%3D", "route", "%3Dx", ""})
    EXPECT_FALSE(ParsePageQuestion(std::string("from_ms=1&to_ms=2&requests=") + wrong).ok())
        << wrong;
}

}  // namespace
}  // namespace stackray
