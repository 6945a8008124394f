#include "reporter/formats/html.h"

#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "reporter/formats/gzip.h"
#include "reporter/formats/text.h"

namespace stackray {
namespace {

constexpr std::string_view kElement =
    "<script type=\"application/octet-stream\" id=\"stackray-data\">";

// The JSON inside a page.
std::string DataOf(const std::string& html) {
  const size_t start = html.find(kElement) + kElement.size();
  std::string compressed;
  const std::string base64 = html.substr(start, html.find("</script>", start) - start);
  EXPECT_TRUE(absl::Base64Unescape(base64, &compressed)) << base64;
  return *GzipExpand(compressed, 1 << 20);
}

TEST(HtmlPage, ReplacesTheMarkerAndTheTitle) {
  const auto html = HtmlPage(
      "<html><head><title>stackray</title></head><body><!--stackray-data--><p></body></html>",
      R"({"a":1})", "record of a & b");
  ASSERT_TRUE(html.ok()) << html.status();
  EXPECT_TRUE(html->starts_with("<html><head><title>record of a &amp; b</title></head><body>" +
                                std::string(kElement)));
  EXPECT_TRUE(html->ends_with("</script><p></body></html>"));
  EXPECT_EQ(DataOf(*html), R"({"a":1})");
}

TEST(HtmlPage, OnlyTheFirstMarkerIsReplaced) {
  const auto html = HtmlPage("<!--stackray-data-->x<!--stackray-data-->", "{}", "");
  ASSERT_TRUE(html.ok());
  EXPECT_TRUE(html->ends_with("</script>x<!--stackray-data-->"));
  EXPECT_EQ(html->find(kElement), 0u);
  EXPECT_EQ(html->find(kElement, 1), std::string::npos);
}

TEST(HtmlPage, TitleBehindTheDataAndTitleThatLooksLikeTheMarker) {
  const auto html = HtmlPage("<!--stackray-data--><title>x</title>", "{}", "<!--stackray-data-->");
  ASSERT_TRUE(html.ok());
  EXPECT_TRUE(html->ends_with("</script><title>&lt;!--stackray-data--&gt;</title>"));
  const auto before = HtmlPage("<title>x</title><!--stackray-data-->", "{}", "</title><script>");
  ASSERT_TRUE(before.ok());
  EXPECT_TRUE(before->starts_with("<title>&lt;/title&gt;&lt;script&gt;</title><script type="));
}

TEST(HtmlPage, HostileDataCannotLeaveItsElement) {
  std::string json;
  AppendJsonString("</script><script>alert(1)</script><!--", &json);
  const auto html = HtmlPage("a<!--stackray-data-->b", json, "");
  ASSERT_TRUE(html.ok());
  EXPECT_EQ(html->find("alert"), std::string::npos);
  EXPECT_EQ(DataOf(*html), json);
}

TEST(HtmlPage, TemplateWithoutMarkerIsRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(HtmlPage("<html></html>", "{}", "t").status()));
}

}  // namespace
}  // namespace stackray
