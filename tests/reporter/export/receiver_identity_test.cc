#include "reporter/export/receiver_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reporter/export/test_settings.h"

namespace stackray {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ReceiverIdentity, IsProtocolAddressAndPath) {
  EXPECT_EQ(ReceiverIdentity(LocalSettings(ExportProtocol::kGrpc, 4317)), "grpc://127.0.0.1:4317");
  EXPECT_EQ(ReceiverIdentity(LocalSettings(ExportProtocol::kHttpProtobuf, 4318)),
            "http://127.0.0.1:4318/v1development/profiles");
  ReceiverSettings tls = LocalSettings(ExportProtocol::kGrpc, 4317);
  tls.endpoint.tls = true;
  EXPECT_EQ(ReceiverIdentity(tls), "grpcs://127.0.0.1:4317");
}

TEST(ReceiverIdentity, ATenantIsAnotherReceiverAndANewPasswordIsNot) {
  ReceiverSettings one = LocalSettings(ExportProtocol::kGrpc, 4317);
  one.headers = {{"x-scope-orgid", "blue"}, {"authorization", "Bearer one"}};
  ReceiverSettings other = one;
  other.headers[1].second = "Bearer two";
  EXPECT_EQ(ReceiverIdentity(one), ReceiverIdentity(other));
  std::swap(other.headers[0], other.headers[1]);
  EXPECT_EQ(ReceiverIdentity(one), ReceiverIdentity(other));
  other.headers[1].second = "green";
  EXPECT_NE(ReceiverIdentity(one), ReceiverIdentity(other));
}

TEST(ReceiverIdentity, ShowsNoSecret) {
  ReceiverSettings settings = LocalSettings(ExportProtocol::kHttpProtobuf, 4318);
  settings.endpoint.http_path = "/profiles?token=hush";
  settings.headers = {{"x-tenant", "quiet"}};
  const std::string identity = ReceiverIdentity(settings);
  EXPECT_THAT(identity, HasSubstr("http://127.0.0.1:4318/profiles "));
  EXPECT_THAT(identity, Not(HasSubstr("hush")));
  EXPECT_THAT(identity, Not(HasSubstr("quiet")));
}

}  // namespace
}  // namespace stackray
