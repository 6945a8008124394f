// What answers mean: gRPC codes, HTTP codes, their details, and damaged ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "reporter/export/grpc_status.h"
#include "reporter/export/http_reply.h"
#include "reporter/export/response_parser.h"
#include "reporter/export/retry_schedule.h"
#include "reporter/export/size_errors.h"

namespace stackray {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = SendResult::Kind;

std::string Bytes(char tag, const std::string& content) {
  return std::string() + tag + static_cast<char>(content.size()) + content;
}

// google.rpc.Status{message, details{Any{RetryInfo{Duration{seconds, nanos}}}}}, by hand.
std::string StatusWithRetryInfo(char delay_seconds, const std::string& nanos = "") {
  const std::string duration = std::string("\x08") + delay_seconds + nanos;
  const std::string any =
      Bytes(0x0a, "type.googleapis.com/google.rpc.RetryInfo") + Bytes(0x12, Bytes(0x0a, duration));
  return std::string("\x08\x08", 2) + Bytes(0x12, "slow down") + Bytes(0x1a, any);
}

SendResult JudgeGrpc(grpc::StatusCode code, const std::string& text = "",
                     const std::string& details = "") {
  return JudgeGrpcStatus(grpc::Status(code, text, details)).result;
}

TEST(GrpcVerdict, RetriesExactlyTheCodesOfOtlp) {
  const std::map<grpc::StatusCode, Kind> expected = {{grpc::CANCELLED, Kind::kRetry},
                                                     {grpc::UNKNOWN, Kind::kRejected},
                                                     {grpc::INVALID_ARGUMENT, Kind::kRejected},
                                                     {grpc::DEADLINE_EXCEEDED, Kind::kRetry},
                                                     {grpc::NOT_FOUND, Kind::kRejected},
                                                     {grpc::ALREADY_EXISTS, Kind::kRejected},
                                                     {grpc::PERMISSION_DENIED, Kind::kNoEntry},
                                                     {grpc::RESOURCE_EXHAUSTED, Kind::kOverLimit},
                                                     {grpc::FAILED_PRECONDITION, Kind::kRejected},
                                                     {grpc::ABORTED, Kind::kRetry},
                                                     {grpc::OUT_OF_RANGE, Kind::kRetry},
                                                     {grpc::UNIMPLEMENTED, Kind::kWrongProtocol},
                                                     {grpc::INTERNAL, Kind::kRejected},
                                                     {grpc::UNAVAILABLE, Kind::kRetry},
                                                     {grpc::DATA_LOSS, Kind::kRetry},
                                                     {grpc::UNAUTHENTICATED, Kind::kNoEntry}};
  ASSERT_EQ(expected.size(), 16u);
  for (const auto& [code, kind] : expected) EXPECT_EQ(JudgeGrpc(code, "text").kind, kind) << code;
}

TEST(GrpcVerdict, ResourceExhaustedTellsItsWaitAndIsALimitOfRateUnlessItSpeaksOfTheRequestsSize) {
  const SendResult result = JudgeGrpc(grpc::RESOURCE_EXHAUSTED, "slow", StatusWithRetryInfo(7));
  EXPECT_EQ(result.kind, Kind::kOverLimit);
  EXPECT_EQ(result.retry_after, seconds(7));
  for (const char* rate : {"quota of tenant", "push rate limit (4 MiB) exceeded while adding 9 KiB",
                           "push series with index 3 failed: the profile exceeds the size limit"})
    EXPECT_EQ(JudgeGrpc(grpc::RESOURCE_EXHAUSTED, rate).kind, Kind::kOverLimit) << rate;
  for (const char* size : {"message too large", "larger than max (5 vs. 4)"})
    EXPECT_EQ(JudgeGrpc(grpc::RESOURCE_EXHAUSTED, size).kind, Kind::kTooLarge) << size;
}

// Both protocols say the same of credentials.
TEST(GrpcVerdict, RefusedCredentialsWaitWithAHint) {
  for (const grpc::StatusCode code : {grpc::UNAUTHENTICATED, grpc::PERMISSION_DENIED})
    EXPECT_THAT(JudgeGrpc(code, "no").message, testing::HasSubstr("OTEL_EXPORTER_OTLP_HEADERS"));
}

TEST(GrpcVerdict, LearnsTheLimitFromGosAndCppsServers) {
  EXPECT_EQ(JudgeGrpc(grpc::RESOURCE_EXHAUSTED,
                      "grpc: received message larger than max (5000000 vs. 4194304)")
                .size_limit,
            4194304u);
  EXPECT_EQ(JudgeGrpc(grpc::RESOURCE_EXHAUSTED,
                      "grpc: received message after decompression larger than max 4194304")
                .size_limit,
            4194304u);
  EXPECT_EQ(SizeLimitIn("larger than max 99999999999999999999999"), 0u);
  EXPECT_EQ(SizeLimitIn("larger than max "), 0u);
  EXPECT_EQ(JudgeGrpc(grpc::RESOURCE_EXHAUSTED, "quota of tenant").size_limit, 0u);
  EXPECT_EQ(SizeLimitIn("Tom vs. 12"), 0u);
}

TEST(GrpcVerdict, AnEncodingThatIsUnknownThereIsNoLackOfService) {
  const GrpcOutcome outcome = JudgeGrpcStatus(grpc::Status(
      grpc::UNIMPLEMENTED, "grpc: Decompressor is not installed for grpc-encoding \"gzip\""));
  EXPECT_TRUE(outcome.encoding_refused);
  EXPECT_FALSE(
      JudgeGrpcStatus(grpc::Status(grpc::UNIMPLEMENTED, "unknown service")).encoding_refused);
}

SendResult JudgeHttp(HttpReply reply) { return JudgeHttpReply(reply, 1'000'000'000).result; }

TEST(HttpVerdict, RetriesExactlyTheCodesOfOtlp) {
  for (const long status : {502, 503, 504})
    EXPECT_EQ(JudgeHttp({.status = status}).kind, Kind::kRetry);
  for (const long status : {300, 301, 307, 400, 408, 409, 422, 500, 501, 507})
    EXPECT_EQ(JudgeHttp({.status = status}).kind, Kind::kRejected) << status;
  for (const long status : {200, 202, 204})
    EXPECT_EQ(JudgeHttp({.status = status}).kind, Kind::kDelivered);
  EXPECT_EQ(JudgeHttp({.status = 413}).kind, Kind::kTooLarge);
  EXPECT_EQ(JudgeHttp({.status = 429}).kind, Kind::kOverLimit);
  EXPECT_EQ(JudgeHttp({.status = 429, .retry_after = "17"}).retry_after, seconds(17));
  for (const long status : {401, 403}) {
    EXPECT_EQ(JudgeHttp({.status = status}).kind, Kind::kNoEntry);
    EXPECT_THAT(JudgeHttp({.status = status}).message,
                testing::HasSubstr("OTEL_EXPORTER_OTLP_HEADERS"));
  }
  EXPECT_EQ(JudgeHttp({.status = 404}).kind, Kind::kWrongProtocol);
}

TEST(HttpVerdict, A400ThatSpeaksOfSizeIsTooLarge) {
  EXPECT_EQ(JudgeHttp({.status = 400, .body = "http: request body too large"}).kind,
            Kind::kTooLarge);
  EXPECT_EQ(JudgeHttp({.status = 400, .body = "cannot parse"}).kind, Kind::kRejected);
  // Pyroscope 2, of one profile of a request whose others it has stored.
  EXPECT_EQ(
      JudgeHttp({.status = 400,
                 .body = "the profile with labels '{service_name=\"request body\"}' exceeds the "
                         "size limit (max_profile_size_byte, actual: 2, limit: 1)"})
          .kind,
      Kind::kOverLimit);
}

TEST(HttpVerdict, ReadsTheStatusMessageOfAProtobufBody) {
  const SendResult result = JudgeHttp(
      {.status = 503, .body = StatusWithRetryInfo(9), .content_type = "application/x-protobuf"});
  EXPECT_EQ(result.message, "HTTP 503: slow down");
  EXPECT_EQ(result.retry_after, seconds(9));
}

TEST(HttpVerdict, RetryAfterIsSecondsOrADate) {
  constexpr std::time_t kNow = 784111777;  // The example date of the HTTP specification.
  EXPECT_EQ(ParseRetryAfter("120", kNow), seconds(120));
  EXPECT_EQ(ParseRetryAfter("Sun, 06 Nov 1994 08:50:07 GMT", kNow), seconds(30));
  EXPECT_EQ(ParseRetryAfter("Sun, 06 Nov 1994 08:49:00 GMT", kNow), std::nullopt);
  EXPECT_EQ(ParseRetryAfter("99999999999", kNow), seconds(86400));
  for (const char* odd : {"", "0", "-5", "soon", "1.5e", "12 seconds"})
    EXPECT_EQ(ParseRetryAfter(odd, kNow), std::nullopt) << odd;
}

TEST(Response, PartialSuccess) {
  const std::string partial = Bytes(0x0a, std::string("\x08\x03") + Bytes(0x12, "bad\nones"));
  const std::optional<PartialSuccess> parsed = ParsePartialSuccess(partial, 1);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->rejected_units, 3);
  EXPECT_EQ(parsed->message, "bad ones");
  EXPECT_FALSE(ParsePartialSuccess("", 1));
  EXPECT_FALSE(ParsePartialSuccess(Bytes(0x0a, ""), 1));
}

TEST(Response, EveryCutAndEveryFlippedBitIsSurvived) {
  const std::string whole = StatusWithRetryInfo(7, "\x10\x05");
  ASSERT_EQ(ParseRpcStatus(whole)->retry_delay, milliseconds(7000));
  for (size_t size = 0; size < whole.size(); ++size) {
    (void)ParseRpcStatus(whole.substr(0, size));
    (void)ParsePartialSuccess(whole.substr(0, size), 1);
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[size] = static_cast<char>(damaged[size] ^ (1 << bit));
      const std::optional<RpcStatus> status = ParseRpcStatus(damaged);
      EXPECT_LE(status ? status->retry_delay.value_or(seconds(0)) : seconds(0), seconds(86'401));
      (void)ParsePartialSuccess(damaged, 1);
    }
  }
}

TEST(RetrySchedule, JitterStaysWithinItsShareAndDiffers) {
  RetrySchedule one({}, 1), other({}, 2);
  bool differs = false;
  for (const double base : {5000.0, 7500.0, 11250.0, 16875.0, 25312.5, 30000.0}) {
    const double wait = static_cast<double>(one.Next(std::nullopt).count());
    EXPECT_GE(wait, base * 0.8 - 1);
    EXPECT_LE(wait, std::min(base * 1.2, 30000.0) + 1);
    differs |= wait != static_cast<double>(other.Next(std::nullopt).count());
  }
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace stackray
