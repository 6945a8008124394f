#include "agent/web_server/request_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stackray {
namespace {

using testing::HasSubstr;

TEST(RequestGuard, AcceptsGzip) {
  for (const char* yes :
       {"gzip", "deflate, gzip", "br,gzip;q=0.5", "GZIP", "gzip ; q=1.0", "identity,\tgzip"})
    EXPECT_TRUE(AcceptsGzip(yes)) << yes;
  for (const char* no :
       {"", "br", "gzip;q=0", "gzip; q=0.000", "gzipped", "x-gzip", "*", ",,,", ";q=1"})
    EXPECT_FALSE(AcceptsGzip(no)) << no;
}

TEST(RequestGuard, NothingIsHiddenBehindAZeroByte) {
  EXPECT_TRUE(IsLocalHost("127.0.0.1:80"));
  EXPECT_FALSE(IsLocalHost(std::string_view("127.0.0.1\0.evil.example:80", 26)));
}

TEST(RequestGuard, ThePolicyNamesEachInlineScript) {
  const std::string hash = "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='";
  const std::string script = "alert('Hello, world.');";
  EXPECT_THAT(ContentSecurityPolicy("<script>" + script + "</script>"),
              HasSubstr("script-src " + hash + ";"));
  EXPECT_THAT(ContentSecurityPolicy("<SCRIPT type=\"module\">" + script + "</Script>"),
              HasSubstr(hash));
  const std::string two =
      ContentSecurityPolicy("<script>1</script>\n<script>" + script + "</script>");
  EXPECT_THAT(two, HasSubstr("script-src 'sha256-"));
  EXPECT_THAT(two, HasSubstr(" " + hash + ";"));
  for (const char* none : {"", "<p>", "<script src=x></script>", "<script>never ended", "<script"})
    EXPECT_THAT(ContentSecurityPolicy(none), HasSubstr("script-src 'none';")) << none;
  EXPECT_THAT(two, testing::Not(HasSubstr("script-src 'unsafe-inline'")));
  EXPECT_THAT(
      ContentSecurityPolicy("<script type=\"application/octet-stream\" id=\"x\">H4sI</script>"
                            "<script>" +
                            script + "</script>"),
      HasSubstr("script-src " + hash + ";"));
}

}  // namespace
}  // namespace stackray
