#include "reporter/export/receiver_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "reporter/export/receiver_headers.h"
#include "reporter/shown_url.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

using Variables = std::map<std::string, std::string>;

absl::StatusOr<ReceiverSettings> Read(const Variables& variables,
                                      const ReceiverOverrides& overrides = {}) {
  return ReceiverSettingsFromEnvironment(
      [&variables](const char* name) -> const char* {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      overrides);
}

std::string ErrorOf(const Variables& variables, const ReceiverOverrides& overrides = {}) {
  const absl::StatusOr<ReceiverSettings> settings = Read(variables, overrides);
  if (settings.ok()) return "no error";
  EXPECT_EQ(settings.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(settings.status().message());
}

std::string UrlOf(const Variables& variables, const ReceiverOverrides& overrides = {}) {
  const absl::StatusOr<ReceiverSettings> settings = Read(variables, overrides);
  return settings.ok() ? settings->endpoint.Url() : std::string(settings.status().message());
}

TEST(ReceiverSettings, DefaultsAreOtlps) {
  const absl::StatusOr<ReceiverSettings> settings = Read({});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->protocol, ExportProtocol::kGrpc);
  EXPECT_EQ(settings->endpoint.Authority(), "localhost:4317");
  EXPECT_FALSE(settings->endpoint.tls);
  EXPECT_FALSE(settings->endpoint_given);
  EXPECT_EQ(settings->compression, ExportCompression::kGzip);
  EXPECT_EQ(settings->timeout, milliseconds(10000));
  EXPECT_EQ(UrlOf({{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"}}),
            "http://localhost:4318/v1development/profiles");
}

TEST(ReceiverSettings, CommandLineBeatsSignalBeatsGeneric) {
  Variables variables = {{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://generic:1"},
                         {"OTEL_EXPORTER_OTLP_TIMEOUT", "111"}};
  EXPECT_EQ(Read(variables)->endpoint.Authority(), "generic:1");
  EXPECT_EQ(Read(variables)->timeout, milliseconds(111));
  variables["OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT"] = "http://signal:2";
  variables["OTEL_EXPORTER_OTLP_PROFILES_TIMEOUT"] = "222";
  EXPECT_EQ(Read(variables)->endpoint.Authority(), "signal:2");
  EXPECT_EQ(Read(variables)->timeout, milliseconds(222));
  const absl::StatusOr<ReceiverSettings> settings =
      Read(variables, {.endpoint = "http://flag:3", .timeout = "333"});
  EXPECT_EQ(settings->endpoint.Authority(), "flag:3");
  EXPECT_EQ(settings->timeout, milliseconds(333));
  EXPECT_TRUE(settings->endpoint_given);
}

TEST(ReceiverSettings, AnEmptyVariableCountsAsUnset) {
  EXPECT_EQ(Read({{"OTEL_EXPORTER_OTLP_PROFILES_TIMEOUT", ""}, {"OTEL_EXPORTER_OTLP_TIMEOUT", "5"}})
                ->timeout,
            milliseconds(5));
}

TEST(ReceiverSettings, AGenericHttpEndpointIsABaseUrlAndTheSignalsOwnIsNot) {
  const Variables http = {{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"}};
  const auto with = [&http](const char* name, const char* value) {
    Variables variables = http;
    variables[name] = value;
    return UrlOf(variables);
  };
  EXPECT_EQ(with("OTEL_EXPORTER_OTLP_ENDPOINT", "https://host:1/otlp/"),
            "https://host:1/otlp/v1development/profiles");
  EXPECT_EQ(with("OTEL_EXPORTER_OTLP_ENDPOINT", "http://host"),
            "http://host:4318/v1development/profiles");
  EXPECT_EQ(with("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", "http://host:1/my/path?tenant=1"),
            "http://host:1/my/path?tenant=1");
  EXPECT_EQ(with("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", "http://host:1"), "http://host:1/");
  EXPECT_EQ(UrlOf(http, {.endpoint = "http://host:1"}), "http://host:1/v1development/profiles");
  EXPECT_EQ(UrlOf(http, {.endpoint = "http://host:1/v1development/profiles"}),
            "http://host:1/v1development/profiles");
}

TEST(ReceiverSettings, TheSchemeDecidesAboutTlsAndInsecureWhereThereIsNone) {
  EXPECT_TRUE(Read({}, {.endpoint = "https://host:1"})->endpoint.tls);
  EXPECT_TRUE(Read({}, {.endpoint = "host:1"})->endpoint.tls);
  EXPECT_FALSE(
      Read({{"OTEL_EXPORTER_OTLP_INSECURE", "TRUE"}}, {.endpoint = "host:1"})->endpoint.tls);
  EXPECT_TRUE(Read({{"OTEL_EXPORTER_OTLP_INSECURE", "true"}}, {.endpoint = "https://host:1"})
                  ->endpoint.tls);
  EXPECT_EQ(Read({}, {.endpoint = "http://[::1]:4317"})->endpoint.Authority(), "[::1]:4317");
  EXPECT_EQ(Read({}, {.endpoint = "HTTP://host"})->endpoint.Authority(), "host:4317");
}

TEST(ReceiverSettings, EndpointErrorsSayWhatToWrite) {
  const auto error = [](const char* endpoint) {
    return ErrorOf({{"OTEL_EXPORTER_OTLP_ENDPOINT", endpoint}});
  };
  EXPECT_THAT(error("ftp://host"), AllOf(HasSubstr("OTEL_EXPORTER_OTLP_ENDPOINT"),
                                         HasSubstr("\"ftp\""), HasSubstr("http://HOST:PORT")));
  for (const char* no_host : {"http://", "http://:4317", "https:///path"})
    EXPECT_THAT(error(no_host), HasSubstr("write http://HOST:PORT")) << no_host;
  EXPECT_THAT(error("http://host:99999"), HasSubstr("port"));
  EXPECT_THAT(error("http://host:0"), HasSubstr("port"));
  EXPECT_THAT(error("http://host:1/path"), HasSubstr("http/protobuf"));
  EXPECT_THAT(error("http://me:secret@host:1"),
              AllOf(HasSubstr("header"), Not(HasSubstr("secret"))));
  EXPECT_THAT(error("http://ho st"), HasSubstr("endpoint"));
  EXPECT_THAT(ErrorOf({}, {.endpoint = "ftp://x"}), HasSubstr("--endpoint"));
}

TEST(ReceiverSettings, OtherErrorsSayWhatToWrite) {
  for (const char* timeout : {"0", "-1", "10s", "1.5", "99999999999999999999", "abc"})
    EXPECT_THAT(ErrorOf({{"OTEL_EXPORTER_OTLP_TIMEOUT", timeout}}), HasSubstr("milliseconds"))
        << timeout;
  EXPECT_THAT(ErrorOf({{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"}}),
              HasSubstr("grpc or http/protobuf"));
  EXPECT_THAT(ErrorOf({{"OTEL_EXPORTER_OTLP_COMPRESSION", "br"}}), HasSubstr("gzip, zstd or none"));
  EXPECT_THAT(ErrorOf({{"OTEL_EXPORTER_OTLP_INSECURE", "maybe"}}), HasSubstr("true or false"));
}

TEST(ReceiverSettings, HeadersAreDecodedAndInLowerCase) {
  const absl::StatusOr<ReceiverSettings> settings =
      Read({{"OTEL_EXPORTER_OTLP_HEADERS", " Authorization = Basic%20YTpi ,x-tenant=a=b,"}});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_THAT(settings->headers,
              ElementsAre(Pair("authorization", "Basic YTpi"), Pair("x-tenant", "a=b")));
}

TEST(ReceiverSettings, HeaderErrorsNeverShowAValue) {
  const auto error = [](const char* headers) {
    return ErrorOf({{"OTEL_EXPORTER_OTLP_HEADERS", headers}});
  };
  EXPECT_THAT(error("a=1,justtext"),
              AllOf(HasSubstr("header 2"), HasSubstr("NAME=VALUE"), Not(HasSubstr("justtext"))));
  EXPECT_THAT(error("=secret"), AllOf(HasSubstr("name is empty"), Not(HasSubstr("secret"))));
  EXPECT_THAT(error("na me=secret"), Not(HasSubstr("secret")));
  EXPECT_THAT(error("key=sec%ret"), AllOf(HasSubstr("%XX"), Not(HasSubstr("ret\""))));
  EXPECT_THAT(error("key=a%0d%0aInjected:%201"), HasSubstr("printable"));
  EXPECT_THAT(error("content-type=text"), HasSubstr("leave it out"));
  EXPECT_THAT(error("grpc-timeout=1"), HasSubstr("leave it out"));
}

class TlsSettings : public testing::Test {
 protected:
  std::string File(const char* name, const char* text) { return directory_.Write(name, text); }
  const test::TemporaryDirectory directory_;
};

TEST_F(TlsSettings, FilesMustBeReadablePem) {
  const std::string missing = directory_.File("missing.pem");
  EXPECT_THAT(ErrorOf({{"OTEL_EXPORTER_OTLP_CERTIFICATE", missing}}),
              AllOf(HasSubstr("OTEL_EXPORTER_OTLP_CERTIFICATE"), HasSubstr(missing),
                    HasSubstr("No such file")));
  EXPECT_THAT(ErrorOf({{"OTEL_EXPORTER_OTLP_CERTIFICATE", directory_.path()}}),
              HasSubstr("not PEM"));
  EXPECT_THAT(ErrorOf({{"OTEL_EXPORTER_OTLP_CERTIFICATE", File("der", "\x30\x82")}}),
              HasSubstr("not PEM"));
  const std::string good = File("ca.pem", "-----BEGIN CERTIFICATE-----\n");
  EXPECT_EQ(Read({{"OTEL_EXPORTER_OTLP_PROFILES_CERTIFICATE", good}})->ca_certificate_file, good);
}

TEST_F(TlsSettings, CertificateAndKeyBelongTogether) {
  const std::string pem = File("client.pem", "-----BEGIN CERTIFICATE-----\n");
  EXPECT_THAT(ErrorOf({{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", pem}}),
              HasSubstr("set OTEL_EXPORTER_OTLP_CLIENT_KEY"));
  EXPECT_THAT(ErrorOf({{"OTEL_EXPORTER_OTLP_CLIENT_KEY", pem}}),
              HasSubstr("set OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"));
  EXPECT_EQ(Read({}, {.client_certificate_file = pem, .client_key_file = pem})->client_key_file,
            pem);
}

TEST(ShownUrl, HasNeitherPasswordNorQuery) {
  EXPECT_EQ(ShownUrl("https://collector:4317/path"), "https://collector:4317/path");
  EXPECT_EQ(ShownUrl("https://user:pass@collector:4317"), "https://***@collector:4317");
  EXPECT_EQ(ShownUrl("user:pass@collector"), "***@collector");
  EXPECT_EQ(ShownUrl("https://a:p@b/c@d:1?key=k"), "https://***@d:1?***");
  EXPECT_EQ(ShownUrl("http://c/p?key=k&x=u@v"), "http://***");
  EXPECT_EQ(ShownUrl("http://u:p?q@c"), "http://***");
  for (const char* text : {"", "://", "@", "?", "a?", "://@?"}) (void)ShownUrl(text);
}

TEST(HideHeaderValues, TakesOutWhatAReceiverRepeats) {
  const HeaderList headers = {{"authorization", "Bearer t0k3n-t0k3n"}, {"x-id", "abc"}};
  std::string text = "HTTP 403: t0k3n-t0k3n is no token (Bearer t0k3n-t0k3n), abc";
  HideHeaderValues(headers, text);
  EXPECT_EQ(text, "HTTP 403: *** is no token (*** ***), abc");  // Three letters may be a word.
}

TEST(TracesSettings, HaveVariablesOfTheirOwn) {
  const std::map<std::string, std::string> variables = {
      {"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"},
      {"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:1/base"},
      {"OTEL_EXPORTER_OTLP_PROFILES_HEADERS", "only=profiles"},
      {"OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "none"}};
  const auto settings = ReceiverSettingsFromEnvironment(
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      {}, Signal::kTraces);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->endpoint.Url(), "http://c:1/base/v1/traces");
  EXPECT_EQ(settings->endpoint.signal, Signal::kTraces);
  EXPECT_TRUE(settings->headers.empty());
  EXPECT_EQ(settings->compression, ExportCompression::kNone);
}

}  // namespace
}  // namespace stackray
