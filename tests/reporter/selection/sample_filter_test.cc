// Which words make a condition, and which samples meet it.
#include "reporter/formats/sample_filter.h"

#include <gtest/gtest.h>

#include <string>

#include "reporter/formats/sample_grouping.h"

namespace stackray {
namespace {

constexpr char kTrace[] = "0af7651916cd43dd8448eb211c80319c", kSpan[] = "b7ad6b7169203331";

WalkedSample Sample(const std::string& trace, const std::string& span) {
  WalkedSample sample;
  sample.trace_id = trace;
  sample.span_id = span;
  sample.events = 1;
  return sample;
}

TEST(SampleFilter, WordsOfIdsAreHexadecimalAndNotZero) {
  EXPECT_EQ(TraceCondition(kTrace), (SampleCondition{"trace_id", kTrace}));
  EXPECT_EQ(TraceCondition("0AF7651916CD43DD8448EB211C80319C"), TraceCondition(kTrace));
  EXPECT_EQ(SpanCondition(kSpan), (SampleCondition{"span_id", kSpan}));
  for (const char* bad : {"", "0af7", "0af7651916cd43dd8448eb211c80319g",
                          "0af7651916cd43dd8448eb211c80319c0", "00000000000000000000000000000000"})
    EXPECT_FALSE(TraceCondition(bad)) << bad;
  for (const char* bad : {"", kTrace, "0000000000000000", "b7ad6b716920333"})
    EXPECT_FALSE(SpanCondition(bad)) << bad;
}

TEST(SampleFilter, WordsOfLabelsHaveAName) {
  EXPECT_EQ(LabelCondition("route=/a=b"), (SampleCondition{"route", "/a=b"}));
  EXPECT_EQ(LabelCondition("route="), (SampleCondition{"route", ""}));
  for (const char* bad : {"", "=", "=x", "route"}) EXPECT_FALSE(LabelCondition(bad)) << bad;
}

TEST(SampleFilter, IdsAreThoseOfTheLink) {
  const std::string trace("\x0a\xf7\x65\x19\x16\xcd\x43\xdd\x84\x48\xeb\x21\x1c\x80\x31\x9c"),
      span("\xb7\xad\x6b\x71\x69\x20\x33\x31");
  const WalkedSample sample = Sample(trace, span);
  EXPECT_TRUE(SampleFilter({*TraceCondition(kTrace)}).Wants(sample));
  EXPECT_TRUE(SampleFilter({*TraceCondition(kTrace), *SpanCondition(kSpan)}).Wants(sample));
  EXPECT_FALSE(SampleFilter({*SpanCondition("b7ad6b7169203332")}).Wants(sample));
  EXPECT_FALSE(SampleFilter({*TraceCondition(kTrace)}).Wants(Sample("", "")));
  EXPECT_FALSE(SampleFilter({*TraceCondition(kTrace)}).Wants(Sample("\x0a\xf7", span)));
  EXPECT_TRUE(SampleFilter().Wants(Sample("", "")));
}

TEST(SampleFilter, LabelsByTheirNameOrAsWholeAttributes) {
  WalkedSample sample;
  sample.attributes = {{"process.context.label.route", "/a", 0}, {"other", "x", 0}, {"n", "", 7}};
  const auto wants = [&](const char* text) {
    return SampleFilter({*LabelCondition(text)}).Wants(sample);
  };
  for (const char* text : {"route=/a", "process.context.label.route=/a", "other=x", "n=7"})
    EXPECT_TRUE(wants(text)) << text;
  for (const char* text : {"route=/b", "route=", "rout=/a", "label.route=/a", "n=", "n=07", "n=8",
                           "other=", "missing="})
    EXPECT_FALSE(wants(text)) << text;
  EXPECT_TRUE(SampleFilter({*LabelCondition("route=/a"), *LabelCondition("n=7")}).Wants(sample));
  EXPECT_FALSE(SampleFilter({*LabelCondition("route=/a"), *LabelCondition("n=8")}).Wants(sample));
  sample.attributes = {{"process.context.label.empty", "", 0}};
  EXPECT_TRUE(wants("empty="));
}

TEST(SampleGrouping, WordsAndGroups) {
  for (const char* bad : {"", "traces", "label", "label:", "pid"})
    EXPECT_FALSE(SampleGrouping::Parse(bad)) << bad;
  WalkedResource resource;
  resource.service = "shop";
  const std::string trace("\x0a\xf7\x65\x19\x16\xcd\x43\xdd\x84\x48\xeb\x21\x1c\x80\x31\x9c");
  WalkedSample sample = Sample(trace, "");
  sample.thread_name = "worker\xff";
  sample.attributes = {{"process.context.label.route", "/a", 0}, {"n", "", 7}};
  const auto group = [&](const char* word) {
    return SampleGrouping::Parse(word)->GroupOf(resource, sample);
  };
  EXPECT_EQ(group("trace"), std::string("trace=") + kTrace);
  EXPECT_EQ(group("span"), "[no span]");
  EXPECT_EQ(group("service"), "service=shop");
  EXPECT_EQ(group("container"), "[no container]");
  EXPECT_EQ(group("thread"), "thread=worker\xEF\xBF\xBD");
  EXPECT_EQ(group("label:route"), "route=/a");
  EXPECT_EQ(group("label:n"), "n=7");
  EXPECT_EQ(group("label:other"), "[no other]");
}

}  // namespace
}  // namespace stackray
