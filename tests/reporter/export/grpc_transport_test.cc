#include "reporter/export/grpc_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <thread>

#include "tests/reporter/export/grpc_receiver.h"
#include "tests/reporter/export/http_receiver.h"
#include "tests/reporter/export/test_batches.h"
#include "tests/reporter/export/test_ports.h"
#include "tests/reporter/export/test_settings.h"
#include "tests/symbolizer/debuginfod/loopback_server.h"

namespace stackray {
namespace {

using std::chrono::milliseconds;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using testing::SizeIs;
using Kind = SendResult::Kind;

GrpcAnswer Answer(grpc::StatusCode code, const char* text, std::string details = "") {
  return {.status = grpc::Status(code, text, std::move(details))};
}

TEST(GrpcTransport, TheSealedBytesArriveWithMethodAndHeaders) {
  const Payload batch = MakeBatch(NoiseBytes(300'000, 1), 1);
  for (const ExportCompression compression :
       {ExportCompression::kGzip, ExportCompression::kNone, ExportCompression::kZstd}) {
    GrpcReceiver receiver([](const GrpcRequest&) { return GrpcAnswer(); });
    ReceiverSettings settings = LocalSettings(ExportProtocol::kGrpc, receiver.port());
    settings.compression = compression;
    settings.headers = {{"authorization", "Bearer one"}, {"x-tenant", "two"}};
    GrpcTransport transport(settings);
    EXPECT_EQ(transport.Send(batch, kLongTimeout).kind, Kind::kDelivered);
    ASSERT_THAT(receiver.requests(), SizeIs(1));
    const GrpcRequest request = receiver.requests().front();
    EXPECT_EQ(request.bytes, batch.bytes);
    EXPECT_EQ(request.method,
              "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export");
    EXPECT_THAT(request.metadata, Contains(Pair("otlp-profiles-development-version", "1")));
    EXPECT_THAT(request.metadata, Contains(Pair("authorization", "Bearer one")));
    EXPECT_THAT(request.metadata, Contains(Pair("x-tenant", "two")));
    EXPECT_THAT(request.metadata, Contains(Pair("user-agent", HasSubstr("stackray"))));
  }
  EXPECT_EQ(batch.owner.use_count(), 1) << "gRPC keeps the batch alive after the call";
}

TEST(GrpcTransport, PartialSuccessAndWarning) {
  std::string response(
      "\x0a\x08\x08\x03\x12\x04"
      "some",
      10);
  GrpcReceiver receiver([&response](const GrpcRequest&) { return GrpcAnswer{.bytes = response}; });
  GrpcTransport transport(LocalSettings(ExportProtocol::kGrpc, receiver.port()));
  SendResult result = transport.Send(MakeBatch("x", 1), kLongTimeout);
  EXPECT_EQ(result.kind, Kind::kPartlyRejected);
  EXPECT_EQ(result.rejected_units, 3);
  EXPECT_EQ(result.message, "some");
  response = std::string(
      "\x0a\x06\x12\x04"
      "some",
      8);
  result = transport.Send(MakeBatch("x", 1), kLongTimeout);
  EXPECT_EQ(result.kind, Kind::kDelivered);
  EXPECT_EQ(result.message, "some");
}

// A receiver that says it left out more than there is, or less than nothing; the queue bounds it by
// what was sent.
TEST(GrpcTransport, ImpossiblePartialSuccesses) {
  std::string response;
  GrpcReceiver receiver([&response](const GrpcRequest&) { return GrpcAnswer{.bytes = response}; });
  GrpcTransport transport(LocalSettings(ExportProtocol::kGrpc, receiver.port()));
  const auto send = [&](std::string bytes) {
    response = std::move(bytes);
    return transport.Send(MakeBatch("x", 1), kLongTimeout);
  };
  const SendResult most = send(std::string("\x0a\x0a\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 12));
  EXPECT_EQ(most.kind, Kind::kPartlyRejected);
  EXPECT_EQ(most.rejected_units, INT64_MAX);
  const SendResult negative =
      send(std::string("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13));
  EXPECT_EQ(negative.kind, Kind::kDelivered);
  for (const std::string& damaged :
       {std::string("\x0a\x7f\x08"), std::string(100'000, '\xff'), std::string("\x0a\x02\x12\x7f")})
    EXPECT_EQ(send(damaged).kind, Kind::kDelivered);
  // An answer over our bound of memory was an answer: the batch is not sent again for ever.
  EXPECT_EQ(send(std::string(8 << 20, 'x')).kind, Kind::kRejected);
}

TEST(GrpcTransport, NothingThatAReceiverSaysIsLongOrDrivesATerminal) {
  const std::string evil =
      "\x1b]0;owned\x07\r\nlevel=error msg=\"forged\"" + std::string(6000, 'x');
  for (const grpc::StatusCode code :
       {grpc::INTERNAL, grpc::UNAVAILABLE, grpc::UNAUTHENTICATED, grpc::RESOURCE_EXHAUSTED,
        static_cast<grpc::StatusCode>(77)}) {
    GrpcReceiver receiver(
        [&](const GrpcRequest&) { return Answer(code, evil.c_str(), std::string(2000, '\xff')); });
    ReceiverSettings settings = LocalSettings(ExportProtocol::kGrpc, receiver.port());
    settings.headers = {{"authorization", "Bearer s3cr3t-of-the-receiver"}};
    GrpcTransport transport(settings);
    const SendResult result = transport.Send(MakeBatch("x", 1), kLongTimeout);
    EXPECT_NE(result.kind, Kind::kDelivered);
    EXPECT_EQ(result.message.find_first_of("\x1b\x07\r\n"), std::string::npos) << code;
    EXPECT_LT(result.message.size(), 1000u);
  }
}

// It sends back what it was given.
TEST(GrpcTransport, AHeadersValueComesBackInNoMessage) {
  GrpcReceiver receiver([](const GrpcRequest& request) {
    std::string text = "you sent";
    for (const auto& [name, value] : request.metadata) text += " " + name + "=" + value;
    return Answer(grpc::PERMISSION_DENIED, text.c_str());
  });
  ReceiverSettings settings = LocalSettings(ExportProtocol::kGrpc, receiver.port());
  settings.headers = {{"authorization", "Bearer s3cr3t-of-the-receiver"}};
  GrpcTransport transport(settings);
  const SendResult result = transport.Send(MakeBatch("x", 1), kLongTimeout);
  EXPECT_EQ(result.kind, Kind::kNoEntry);
  EXPECT_THAT(result.message, HasSubstr("you sent"));
  EXPECT_THAT(result.message, Not(HasSubstr("s3cr3t")));
}

// Bytes of HTTP/2 that never become an answer: empty frames of settings, one byte at a time.
TEST(GrpcTransport, ASlowDripEndsWithTheTimeout) {
  const test::LoopbackServer server([](const std::string&, const test::LoopbackServer::Send& send) {
    const std::string frame("\0\0\0\4\0\0\0\0\0", 9);
    for (size_t i = 0; i < 2000; ++i) {
      if (!send(frame.substr(i % 9, 1)) && i > 100) return;
      std::this_thread::sleep_for(milliseconds(10));
    }
  });
  const std::string url = server.url();
  const auto port = static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  GrpcTransport transport(LocalSettings(ExportProtocol::kGrpc, port));
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(transport.Send(MakeBatch("x", 1), milliseconds(1500)).kind, Kind::kRetry);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(15));
}

TEST(GrpcTransport, DetailsOfResourceExhaustedTravel) {
  // google.rpc.Status with RetryInfo of 2.5 s, as bytes.
  const std::string duration("\x08\x02\x10\x80\xca\xb5\xee\x01", 8);
  const std::string info = "\x0a\x08" + duration;
  const std::string type = "type.googleapis.com/google.rpc.RetryInfo";
  const std::string any =
      std::string("\x0a") + static_cast<char>(type.size()) + type + "\x12\x0a" + info;
  const std::string status = std::string("\x08\x08\x1a") + static_cast<char>(any.size()) + any;
  int calls = 0;
  GrpcReceiver receiver([&](const GrpcRequest&) {
    return Answer(grpc::RESOURCE_EXHAUSTED, "slow", calls++ == 0 ? status : "");
  });
  GrpcTransport transport(LocalSettings(ExportProtocol::kGrpc, receiver.port()));
  const SendResult with = transport.Send(MakeBatch("x", 1), kLongTimeout);
  EXPECT_EQ(with.kind, Kind::kOverLimit);
  EXPECT_EQ(with.retry_after, milliseconds(2500));
  EXPECT_EQ(transport.Send(MakeBatch("x", 1), kLongTimeout).retry_after, std::nullopt);
}

TEST(GrpcTransport, LearnsTheServersSizeLimit) {
  GrpcReceiver receiver([](const GrpcRequest&) { return GrpcAnswer(); },
                        {.max_request_bytes = 4 << 20});
  GrpcTransport transport(LocalSettings(ExportProtocol::kGrpc, receiver.port()));
  const SendResult result = transport.Send(MakeBatch(std::string(5'000'000, 'x'), 1), kLongTimeout);
  EXPECT_EQ(result.kind, Kind::kTooLarge);
  EXPECT_EQ(result.size_limit, 4u << 20) << result.message;
  EXPECT_EQ(transport.Send(MakeBatch(std::string(4'000'000, 'x'), 1), kLongTimeout).kind,
            Kind::kDelivered);
}

TEST(GrpcTransport, AnAnswerOverOurLimitIsNoReasonToSplit) {
  GrpcReceiver receiver(
      [](const GrpcRequest&) { return GrpcAnswer{.bytes = std::string(2 << 20, '\0')}; });
  GrpcTransport transport(LocalSettings(ExportProtocol::kGrpc, receiver.port()));
  EXPECT_EQ(transport.Send(MakeBatch("x", 1), kLongTimeout).kind, Kind::kRejected);
}

TEST(GrpcTransport, StepsDownToPlainBytesWhereGzipIsRefused) {
  GrpcReceiver receiver([](const GrpcRequest&) { return GrpcAnswer(); }, {.accepts_gzip = false});
  GrpcTransport transport(LocalSettings(ExportProtocol::kGrpc, receiver.port()));
  for (int i = 0; i < 2; ++i) {
    const SendResult result = transport.Send(MakeBatch(std::string(10'000, 'x'), 1), kLongTimeout);
    EXPECT_EQ(result.kind, Kind::kDelivered) << result.message;
  }
  EXPECT_EQ(receiver.requests().back().bytes, std::string(10'000, 'x'));
}

TEST(GrpcTransport, NobodyThereIsRetriedAtOnceAndConnectsWhenSomebodyComes) {
  const ReservedPort port;
  GrpcTransport transport(LocalSettings(ExportProtocol::kGrpc, port.port()));
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(transport.Send(MakeBatch("x", 1), kLongTimeout).kind, Kind::kRetry);
  GrpcReceiver receiver([](const GrpcRequest&) { return GrpcAnswer(); }, {.port = port.port()});
  const SendResult result = transport.Send(MakeBatch("x", 1), kLongTimeout);
  EXPECT_EQ(result.kind, Kind::kDelivered) << result.message;
  // No waiting for gRPC's own reconnect backoff, which starts at a second.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(GrpcTransport, AConnectionThatClosesIsRetried) {
  ClosingListener listener;
  GrpcTransport transport(LocalSettings(ExportProtocol::kGrpc, listener.port()));
  const SendResult result = transport.Send(MakeBatch("x", 1), kLongTimeout);
  EXPECT_EQ(result.kind, Kind::kRetry) << result.message;
  EXPECT_GE(listener.accepted(), 1);
}

TEST(GrpcTransport, NoAnswerEndsWithTheTimeout) {
  GrpcReceiver receiver([](const GrpcRequest&) { return GrpcAnswer{.never = true}; });
  GrpcTransport transport(LocalSettings(ExportProtocol::kGrpc, receiver.port()));
  const SendResult result = transport.Send(MakeBatch("x", 1), milliseconds(100));
  EXPECT_EQ(result.kind, Kind::kRetry);
  EXPECT_THAT(result.message, HasSubstr("DEADLINE_EXCEEDED"));
}

TEST(GrpcTransport, CancelEndsACallAndAllLaterOnes) {
  GrpcReceiver receiver([](const GrpcRequest&) { return GrpcAnswer{.never = true}; });
  GrpcTransport transport(LocalSettings(ExportProtocol::kGrpc, receiver.port()));
  SendResult result;
  std::thread sender([&] { result = transport.Send(MakeBatch("x", 1), std::chrono::hours(1)); });
  ASSERT_TRUE(Eventually([&] { return receiver.requests().size() == 1; }));
  transport.Cancel();
  sender.join();
  EXPECT_EQ(result.kind, Kind::kRetry);
  EXPECT_EQ(transport.Send(MakeBatch("x", 1), std::chrono::hours(1)).kind, Kind::kRetry);
}

TEST(Fallback, FromAnHttpServersPortToHttpAndStays) {
  HttpReceiver receiver(
      [](const HttpRequest&, httplib::Response& response) { response.status = 200; });
  const auto transport = MakeTransport(LocalSettings(ExportProtocol::kGrpc, receiver.port()));
  for (int i = 0; i < 2; ++i) {
    const SendResult result = transport->Send(MakeBatch("batch", 1), kLongTimeout);
    EXPECT_EQ(result.kind, Kind::kDelivered) << result.message;
  }
  ASSERT_THAT(receiver.requests(), SizeIs(2));
  EXPECT_EQ(receiver.requests().back().path, "/v1development/profiles");
  EXPECT_EQ(receiver.requests().back().bytes, "batch");
}

TEST(Fallback, AGrpcServerWithoutProfilesSaysSo) {
  GrpcReceiver receiver(
      [](const GrpcRequest&) { return Answer(grpc::UNIMPLEMENTED, "unknown service"); });
  const auto transport = MakeTransport(LocalSettings(ExportProtocol::kGrpc, receiver.port()));
  const SendResult result = transport->Send(MakeBatch("batch", 1), kLongTimeout);
  EXPECT_EQ(result.kind, Kind::kWrongProtocol);
  EXPECT_THAT(result.message, HasSubstr("unknown service"));
  EXPECT_THAT(result.message, HasSubstr("by HTTP"));
}

TEST(Fallback, NeverOnDataErrors) {
  GrpcReceiver receiver(
      [](const GrpcRequest&) { return Answer(grpc::INVALID_ARGUMENT, "bad batch"); });
  const auto transport = MakeTransport(LocalSettings(ExportProtocol::kGrpc, receiver.port()));
  const SendResult result = transport->Send(MakeBatch("batch", 1), kLongTimeout);
  EXPECT_EQ(result.kind, Kind::kRejected);
  EXPECT_EQ(result.message, "gRPC INVALID_ARGUMENT: bad batch");
}

}  // namespace
}  // namespace stackray
