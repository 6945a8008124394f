#include "reporter/export/grpc_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reporter/export/grpc_receiver.h"
#include "tests/reporter/export/http_receiver.h"
#include "tests/reporter/export/test_batches.h"
#include "tests/reporter/export/test_ports.h"
#include "tests/reporter/export/test_settings.h"

namespace stackray {
namespace {

using std::chrono::milliseconds;
using testing::Contains;
using testing::HasSubstr;
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
