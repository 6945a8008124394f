// What the log says when a receiver is not what the settings think: real mistakes, real servers.
#include "reporter/export/receiver_hints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reporter/export/probe.h"
#include "tests/reporter/export/grpc_receiver.h"
#include "tests/reporter/export/http_receiver.h"
#include "tests/reporter/export/test_batches.h"
#include "tests/reporter/export/test_certificates.h"
#include "tests/reporter/export/test_ports.h"
#include "tests/reporter/export/test_settings.h"

namespace stackray {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Kind = SendResult::Kind;

constexpr std::chrono::seconds kShort{5};

class Mistake : public testing::TestWithParam<ExportProtocol> {
 protected:
  static bool IsGrpc() { return GetParam() == ExportProtocol::kGrpc; }
  static SendResult Send(const ReceiverSettings& settings) {
    return MakeTransport(settings)->Send(MakeBatch("batch", 1), kShort);
  }
  // A receiver with TLS of the tested protocol.
  void StartTls(bool wants_client) {
    ASSERT_TRUE(certificates_.made()) << "needs the openssl program";
    if (IsGrpc()) {
      grpc::SslServerCredentialsOptions options(
          wants_client ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                       : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
      options.pem_root_certs = certificates_.Read("ca.pem");
      options.pem_key_cert_pairs = {
          {certificates_.Read("server.key"), certificates_.Read("server.pem")}};
      grpc_ = std::make_unique<GrpcReceiver>(
          [](const GrpcRequest&) { return GrpcAnswer(); },
          GrpcReceiver::Options{.credentials = grpc::SslServerCredentials(options)});
      settings_ = LocalSettings(GetParam(), grpc_->port());
    } else {
      http_ = std::make_unique<HttpReceiver>(
          [](const HttpRequest&, httplib::Response&) {},
          HttpReceiver::Options{
              .certificate_file = certificates_.Path("server.pem"),
              .key_file = certificates_.Path("server.key"),
              .client_ca_file = wants_client ? certificates_.Path("ca.pem") : ""});
      settings_ = LocalSettings(GetParam(), http_->port());
    }
  }

  TestCertificates certificates_;
  std::unique_ptr<GrpcReceiver> grpc_;
  std::unique_ptr<HttpReceiver> http_;
  ReceiverSettings settings_;
};

TEST_P(Mistake, PlainToTls) {
  StartTls(false);
  testing::internal::CaptureStderr();
  EXPECT_THAT(Send(settings_).message, AllOf(HasSubstr("127.0.0.1"), HasSubstr("https://")));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "gRPC has written lines of its own";
}

TEST_P(Mistake, NoClientCertificateWhereOneIsWanted) {
  StartTls(true);
  settings_.endpoint.tls = true;
  settings_.ca_certificate_file = certificates_.Path("ca.pem");
  testing::internal::CaptureStderr();
  EXPECT_THAT(Send(settings_).message, HasSubstr("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_P(Mistake, AWrongAuthority) {
  StartTls(false);
  settings_.endpoint.tls = true;
  settings_.ca_certificate_file = certificates_.Path("other_ca.pem");
  testing::internal::CaptureStderr();
  EXPECT_THAT(Send(settings_).message, HasSubstr("OTEL_EXPORTER_OTLP_CERTIFICATE"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_P(Mistake, NobodyListens) {
  const ReservedPort port;
  EXPECT_THAT(Send(LocalSettings(GetParam(), port.port())).message,
              AllOf(HasSubstr("127.0.0.1"), HasSubstr("4317 for gRPC"), HasSubstr("4318")));
}

// A web server has something to say to everything, but it is no answer of OTLP.
TEST_P(Mistake, AWebPage) {
  for (const int status : {200, 404, 500}) {
    HttpReceiver web([status](const HttpRequest&, httplib::Response& response) {
      response.status = status;
      response.set_content("<!DOCTYPE html>\n<html><body>Hi</body></html>", "text/html");
    });
    const SendResult result = Send(LocalSettings(GetParam(), web.port()));
    EXPECT_NE(result.kind, Kind::kDelivered) << status;
    EXPECT_THAT(result.message, AllOf(Not(HasSubstr("<")), HasSubstr("web page"))) << status;
    if (status == 500) continue;
    EXPECT_THAT(result.message,
                AllOf(HasSubstr("http://127.0.0.1"), HasSubstr("service.profilesSupport")));
  }
}

TEST(Mistake, HttpToAGrpcPort) {
  GrpcReceiver receiver([](const GrpcRequest&) { return GrpcAnswer(); });
  const SendResult result =
      MakeTransport(LocalSettings(ExportProtocol::kHttpProtobuf, receiver.port()))
          ->Send(MakeBatch("batch", 1), kShort);
  EXPECT_NE(result.kind, Kind::kDelivered);
  EXPECT_THAT(result.message, HasSubstr("4317"));
}

INSTANTIATE_TEST_SUITE_P(Protocols, Mistake,
                         testing::Values(ExportProtocol::kGrpc, ExportProtocol::kHttpProtobuf),
                         [](const auto& parameter) {
                           return parameter.param == ExportProtocol::kGrpc ? "Grpc" : "Http";
                         });

TEST(LinkHint, KnowsTheTextsOfBothLibraries) {
  ReceiverSettings plain = LocalSettings(ExportProtocol::kGrpc, 1), tls = plain;
  tls.endpoint.tls = true;
  EXPECT_THAT(LinkHint(plain, "Socket closed"), HasSubstr("https://"));
  EXPECT_THAT(LinkHint(tls, "Socket closed"), HasSubstr("CLIENT_CERTIFICATE"));
  EXPECT_THAT(LinkHint(tls, "getpeername() failed"), HasSubstr("CLIENT_CERTIFICATE"));
  EXPECT_THAT(LinkHint(tls, "SSL_ERROR_SSL: CERTIFICATE_VERIFY_FAILED"),
              HasSubstr("OTEL_EXPORTER_OTLP_CERTIFICATE"));
  EXPECT_THAT(LinkHint(tls, "error:0A00010B:wrong version number"), HasSubstr("http://"));
  EXPECT_THAT(LinkHint(plain, "Connection refused"), HasSubstr("nothing listens"));
  EXPECT_EQ(LinkHint(plain, "Deadline Exceeded"), "");
  tls.client_certificate_file = "/c.pem";
  EXPECT_EQ(LinkHint(tls, "Socket closed"), "");
}

TEST(Probe, AnswersWhatABatchWouldMeetAndLeavesNothing) {
  int status = 200;
  HttpReceiver receiver([&](const HttpRequest& request, httplib::Response& response) {
    EXPECT_EQ(request.bytes.size(), 16u);
    EXPECT_EQ(request.headers.count("Content-Encoding"), 0u);
    response.status = status;
  });
  ReceiverSettings settings = LocalSettings(ExportProtocol::kHttpProtobuf, receiver.port());
  settings.compression = ExportCompression::kZstd;
  const auto transport = MakeTransport(settings);
  for (const int good : {200, 400, 500}) {  // Pyroscope 2 refuses a request without profiles.
    status = good;
    EXPECT_TRUE(Probe(*transport, TraitsOf(Signal::kProfiles), kShort).answers) << good;
  }
  for (const int bad : {401, 404, 503}) {
    status = bad;
    const ProbeResult result = Probe(*transport, TraitsOf(Signal::kProfiles), kShort);
    EXPECT_FALSE(result.answers) << bad;
    EXPECT_THAT(result.message, HasSubstr(std::to_string(bad)));
  }
}

}  // namespace
}  // namespace stackray
