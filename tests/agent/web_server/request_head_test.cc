#include "agent/web_server/request_head.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace stackray {
namespace {

RequestHead Parsed(std::string_view bytes) {
  const ParsedHead parsed = ParseRequestHead(bytes);
  EXPECT_EQ(parsed.status, 0) << bytes;
  return parsed.head;
}

TEST(RequestHead, TellsItsParts) {
  const std::string bytes =
      "\r\nGET /a/b?x=1&y=%41+b&x=2&=e&z HTTP/1.1\r\nHost:  h:1 \r\nHOST: other\r\n"
      "Cookie: a=1; stackray-7171=word ; b\r\nCookie: c=3\r\nEmpty:\r\n\r\nrest";
  EXPECT_EQ(HeadLength(bytes), bytes.size() - 4);
  const RequestHead head = Parsed(std::string_view(bytes).substr(0, HeadLength(bytes)));
  EXPECT_EQ(head.method, "GET");
  EXPECT_EQ(head.path(), "/a/b");
  EXPECT_EQ(head.Parameter("x"), "1");
  EXPECT_EQ(head.Parameter("y"), "A b");
  EXPECT_EQ(head.Parameter("z"), "");
  EXPECT_EQ(head.Parameter("w"), std::nullopt);
  EXPECT_EQ(head.Header("host"), "h:1");
  EXPECT_EQ(head.CountOf("hOsT"), 2u);
  EXPECT_EQ(head.Header("Empty"), "");
  EXPECT_EQ(head.Cookie("stackray-7171"), "word");
  EXPECT_EQ(head.Cookie("c"), "3");
  EXPECT_EQ(head.Cookie("b"), "");
  EXPECT_EQ(head.Cookie("stackray"), "");
}

TEST(RequestHead, WhetherTheConnectionGoesOn) {
  const auto keeps = [](const std::string& first, const std::string& headers) {
    return ParseRequestHead(first + "\r\n" + headers + "\r\n").head.KeepsConnection();
  };
  EXPECT_TRUE(keeps("GET / HTTP/1.1", ""));
  EXPECT_TRUE(keeps("HEAD / HTTP/1.1", "Connection: keep-alive\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.0", "Connection: keep-alive\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.1", "connection: Upgrade, Close\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.1", "Content-Length: 0\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.1", "Transfer-Encoding: chunked\r\n"));
  EXPECT_FALSE(keeps("POST / HTTP/1.1", ""));
}

TEST(RequestHead, DamagedHeadsAreRefused) {
  const std::string good = "GET / HTTP/1.1\r\n";
  std::string many;
  for (int i = 0; i < 101; ++i) many += "A: b\r\n";
  const struct {
    std::string bytes;
    int status;
  } cases[] = {
      {"", 400},
      {"\r\n\r\n", 400},
      {"GET\r\n\r\n", 400},
      {"GET /\r\n\r\n", 400},
      {"GET / HTTP/1.1", 400},
      {"GET / HTTP/1.1\r\n", 400},
      {" / HTTP/1.1\r\n\r\n", 400},
      {"GET  HTTP/1.1\r\n\r\n", 400},
      {"G T / HTTP/1.1\r\n\r\n", 400},
      {"GET / x HTTP/1.1\r\n\r\n", 400},
      {"GET /\x01 HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/2.0\r\n\r\n", 505},
      {"GET / HTTP/1.11\r\n\r\n", 505},
      {"GET / http/1.1\r\n\r\n", 400},
      {"GET /" + std::string(kMaxTargetBytes, 'x') + " HTTP/1.1\r\n\r\n", 414},
      {good + "Host\r\n\r\n", 400},
      {good + "Host : x\r\n\r\n", 400},
      {good + ": x\r\n\r\n", 400},
      {good + " folded: x\r\n\r\n", 400},
      {good + "Host: a\r\n b\r\n\r\n", 400},
      {good + "Host: a\nX: b\r\n\r\n", 400},
      {good + "Host: a\rX: b\r\n\r\n", 400},
      {good + std::string("Host: a\0b\r\n\r\n", 13), 400},
      {good + many + "\r\n", 431},
  };
  for (const auto& each : cases)
    EXPECT_EQ(ParseRequestHead(each.bytes).status, each.status) << each.bytes.substr(0, 60);
}

TEST(RequestHead, EveryDamageIsSurvived) {
  const std::string good =
      "GET /?token=a%20&b HTTP/1.1\r\nHost: h:1\r\nCookie: a=b; c\r\nAccept-Encoding: gzip\r\n\r\n";
  std::mt19937 random(20261126);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = good.substr(0, 1 + random() % good.size());
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    EXPECT_LE(HeadLength(bytes), bytes.size());
    const ParsedHead parsed = ParseRequestHead(bytes);
    if (parsed.status != 0) continue;
    (void)parsed.head.Parameter("b");
    (void)parsed.head.Cookie("c");
    (void)parsed.head.KeepsConnection();
  }
}

}  // namespace
}  // namespace stackray
