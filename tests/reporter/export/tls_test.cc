// Encrypted links: a right and a wrong authority, and receivers that want to know the client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reporter/export/transport.h"
#include "tests/reporter/export/grpc_receiver.h"
#include "tests/reporter/export/http_receiver.h"
#include "tests/reporter/export/test_batches.h"
#include "tests/reporter/export/test_certificates.h"
#include "tests/reporter/export/test_settings.h"

namespace stackray {
namespace {

using testing::HasSubstr;
using Kind = SendResult::Kind;

class Tls : public testing::TestWithParam<ExportProtocol> {
 protected:
  static void SetUpTestSuite() { certificates_ = new TestCertificates(); }
  static void TearDownTestSuite() {
    delete certificates_;
    certificates_ = nullptr;
  }
  void SetUp() override { ASSERT_TRUE(certificates_->made()) << "needs the openssl program"; }

  void StartReceiver(bool wants_client_certificate) {
    if (GetParam() == ExportProtocol::kGrpc) {
      grpc::SslServerCredentialsOptions options(
          wants_client_certificate ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                   : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
      options.pem_root_certs = certificates_->Read("ca.pem");
      options.pem_key_cert_pairs = {
          {certificates_->Read("server.key"), certificates_->Read("server.pem")}};
      grpc_ = std::make_unique<GrpcReceiver>(
          [](const GrpcRequest&) { return GrpcAnswer(); },
          GrpcReceiver::Options{.credentials = grpc::SslServerCredentials(options)});
      port_ = grpc_->port();
    } else {
      http_ = std::make_unique<HttpReceiver>(
          [](const HttpRequest&, httplib::Response& response) { response.status = 200; },
          HttpReceiver::Options{
              .certificate_file = certificates_->Path("server.pem"),
              .key_file = certificates_->Path("server.key"),
              .client_ca_file = wants_client_certificate ? certificates_->Path("ca.pem") : ""});
      port_ = http_->port();
    }
  }

  ReceiverSettings Settings(const std::string& authority) const {
    ReceiverSettings settings = LocalSettings(GetParam(), port_);
    settings.endpoint.tls = true;
    settings.ca_certificate_file = certificates_->Path(authority);
    return settings;
  }

  static SendResult Send(const ReceiverSettings& settings) {
    return MakeTransport(settings)->Send(MakeBatch("batch", 1), kLongTimeout);
  }

  static TestCertificates* certificates_;
  std::unique_ptr<GrpcReceiver> grpc_;
  std::unique_ptr<HttpReceiver> http_;
  uint16_t port_ = 0;
};

TestCertificates* Tls::certificates_ = nullptr;

TEST_P(Tls, TheRightAuthority) {
  StartReceiver(false);
  const SendResult result = Send(Settings("ca.pem"));
  EXPECT_EQ(result.kind, Kind::kDelivered) << result.message;
}

TEST_P(Tls, AWrongAuthorityIsSaidClearly) {
  StartReceiver(false);
  const SendResult result = Send(Settings("other_ca.pem"));
  EXPECT_EQ(result.kind, Kind::kRetry);
  EXPECT_THAT(result.message, HasSubstr("check OTEL_EXPORTER_OTLP_CERTIFICATE"));
}

TEST_P(Tls, AClientCertificateThatIsWanted) {
  StartReceiver(true);
  EXPECT_EQ(Send(Settings("ca.pem")).kind, Kind::kRetry);
  ReceiverSettings settings = Settings("ca.pem");
  settings.client_certificate_file = certificates_->Path("client.pem");
  settings.client_key_file = certificates_->Path("client.key");
  const SendResult result = Send(settings);
  EXPECT_EQ(result.kind, Kind::kDelivered) << result.message;
}

TEST_P(Tls, AReceiverWithoutTlsIsSaidClearly) {
  GrpcReceiver plain_grpc([](const GrpcRequest&) { return GrpcAnswer(); });
  HttpReceiver plain_http([](const HttpRequest&, httplib::Response&) {});
  port_ = GetParam() == ExportProtocol::kGrpc ? plain_grpc.port() : plain_http.port();
  const SendResult result = Send(Settings("ca.pem"));
  EXPECT_EQ(result.kind, Kind::kRetry);
  EXPECT_THAT(result.message, HasSubstr("http://"));
}

INSTANTIATE_TEST_SUITE_P(Protocols, Tls,
                         testing::Values(ExportProtocol::kGrpc, ExportProtocol::kHttpProtobuf),
                         [](const auto& parameter) {
                           return parameter.param == ExportProtocol::kGrpc ? "Grpc" : "Http";
                         });

}  // namespace
}  // namespace stackray
