// Pages of others: their data are taken, and nothing else.
#include "reporter/formats/page_block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "reporter/formats/gzip.h"
#include "reporter/formats/html.h"
#include "reporter/formats/text.h"

namespace stackray {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kTemplate = "<title>t</title><!--stackray-data--><script>ours</script>";
constexpr std::string_view kOpen = "<script type=\"application/octet-stream\" id=\"stackray-data\"";

absl::StatusOr<PackedPageData> Take(std::string_view html, size_t part = 1 << 20,
                                    size_t most = 1 << 20) {
  PageBlockReader reader(most);
  for (; !html.empty(); html.remove_prefix(std::min(part, html.size())))
    if (absl::Status status = reader.Add(html.substr(0, part)); !status.ok()) return status;
  return reader.Finish();
}

std::string Packed(std::string_view json) { return absl::Base64Escape(*GzipCompress(json)); }

TEST(PageBlock, TheDataOfAPageAreTakenWhateverItsParts) {
  const std::string html = *HtmlPage(kTemplate, R"({"a":1})", "x");
  for (const size_t part : {size_t{1}, size_t{2}, size_t{7}, size_t{17}, size_t{64}, html.size()}) {
    const auto data = Take(html, part);
    ASSERT_TRUE(data.ok()) << part << data.status();
    EXPECT_EQ(*GzipExpand(data->gzip, 100), R"({"a":1})");
    EXPECT_EQ(*HtmlPageOfPacked(kTemplate, *data, "x"), html);
  }
}

// As the page's own export writes it: with what it opens with, and a line's end.
TEST(PageBlock, WhatItOpensWithStays) {
  const std::string html =
      Concat(kOpen, " data-view=\"zoom=main&amp;hidden=kernel\">\n", Packed("{}"), "\n</script>");
  const auto data = Take(html, 5);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->view, "zoom=main&amp;hidden=kernel");
  EXPECT_THAT(*HtmlPageOfPacked(kTemplate, *data, "x"),
              HasSubstr("id=\"stackray-data\" data-view=\"zoom=main&amp;hidden=kernel\">"));
}

TEST(PageBlock, NothingAroundTheDataIsTaken) {
  const std::string evil = "<script>evil()</script><img src=x onerror=evil()>";
  for (const std::string& view :
       {std::string(), std::string(" data-view=\"a'b\""), std::string(" data-view='evil()'"),
        std::string(" onload=evil() data-view=\"<evil\""), std::string(" data-view=\"evil\nb\"")}) {
    const std::string html = Concat("<!doctype html><title>evil</title>", evil, kOpen, view, ">",
                                    Packed("{}"), "</script>", evil, kOpen, ">evil</script>");
    const auto data = Take(html);
    ASSERT_TRUE(data.ok()) << view << data.status();
    const std::string page = *HtmlPageOfPacked(kTemplate, *data, "x");
    EXPECT_THAT(page, Not(HasSubstr("evil"))) << view;
    const auto clean = Take(Concat(kOpen, ">", Packed("{}"), "</script>"));
    EXPECT_EQ(page, *HtmlPageOfPacked(kTemplate, *clean, "x"));
  }
}

TEST(PageBlock, DamagedDataSaySo) {
  const auto with = [](std::string_view data, std::string_view end = "</script>") {
    return Take(Concat(kOpen, ">", data, end)).status();
  };
  const std::string packed = Packed("{\"a\":1}");
  EXPECT_TRUE(absl::IsNotFound(Take("<!doctype html><p>hello").status()));
  EXPECT_TRUE(absl::IsNotFound(Take("").status()));
  for (const absl::Status& status :
       {with(packed, ""), with("", ""), with(""), with("?"), with("alert(1)"), with("AAAA"),
        with(packed.substr(0, packed.size() / 2 / 4 * 4)), with(Packed("[1]")), with(Packed("")),
        with(Concat(packed, "AAAA")), Take(kOpen).status(),
        Take(Concat(kOpen, std::string(100'000, ' '), ">", packed, "<")).status()})
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(with("alert(1)").message()), HasSubstr("no base64"));
}

TEST(PageBlock, WhatIsLongerThanItMayBeIsRefused) {
  std::string random;
  for (uint32_t i = 1; random.size() < 100'000; i = i * 1664525 + 1013904223)
    random += static_cast<char>(i >> 24);
  const std::string html = Concat(kOpen, ">", absl::Base64Escape(Concat("x", random)), "</script>");
  EXPECT_TRUE(absl::IsResourceExhausted(Take(html, 4096, 90'000).status()));
  EXPECT_TRUE(absl::IsDataLoss(Take(html, 4096, 200'000).status()));
}

}  // namespace
}  // namespace stackray
