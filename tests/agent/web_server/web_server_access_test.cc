// Who may read the page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "agent/web_server/web_server.h"
#include "tests/agent/web_server/web_client.h"

namespace stackray {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

constexpr char kToken[] = "aB3-_567890123456789";

class Access : public testing::Test {
 protected:
  std::string Get(const std::string& path, const std::string& headers = "") {
    return GetRaw(server_->port(), path, headers);
  }
  std::string CookieLine(const std::string& value) {
    return "Cookie: other=1; " + SessionCookie() + "=" + value + "\r\n";
  }
  std::string SessionCookie() { return "stackray-session-" + std::to_string(server_->port()); }
  // The id of a session that the printed address begins; empty: none was begun.
  std::string Begin(const std::string& token = kToken, const std::string& headers = "") {
    const std::string answer = Get("/?token=" + token, headers);
    const std::string before = "Set-Cookie: " + SessionCookie() + "=";
    const size_t at = answer.find(before);
    if (at == std::string::npos) return "";
    const size_t begin = at + before.size();
    return answer.substr(begin, answer.find(';', begin) - begin);
  }
  FakeSource source_;
  const std::unique_ptr<WebServer> server_ = StartAnywhere(source_, "the page", kToken);
};

TEST_F(Access, WithoutTheTokenNothingOfTheProfileIsThere) {
  const std::string almost = std::string(kToken).substr(1);
  for (const char* path : {"/", "/api/profile", "/api/status", "/api/profile?from_ms=1&to_ms=2"}) {
    for (const std::string& headers :
         {std::string(), CookieLine("x"), CookieLine(""), CookieLine(almost),
          CookieLine(std::string(kToken) + "x"),
          "Cookie: stackray-1=" + std::string(kToken) + "\r\n", CookieLine(kToken),
          std::string("Authorization: Bearer x\r\n"), "Authorization: " + almost + "\r\n"}) {
      const std::string answer = Get(path, headers);
      EXPECT_THAT(answer, StartsWith("HTTP/1.1 401 ")) << path << headers;
      EXPECT_THAT(answer, Not(HasSubstr("the page")));
      EXPECT_THAT(answer, Not(HasSubstr("version\"")));
      EXPECT_THAT(answer, Not(HasSubstr("Set-Cookie")));
      EXPECT_THAT(answer, Not(HasSubstr(kToken)));
    }
  }
  EXPECT_EQ(source_.profiles, 0);
  for (const char* query : {"?token=", "?token=x", "?token", "?Token=aB3-_567890123456789",
                            "?token=aB3-_56789012345678", "?token=aB3-_5678901234567890"})
    EXPECT_THAT(Get(std::string("/") + query), StartsWith("HTTP/1.1 401 ")) << query;
}

TEST_F(Access, ThePrintedAddressBeginsASessionWhoseCookieGoesOn) {
  const std::string url = server_->page_url();
  EXPECT_EQ(url, server_->url() + "?token=" + kToken);
  const std::string answer = Get("/?token=" + std::string(kToken));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(answer, HasSubstr("the page"));
  EXPECT_THAT(answer,
              MatchesRegex("(.|\n)*Set-Cookie: " + SessionCookie() +
                           "=[A-Za-z0-9_-]{32}; Path=/; HttpOnly; SameSite=Strict\r\n(.|\n)*"));
  const std::string session = Begin();
  EXPECT_NE(session, Begin());
  for (const char* path : {"/", "/api/profile", "/api/status"}) {
    const std::string by_cookie = Get(path, CookieLine(session));
    EXPECT_THAT(by_cookie, StartsWith("HTTP/1.1 200 OK")) << path;
    EXPECT_THAT(by_cookie, Not(HasSubstr("Set-Cookie")));
    EXPECT_THAT(Get(path, "authorization: bearer " + std::string(kToken) + "\r\n"),
                StartsWith("HTTP/1.1 200 OK"));
  }
}

// Who listens on this port, or on another one, while a browser sends its cookies there.
TEST_F(Access, NoAnswerPutsTheTokenIntoACookie) {
  for (const std::string& headers :
       {std::string(), CookieLine(kToken), CookieLine("x"),
        "Cookie: stackray-" + std::to_string(server_->port()) + "=" + kToken + "\r\n"})
    for (const char* path : {"/?token=aB3-_567890123456789", "/", "/reports", "/api/status"})
      EXPECT_THAT(Get(path, headers), Not(HasSubstr(kToken))) << path << headers;
}

TEST_F(Access, ASessionThatGoesOnIsNotBegunAgain) {
  const std::string session = Begin();
  EXPECT_EQ(Begin(kToken, CookieLine(session)), "");
  EXPECT_EQ(Begin(kToken, CookieLine("x")).size(), session.size());
}

// The cookie of an earlier release held the token.
TEST_F(Access, TheTokenInAnOldCookieOpensNothingAndIsTakenAway) {
  const std::string name = "stackray-" + std::to_string(server_->port());
  const std::string old = "Cookie: " + name + "=" + kToken + "\r\n";
  const std::string expired =
      "Set-Cookie: " + name + "=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict\r\n";
  const std::string refused = Get("/", old);
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(refused, HasSubstr(expired));
  const std::string opened = Get("/?token=" + std::string(kToken), old);
  EXPECT_THAT(opened, HasSubstr(expired));
  EXPECT_THAT(opened, HasSubstr("Set-Cookie: " + SessionCookie() + "="));
}

// As after a restart: the port and the token are the same, the session is not known.
TEST_F(Access, ASessionEndsWithItsServerAndATabSaysHowToGoOn) {
  const std::string session = Begin();
  const uint16_t port = server_->port();
  server_->Stop();
  WebServerSettings settings;
  settings.port = port;
  settings.page_token = kToken;
  const auto next = WebServer::Start(settings, "the page", source_);
  ASSERT_TRUE(next.ok()) << next.status();
  if ((*next)->port() != port) GTEST_SKIP() << "another process has taken the port";
  for (const char* path : {"/", "/reports", "/reports/page?name=x"}) {
    const std::string answer = Get(path, CookieLine(session));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 401 ")) << path;
    EXPECT_THAT(answer, HasSubstr("Content-Type: text/html"));
    EXPECT_THAT(answer, HasSubstr("stackray agent --status"));
    EXPECT_THAT(answer, HasSubstr("session has ended"));
  }
  EXPECT_THAT(Get("/api/status", CookieLine(session)), StartsWith("HTTP/1.1 401 "));
}

TEST_F(Access, NumbersAreOpen) {
  EXPECT_THAT(Get("/metrics"), HasSubstr("stackray_up 1"));
  EXPECT_THAT(Get("/healthz"), HasSubstr("ok\n"));
  EXPECT_THAT(Get("/nothing"), StartsWith("HTTP/1.1 404 "));
}

TEST_F(Access, TheTokenCanChange) {
  const std::string session = Begin();
  server_->SetPageToken(kToken);  // As a reload does.
  EXPECT_THAT(Get("/", CookieLine(session)), StartsWith("HTTP/1.1 200 "));
  server_->SetPageToken("another-token-4567");
  EXPECT_THAT(Get("/", CookieLine(session)), StartsWith("HTTP/1.1 401 "));
  EXPECT_EQ(Begin(), "");
  EXPECT_THAT(Get("/", CookieLine(Begin("another-token-4567"))), StartsWith("HTTP/1.1 200 "));
  server_->SetPageToken("");
  EXPECT_THAT(Get("/"), HasSubstr("the page"));
  EXPECT_EQ(server_->page_url(), server_->url());
}

TEST_F(Access, ARightTokenDoesNotHelpAForeignName) {
  EXPECT_THAT(Exchange(server_->port(), "GET / HTTP/1.1\r\nHost: evil.example:80\r\n" +
                                            CookieLine(Begin()) + "Connection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 403 "));
}

// Other hosts reach it, under names that are not known here.
TEST(AccessFromElsewhere, OnlyWithAToken) {
  FakeSource source;
  WebServerSettings settings;
  settings.host = "0.0.0.0";
  settings.port = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(WebServer::Start(settings, "", source).status()));
  settings.page_token = kToken;
  const auto server = WebServer::Start(settings, "the page", source);
  ASSERT_TRUE(server.ok()) << server.status();
  const uint16_t port = (*server)->port();
  const auto get = [&](const std::string& path, const std::string& host) {
    return Exchange(port, "GET " + path + " HTTP/1.0\r\nHost: " + host + "\r\n\r\n");
  };
  EXPECT_THAT(get("/", "build-host.example:80"), StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(get("/?token=" + std::string(kToken), "build-host.example"), HasSubstr("the page"));
  EXPECT_THAT(get("/metrics", "prometheus.example"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(get("/api/status", "127.0.0.1:1"), StartsWith("HTTP/1.1 401 "));
  const std::string address = ":" + std::to_string(port) + "/?token=" + kToken;
  EXPECT_EQ((*server)->page_url(), "http://127.0.0.1" + address);
  EXPECT_EQ((*server)->FromElsewhere("build-host", true),
            "from another machine, in clear text: http://build-host" + address);
}

}  // namespace
}  // namespace stackray
