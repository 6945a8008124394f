#include "agent/reports/report_upload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/temporary_directory.h"

namespace stackray {
namespace {

using testing::HasSubstr;

constexpr char kName[] = "report-h-1-test";

// Object storage that keeps what it gets, where it likes the request.
class Storage {
 public:
  Storage() {
    server_.Put(".*", [this](const httplib::Request& request, httplib::Response& response) {
      authorization = request.get_header_value("Authorization");
      token = request.get_header_value("x-amz-security-token");
      path = request.path;
      body = request.body;
      ++requests;
      std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
      response.status = status;
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
  }
  ~Storage() {
    server_.stop();
    thread_.join();
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  std::atomic<int> status{200}, requests{0}, wait_ms{0};
  std::string authorization, token, path, body;

 private:
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

TEST(UploadVariables, AreReadFromLines) {
  const UploadVariables variables = ParseUploadVariables(
      "# comment\nexport "
      "AWS_ACCESS_KEY_ID=a\nAWS_SECRET_ACCESS_KEY=\"b=c\"\r\n\nPATH=/bin\nAWS_REGION"
      "\nAWS_SESSION_TOKEN='t'");
  EXPECT_EQ(variables, (UploadVariables{{"AWS_ACCESS_KEY_ID", "a"},
                                        {"AWS_SECRET_ACCESS_KEY", "b=c"},
                                        {"AWS_SESSION_TOKEN", "t"}}));
}

TEST(UploadRequest, AddressesOfS3) {
  const UploadVariables keys = {{"AWS_ACCESS_KEY_ID", "k"}, {"AWS_SECRET_ACCESS_KEY", "s"}};
  EXPECT_EQ(MakeUploadRequest("s3://b/p/q", "f", keys)->url,
            "https://b.s3.us-east-1.amazonaws.com/p/q/f");
  EXPECT_EQ(MakeUploadRequest("s3://b", "f", keys)->url, "https://b.s3.us-east-1.amazonaws.com/f");
  UploadVariables elsewhere = keys;
  elsewhere["AWS_ENDPOINT_URL"] = "http://127.0.0.1:9000/";
  elsewhere["AWS_REGION"] = "eu-1";
  EXPECT_EQ(MakeUploadRequest("s3://b/p/", "f", elsewhere)->url, "http://127.0.0.1:9000/b/p/f");
  EXPECT_EQ(MakeUploadRequest("s3://b/p/", "f", elsewhere)->signature, "aws:amz:eu-1:s3");
  EXPECT_EQ(MakeUploadRequest("https://h/p", "f", {})->url, "https://h/p/f");
  EXPECT_TRUE(absl::IsFailedPrecondition(MakeUploadRequest("s3://b/p", "f", {}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(MakeUploadRequest("s3:///p", "f", keys).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(MakeUploadRequest("ftp://h", "f", keys).status()));
}

// Object storage that refuses, and sends back all it was sent, with escapes.
TEST(PutFile, WhatItIsRefusedWithHoldsNoSecret) {
  httplib::Server server;
  server.Put(".*", [](const httplib::Request& request, httplib::Response& response) {
    std::string text = "\x1b]0;owned\x07 you sent";
    for (const auto& [name, value] : request.headers) text += "\r\n" + name + "=" + value;
    response.status = 403;
    response.set_content(text, "text/plain");
  });
  const int port = server.bind_to_any_port("127.0.0.1");
  std::thread thread([&] { server.listen_after_bind(); });
  const UploadVariables keys = {{"AWS_ACCESS_KEY_ID", "AKIAKEYOFTHETEST"},
                                {"AWS_SECRET_ACCESS_KEY", "s3cr3tkey"},
                                {"AWS_SESSION_TOKEN", "s3cr3ttoken"},
                                {"AWS_ENDPOINT_URL", "http://127.0.0.1:" + std::to_string(port)}};
  const test::TemporaryDirectory directory;
  const auto request = MakeUploadRequest("s3://b/p", "f", keys);
  ASSERT_TRUE(request.ok()) << request.status();
  const absl::Status status =
      PutFile(*request, directory.Write("f", "the report"), [] { return false; });
  server.stop();
  thread.join();
  EXPECT_TRUE(absl::IsUnauthenticated(status)) << status;
  const std::string text(status.message());
  EXPECT_THAT(text, HasSubstr("you sent"));
  EXPECT_THAT(text, HasSubstr("***"));
  for (const char* secret : {"s3cr3t", "AKIAKEYOFTHETEST"})
    EXPECT_THAT(text, testing::Not(HasSubstr(secret)));
  EXPECT_EQ(text.find_first_of("\x1b\x07\r\n"), std::string::npos);
}

class UploaderTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_.Write(std::string(kName) + ".tar.zst", "the report");
    credentials_ = directory_.Write("credentials",
                                    "AWS_ACCESS_KEY_ID=k\nAWS_SECRET_ACCESS_KEY=s\n"
                                    "AWS_SESSION_TOKEN=t\nAWS_ENDPOINT_URL=" +
                                        storage_.url() + "\n");
  }
  bool Until(const std::function<bool()>& condition) {
    for (int i = 0; i < 200; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }
  const test::TemporaryDirectory directory_;
  Storage storage_;
  std::string credentials_;
};

TEST_F(UploaderTest, AReportArrivesSignedAndItsMarkGoes) {
  ReportUploader uploader(directory_.path(), {"s3://bucket/prefix", credentials_});
  uploader.Add(kName);
  ASSERT_TRUE(Until([&] { return uploader.counts().uploaded == 1; }))
      << uploader.counts().last_failure;
  EXPECT_EQ(storage_.path, "/bucket/prefix/report-h-1-test.tar.zst");
  EXPECT_EQ(storage_.body, "the report");
  EXPECT_EQ(storage_.token, "t");
  EXPECT_THAT(storage_.authorization, HasSubstr("AWS4-HMAC-SHA256 Credential=k/"));
  EXPECT_THAT(storage_.authorization, HasSubstr("/us-east-1/s3/aws4_request"));
  EXPECT_FALSE(std::filesystem::exists(directory_.File(std::string(kName) + kUploadMark)));
}

TEST_F(UploaderTest, WhatFailsIsTriedAgainAlsoByTheNextAgent) {
  storage_.status = 403;
  {
    ReportUploader uploader(directory_.path(), {"s3://bucket", credentials_});
    uploader.Add(kName);
    ASSERT_TRUE(Until([&] { return uploader.counts().failures >= 1; }));
    EXPECT_THAT(uploader.counts().last_failure, HasSubstr("403"));
  }
  EXPECT_TRUE(std::filesystem::exists(directory_.File(std::string(kName) + kUploadMark)));
  storage_.status = 200;
  const ReportUploader next(directory_.path(), {"s3://bucket", credentials_});
  EXPECT_TRUE(Until([&] { return next.counts().uploaded == 1; }));
}

TEST_F(UploaderTest, ATransferIsGivenUpWhenTheAgentEnds) {
  storage_.wait_ms = 3000;
  const auto begin = std::chrono::steady_clock::now();
  {
    ReportUploader uploader(directory_.path(), {"s3://bucket", credentials_});
    uploader.Add(kName);
    ASSERT_TRUE(Until([&] { return storage_.requests == 1; }));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(2900));
  EXPECT_TRUE(std::filesystem::exists(directory_.File(std::string(kName) + kUploadMark)));
}

TEST_F(UploaderTest, AMarkWithoutItsReportGoes) {
  directory_.Write(std::string("report-gone") + kUploadMark, "");
  const ReportUploader uploader(directory_.path(), {"s3://bucket", credentials_});
  EXPECT_TRUE(Until([&] {
    return !std::filesystem::exists(directory_.File(std::string("report-gone") + kUploadMark));
  }));
  EXPECT_EQ(storage_.requests, 0);
}

}  // namespace
}  // namespace stackray
