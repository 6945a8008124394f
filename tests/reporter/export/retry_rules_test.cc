// The rules for retries, each from a real server's answer to the queue's accounts: when is a batch
// sent again, after which wait, and that it arrives once. docs/delivery.md has them as a table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <optional>

#include "reporter/export/export_queue.h"
#include "tests/reporter/export/fake_transport.h"
#include "tests/reporter/export/grpc_receiver.h"
#include "tests/reporter/export/http_receiver.h"
#include "tests/reporter/export/test_batches.h"
#include "tests/reporter/export/test_ports.h"
#include "tests/reporter/export/test_settings.h"

namespace stackray {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::Le;

constexpr seconds kLong{30};

// A queue whose waits are over at once, and told.
struct Waiting {
  Waiting(ExportProtocol protocol, uint16_t port)
      : queue(ExportQueue::Start(MakeTransport(LocalSettings(protocol, port)), {.clock = &clock},
                                 {})) {}
  // All of five batches arrived, once each.
  void DeliverFive() {
    for (uint64_t i = 1; i <= 5; ++i)
      queue->Add(MakeBatch(NoiseBytes(1000, static_cast<uint32_t>(i)), i));
    ASSERT_TRUE(queue->Flush(kLong)) << queue->Counts().failing_with;
    const DeliveryCounts counts = queue->Counts();
    EXPECT_EQ(counts.delivered.items, 15u);
    EXPECT_EQ(counts.LostInAll(), ItemCount{});
    EXPECT_TRUE(AddsUp(counts));
  }
  JumpingClock clock;
  std::unique_ptr<ExportQueue> queue;
};

// Answers the first request with `header` and 503, all others with 200.
std::vector<milliseconds> WaitsAfter503(const std::function<std::string()>& header) {
  int requests = 0;
  HttpReceiver receiver([&](const HttpRequest&, httplib::Response& response) {
    if (++requests > 1) return;
    response.status = 503;
    response.set_header("Retry-After", header());
  });
  Waiting waiting(ExportProtocol::kHttpProtobuf, receiver.port());
  waiting.DeliverFive();
  EXPECT_EQ(requests, 6);
  return waiting.clock.waits();
}

TEST(RetryRules, Http503WithRetryAfterInSeconds) {
  EXPECT_THAT(WaitsAfter503([] { return "42"; }), ElementsAre(milliseconds(42'000)));
}

TEST(RetryRules, Http503WithRetryAfterAsADate) {
  const auto in_100_s = [] {
    const std::time_t then = std::time(nullptr) + 100;
    std::tm parts{};
    gmtime_r(&then, &parts);
    char text[64];
    return std::string(text,
                       std::strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &parts));
  };
  EXPECT_THAT(WaitsAfter503(in_100_s),
              ElementsAre(AllOf(Ge(milliseconds(60'000)), Le(milliseconds(100'000)))));
}

TEST(RetryRules, Http503WithANonsensicalRetryAfterWaitsAsWithoutOne) {
  EXPECT_THAT(WaitsAfter503([] { return "soon"; }),
              ElementsAre(AllOf(Ge(milliseconds(4'000)), Le(milliseconds(6'000)))));
}

// google.rpc.Status{8, "slow down", Any{RetryInfo{Duration{33 s}}}} on the wire, by hand.
std::string StatusWithRetryInfo() {
  const auto field = [](char tag, const std::string& content) {
    return std::string() + tag + static_cast<char>(content.size()) + content;
  };
  const std::string any = field(0x0a, "type.googleapis.com/google.rpc.RetryInfo") +
                          field(0x12, field(0x0a, "\x08\x21"));
  return std::string("\x08\x08") + field(0x12, "slow down") + field(0x1a, any);
}

// The first batch that met the limit is in doubt and not sent again.
TEST(RetryRules, ResourceExhaustedWithRetryInfoWaitsForIt) {
  int requests = 0;
  GrpcReceiver receiver([&](const GrpcRequest&) {
    if (++requests > 1) return GrpcAnswer();
    return GrpcAnswer{.status = {grpc::RESOURCE_EXHAUSTED, "slow down", StatusWithRetryInfo()}};
  });
  Waiting waiting(ExportProtocol::kGrpc, receiver.port());
  waiting.DeliverFive();
  EXPECT_EQ(requests, 5);
  EXPECT_EQ(waiting.queue->Counts().partly_rejected_batches, 1u);
  EXPECT_EQ(waiting.clock.waits().front(), milliseconds(33'000));
}

TEST(RetryRules, Http429WaitsForItsRetryAfter) {
  int requests = 0;
  HttpReceiver receiver([&](const HttpRequest&, httplib::Response& response) {
    if (++requests > 1) return;
    response.status = 429;
    response.set_header("Retry-After", "42");
  });
  Waiting waiting(ExportProtocol::kHttpProtobuf, receiver.port());
  waiting.DeliverFive();
  EXPECT_EQ(requests, 5);
  EXPECT_EQ(waiting.queue->Counts().partly_rejected_batches, 1u);
  EXPECT_EQ(waiting.clock.waits().front(), milliseconds(42'000));
}

TEST(RetryRules, CredentialsThatAreRefusedLoseNothing) {
  for (const ExportProtocol protocol : {ExportProtocol::kGrpc, ExportProtocol::kHttpProtobuf}) {
    int requests = 0;
    std::optional<GrpcReceiver> grpc;
    std::optional<HttpReceiver> http;
    if (protocol == ExportProtocol::kGrpc)
      grpc.emplace([&](const GrpcRequest&) {
        return ++requests > 3 ? GrpcAnswer() : GrpcAnswer{.status = {grpc::UNAUTHENTICATED, "no"}};
      });
    else
      http.emplace([&](const HttpRequest&, httplib::Response& response) {
        response.status = ++requests > 3 ? 200 : 403;
      });
    Waiting waiting(protocol, grpc ? grpc->port() : http->port());
    waiting.DeliverFive();
    EXPECT_EQ(requests, 8);
    EXPECT_THAT(waiting.clock.waits(), testing::Each(Ge(seconds(24))));
  }
}

// A Collector without the gate for profiles answers so, and takes them once it has been started
// with it.
TEST(RetryRules, AServiceThatIsMissingLosesNothing) {
  for (const ExportProtocol protocol : {ExportProtocol::kGrpc, ExportProtocol::kHttpProtobuf}) {
    int requests = 0;
    std::optional<GrpcReceiver> grpc;
    std::optional<HttpReceiver> http;
    if (protocol == ExportProtocol::kGrpc)
      grpc.emplace([&](const GrpcRequest&) {
        return ++requests > 3
                   ? GrpcAnswer()
                   : GrpcAnswer{.status = {grpc::UNIMPLEMENTED, "unknown service Profiles"}};
      });
    else
      http.emplace([&](const HttpRequest&, httplib::Response& response) {
        response.status = ++requests > 3 ? 200 : 404;
      });
    Waiting waiting(protocol, grpc ? grpc->port() : http->port());
    waiting.DeliverFive();
    EXPECT_EQ(requests, 8);
    EXPECT_THAT(waiting.clock.waits(), testing::Each(Ge(seconds(24))));
    EXPECT_EQ(waiting.queue->Counts().LostInAll(), ItemCount{});
  }
}

TEST(RetryRules, APartialSuccessIsNotSentAgain) {
  const std::string partial(
      "\x0a\x07\x08\x02\x12\x03"
      "bad",
      9);  // Two profiles rejected.
  GrpcReceiver receiver([&](const GrpcRequest&) { return GrpcAnswer{.bytes = partial}; });
  Waiting waiting(ExportProtocol::kGrpc, receiver.port());
  waiting.DeliverFive();
  EXPECT_EQ(receiver.requests().size(), 5u);
  const DeliveryCounts counts = waiting.queue->Counts();
  EXPECT_EQ(counts.partly_rejected_batches, 5u);
  EXPECT_EQ(counts.partly_rejected_units, 1u + 2 * 4);  // Of the first one's single sample: one.
  EXPECT_EQ(counts.partly_rejected.items, 15u);
}

// Something listens that accepts connections and does no more, and then the receiver comes.
class BadListener
    : public testing::TestWithParam<std::tuple<ExportProtocol, ClosingListener::Manner>> {};

TEST_P(BadListener, IsRetriedUntilTheReceiverComes) {
  const auto [protocol, manner] = GetParam();
  const ReservedPort port;
  std::optional<ClosingListener> bad;
  bad.emplace(port.port(), manner);
  const auto queue =
      ExportQueue::Start(MakeTransport(LocalSettings(protocol, port.port())),
                         {.attempt_timeout = milliseconds(300),
                          .retry = {.first = milliseconds(5), .longest = milliseconds(20)}},
                         {});
  for (uint64_t i = 1; i <= 5; ++i) queue->Add(MakeBatch(std::to_string(i), i));
  ASSERT_TRUE(Eventually([&] { return queue->Counts().retries >= 3; }));
  EXPECT_GE(bad->accepted(), 1);
  EXPECT_EQ(queue->Counts().in_flight.items, 15u);
  bad.reset();
  std::optional<GrpcReceiver> grpc;
  std::optional<HttpReceiver> http;
  if (protocol == ExportProtocol::kGrpc)
    grpc.emplace([](const GrpcRequest&) { return GrpcAnswer(); },
                 GrpcReceiver::Options{.port = port.port()});
  else
    http.emplace([](const HttpRequest&, httplib::Response&) {},
                 HttpReceiver::Options{.port = port.port()});
  ASSERT_TRUE(queue->Flush(kLong)) << queue->Counts().failing_with;
  const DeliveryCounts counts = queue->Counts();
  EXPECT_EQ(counts.delivered.items, 15u);
  EXPECT_EQ(counts.LostInAll(), ItemCount{});
}

INSTANTIATE_TEST_SUITE_P(
    All, BadListener,
    testing::Combine(testing::Values(ExportProtocol::kGrpc, ExportProtocol::kHttpProtobuf),
                     testing::Values(ClosingListener::Manner::kCloses,
                                     ClosingListener::Manner::kNeverAnswers)),
    [](const auto& parameter) {
      const bool grpc = std::get<0>(parameter.param) == ExportProtocol::kGrpc;
      const bool closes = std::get<1>(parameter.param) == ClosingListener::Manner::kCloses;
      return std::string(grpc ? "Grpc" : "Http") + (closes ? "Closes" : "NeverAnswers");
    });

}  // namespace
}  // namespace stackray
