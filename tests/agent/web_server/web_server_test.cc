// What a browser gets.
#include "agent/web_server/web_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <unistd.h>

#include <thread>

#include "agent/web_server/profile_cache.h"
#include "tests/agent/web_server/web_client.h"

namespace stackray {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr char kPage[] = "<html><script>alert('Hello, world.');</script></html>";

class Web : public testing::Test {
 protected:
  FakeSource source_;
  const std::unique_ptr<WebServer> server_ = StartAnywhere(source_, kPage);
  httplib::Client client_{"127.0.0.1", server_->port()};
};

TEST_F(Web, ServesEachAddressWithItsType) {
  const struct {
    const char *path, *type, *body;
  } cases[] = {
      {"/", "text/html; charset=utf-8", kPage},
      {"/api/profile?from_ms=1&to_ms=2", "application/json", "{\"from\":1,\"to\":2}"},
      {"/api/status", "application/json", "{\"version\":\"test\"}"},
      {"/metrics", "text/plain; version=0.0.4; charset=utf-8", "stackray_up 1\n"},
      {"/healthz", "text/plain; charset=utf-8", "ok\n"},
  };
  for (const auto& each : cases) {
    const auto answer = client_.Get(each.path);
    ASSERT_TRUE(answer) << each.path;
    EXPECT_EQ(answer->status, 200) << each.path;
    EXPECT_EQ(answer->body, each.body);
    EXPECT_EQ(answer->get_header_value("Content-Type"), each.type);
    const auto head = client_.Head(each.path);
    ASSERT_TRUE(head);
    EXPECT_EQ(head->status, 200);
    EXPECT_EQ(head->get_header_value("Content-Length"), std::to_string(strlen(each.body)));
    EXPECT_EQ(head->body, "");
  }
  EXPECT_EQ(client_.Get("/nothing")->status, 404);
  EXPECT_EQ(client_.Get("/../../etc/passwd")->status, 404);
  // An answer is counted after it is sent.
  for (int i = 0; i < 1000 && server_->statistics().requests < 12; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(server_->statistics().requests, 12u);
  EXPECT_EQ(server_->statistics().refused, 2u);
}

TEST_F(Web, EveryAnswerCarriesTheSecurityHeaders) {
  source_.profile = [](auto...) { return absl::InternalError("broken \"quote\"\r\n"); };
  for (const char* path :
       {"/", "/api/profile", "/api/status", "/metrics", "/healthz", "/nothing"}) {
    const auto answer = client_.Get(path);
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->get_header_value("X-Content-Type-Options"), "nosniff") << path;
    EXPECT_EQ(answer->get_header_value("X-Frame-Options"), "DENY");
    EXPECT_EQ(answer->get_header_value("Cache-Control"), "no-store");
    EXPECT_EQ(answer->get_header_value("Referrer-Policy"), "no-referrer");
    EXPECT_EQ(answer->get_header_value("Cross-Origin-Resource-Policy"), "same-origin");
    EXPECT_EQ(answer->get_header_value_count("Access-Control-Allow-Origin"), 0u);
    EXPECT_EQ(answer->get_header_value("Cross-Origin-Opener-Policy"), "same-origin");
    for (const char* rule : {"default-src 'none';", "connect-src 'self';", "base-uri 'none';",
                             "form-action 'none';", "frame-ancestors 'none'"})
      EXPECT_THAT(answer->get_header_value("Content-Security-Policy"), HasSubstr(rule)) << path;
    // This hash of this script is the example of the Content Security Policy's own documentation.
    EXPECT_THAT(answer->get_header_value("Content-Security-Policy"),
                HasSubstr("script-src 'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng=';"));
  }
  const auto failed = client_.Get("/api/profile");
  EXPECT_EQ(failed->status, 500);
  EXPECT_EQ(failed->body, "{\"error\":\"broken quote\"}");
}

TEST_F(Web, RangesOfTime) {
  EXPECT_EQ(client_.Get("/api/profile")->body, "{\"from\":1789999941000,\"to\":1790000001000}");
  EXPECT_EQ(client_.Get("/api/profile?to_ms=100000")->body, "{\"from\":40000,\"to\":100000}");
  EXPECT_EQ(client_.Get("/api/profile?from_ms=7")->body, "{\"from\":7,\"to\":1790000001000}");
  EXPECT_EQ(client_.Get("/api/profile?to_ms=5")->body, "{\"from\":0,\"to\":5}");
  for (const char* bad :
       {"from_ms=-1", "from_ms=x", "to_ms=", "from_ms=1e3", "from_ms=5&to_ms=5",
        "from_ms=6&to_ms=5", "to_ms=99999999999999999999", "to_ms=9007199254740993"}) {
    const auto answer = client_.Get(std::string("/api/profile?") + bad);
    EXPECT_EQ(answer->status, 400) << bad;
    EXPECT_THAT(answer->body, StartsWith("{\"error\":\""));
  }
}

TEST_F(Web, HealthAndErrors) {
  source_.health = absl::UnavailableError("ring buffer is gone");
  EXPECT_EQ(client_.Get("/healthz")->status, 503);
  EXPECT_EQ(client_.Get("/healthz")->body, "ring buffer is gone\n");
  source_.profile = [](auto...) -> absl::StatusOr<std::string> {
    throw std::runtime_error("secret");
  };
  const auto answer = client_.Get("/api/profile");
  EXPECT_EQ(answer->status, 500);
  EXPECT_THAT(answer->body, Not(HasSubstr("secret")));
}

TEST_F(Web, AnswersArePackedForWhoTakesIt) {
  const std::string text(100'000, 'x');
  source_.profile = [&](auto...) { return text; };
  const std::string plain = GetRaw(server_->port(), "/api/profile");
  EXPECT_THAT(plain, Not(HasSubstr("Content-Encoding")));
  EXPECT_THAT(plain, HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_EQ(client_.Get("/api/profile")->body, text);
  const std::string packed =
      GetRaw(server_->port(), "/api/profile", "Accept-Encoding: br, gzip\r\n");
  EXPECT_THAT(packed, HasSubstr("Content-Encoding: gzip\r\n"));
  EXPECT_THAT(packed, HasSubstr("Vary: Accept-Encoding\r\n"));
  EXPECT_THAT(packed, testing::ContainsRegex("Server-Timing: make;dur=[0-9]+\\.[0-9]\r\n"));
  EXPECT_LT(packed.size(), 3000u);
  client_.set_decompress(true);
  EXPECT_EQ(client_.Get("/api/profile", {{"Accept-Encoding", "gzip"}})->body, text);
  // The server's own mark cannot be forged.
  EXPECT_THAT(GetRaw(server_->port(), "/api/profile", "Stackray-Takes-Gzip: 1\r\n"),
              Not(HasSubstr("Content-Encoding")));
}

#ifdef __SANITIZE_THREAD__
constexpr size_t kLargeBytes = 2'000'000;  // A hundredth of the speed.
#else
constexpr size_t kLargeBytes = 24'000'000;
#endif

TEST_F(Web, LargeAnswersArriveWhole) {
  std::string text;
  for (int64_t i = 0; text.size() < kLargeBytes; ++i) text += std::to_string(i * 7919) + ",";
  source_.profile = [text](auto...) { return text; };
  client_.set_read_timeout(
      std::chrono::seconds(60));  // Packing it takes a while on a busy machine.
  for (const httplib::Headers& headers : {httplib::Headers{}, {{"Accept-Encoding", "gzip"}}}) {
    const auto answer = client_.Get("/api/profile?from_ms=1&to_ms=2", headers);
    ASSERT_TRUE(answer) << httplib::to_string(answer.error());
    EXPECT_TRUE(answer->body == text) << answer->body.size() << " bytes";
  }
}

TEST_F(Web, ManyAtOnceAreMadeOnce) {
  source_.profile = [](auto...) -> absl::StatusOr<std::string> {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return "{}";
  };
  std::atomic<int> right{0}, busy{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 24; ++i) {
    clients.emplace_back([&] {
      httplib::Client client("127.0.0.1", server_->port());
      for (int n = 0; n < 5; ++n) {
        const auto answer = client.Get("/api/profile?from_ms=1&to_ms=2");
        if (answer && answer->status == 200 && answer->body == "{}") ++right;
        if (answer && answer->status == 503) ++busy;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(right + busy, 120);
  EXPECT_GE(right, 1 + ProfileCache::kMostWaiting);  // The rest is told to come again at once.
  EXPECT_EQ(source_.most_at_once, 1);
  EXPECT_LE(source_.profiles, 4);
}

TEST(WebPorts, ABusyPortIsPassedOver) {
  FakeSource source;
  const auto first = StartAnywhere(source);
  WebServerSettings settings;
  settings.port = first->port();
  const auto second = WebServer::Start(settings, "second", source);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_GT((*second)->port(), first->port());
  EXPECT_EQ(httplib::Client("127.0.0.1", (*second)->port()).Get("/")->body, "second");
  EXPECT_EQ((*second)->url(), "http://127.0.0.1:" + std::to_string((*second)->port()) + "/");
  settings.ports_to_try = 1;
  const auto third = WebServer::Start(settings, "third", source);
  EXPECT_TRUE(absl::IsUnavailable(third.status()));
  EXPECT_THAT(std::string(third.status().message()), HasSubstr("Address already in use"));
}

TEST(WebPorts, OnlyTheLoopbackInterface) {
  FakeSource source;
  for (const char* host : {"0.0.0.0", "10.0.0.1", "::", "example.org", "", "128.0.0.1"}) {
    WebServerSettings settings;
    settings.host = host;
    EXPECT_TRUE(absl::IsInvalidArgument(WebServer::Start(settings, "", source).status())) << host;
  }
  WebServerSettings settings;
  settings.port = 0;
  for (const char* host : {"localhost", "127.0.0.2"}) {
    settings.host = host;
    const auto server = WebServer::Start(settings, "page", source);
    ASSERT_TRUE(server.ok()) << server.status();
    EXPECT_EQ(httplib::Client(host, (*server)->port()).Get("/")->body, "page");
  }
}

TEST(WebPorts, SshHint) {
  EXPECT_EQ(SshHint("127.0.0.1", 7171, "build-host"),
            "from another machine: ssh -L 7171:127.0.0.1:7171 build-host, then open "
            "http://127.0.0.1:7171/");
  EXPECT_THAT(SshHint("::1", 7172, "h"), HasSubstr("ssh -L 7172:[::1]:7172 h,"));
  char name[256] = {};
  ASSERT_EQ(gethostname(name, sizeof(name) - 1), 0);
  EXPECT_THAT(SshHint("127.0.0.1", 7171), HasSubstr(std::string(":7171 ") + name + ","));
}

}  // namespace
}  // namespace stackray
