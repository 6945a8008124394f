// The page inside a report or a file is this release's own around the data.
#include "agent/reports/report_page.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "agent/reports/archive_writer.h"
#include "reporter/formats/gzip.h"
#include "reporter/formats/html.h"
#include "tests/temporary_directory.h"
#include "web/web_page.h"

namespace stackray {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Evil(std::string_view json) {
  return fmt::format(
      "<!doctype html><html><script>evil()</script>"
      "<script type=\"application/octet-stream\" id=\"stackray-data\">{}</script>"
      "<script>evil()</script></html>",
      absl::Base64Escape(*GzipCompress(json, 9)));
}

class ReportPage : public testing::Test {
 protected:
  std::string Archive(const std::vector<std::pair<std::string, std::string>>& entries) {
    auto archive = ArchiveWriter::Create(directory_.path(), "r.tar.zst");
    EXPECT_TRUE(archive.ok()) << archive.status();
    for (const auto& [name, text] : entries) EXPECT_TRUE((*archive)->AddText(name, text, 0).ok());
    EXPECT_TRUE((*archive)->Commit().ok());
    return directory_.File("r.tar.zst");
  }
  const test::TemporaryDirectory directory_;
};

TEST_F(ReportPage, NoScriptOfAFileIsInItsPage) {
  const std::string path = directory_.Write("evil.html", Evil("{\"a\":1}"));
  const auto page = PageOfPageFile(path);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(*page, *HtmlPage(WebPage(), "{\"a\":1}", path));
  const auto report = PageOfReport(Archive({{"profile-now.html", Evil("{\"b\":2}")}}));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(*report, *HtmlPage(WebPage(), "{\"b\":2}", "r"));
  EXPECT_THAT(*report, Not(HasSubstr("evil")));
}

TEST_F(ReportPage, ThePageOfNowComesFirst) {
  const std::string before = Evil("{\"before\":1}"), now = Evil("{\"now\":1}");
  const std::string page = *HtmlPage(WebPage(), "{\"now\":1}", "r");
  EXPECT_EQ(*PageOfReport(Archive({{"profile-before.html", before}, {"profile-now.html", now}})),
            page);
  EXPECT_EQ(*PageOfReport(Archive({{"profile-now.html", now}, {"profile-before.html", before}})),
            page);
  EXPECT_EQ(
      *PageOfReport(Archive({{"profile-before.html", before}, {"x.html", now}, {"a.txt", now}})),
      *HtmlPage(WebPage(), "{\"before\":1}", "r"));
}

TEST_F(ReportPage, WhatIsNoneSaysSo) {
  EXPECT_TRUE(absl::IsNotFound(PageOfReport(directory_.File("none")).status()));
  EXPECT_TRUE(absl::IsNotFound(PageOfReport(Archive({{"a.txt", Evil("{}")}})).status()));
  EXPECT_TRUE(absl::IsNotFound(PageOfReport(Archive({{"a.html", "<p>hello"}})).status()));
  EXPECT_TRUE(absl::IsDataLoss(PageOfReport(Archive({{"a.html", Evil("[")}})).status()));
  EXPECT_TRUE(absl::IsDataLoss(PageOfReport(directory_.Write("x", "no archive")).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      PageOfPageFile(directory_.Write("a.html", "<!doctype html><p>hello")).status()));
  EXPECT_TRUE(absl::IsNotFound(PageOfPageFile(directory_.File("none")).status()));
}

// 64 MiB of zeros are some KiB there; base64 of zeros is text that compresses as well.
TEST_F(ReportPage, DataLongerThanTheReportMayHaveAreRefused) {
  const std::string zeros(64 << 20, '\0');
  EXPECT_TRUE(absl::IsNotFound(PageOfReport(Archive({{"profile-now.html", zeros}})).status()));
  const std::string base64 = "<script type=\"application/octet-stream\" id=\"stackray-data\">" +
                             std::string(64 << 20, 'A') + "</script>";
  EXPECT_TRUE(
      absl::IsResourceExhausted(PageOfReport(Archive({{"profile-now.html", base64}})).status()));
}

}  // namespace
}  // namespace stackray
