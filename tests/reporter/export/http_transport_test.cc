#include "reporter/export/http_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <atomic>
#include <ctime>

#include "tests/reporter/export/http_receiver.h"
#include "tests/reporter/export/test_batches.h"
#include "tests/reporter/export/test_ports.h"
#include "tests/reporter/export/test_settings.h"

namespace stackray {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::SizeIs;
using Kind = SendResult::Kind;

std::string HeaderOf(const HttpRequest& request, const std::string& name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? "none" : found->second;
}

ReceiverSettings Settings(uint16_t port) {
  return LocalSettings(ExportProtocol::kHttpProtobuf, port);
}

HttpReceiver::Handler Always(int status, const std::string& body = "",
                             const std::string& type = "text/plain") {
  return [=](const HttpRequest&, httplib::Response& response) {
    response.status = status;
    if (!body.empty()) response.set_content(body, type.c_str());
  };
}

SendResult SendTo(const HttpReceiver& receiver, const std::string& bytes = "batch") {
  HttpTransport transport(Settings(receiver.port()));
  return transport.Send(MakeBatch(bytes, 1), kLongTimeout);
}

TEST(HttpTransport, TheSealedBytesArriveWithPathAndHeaders) {
  const std::string bytes = std::string("bytes\0and more", 14) + std::string(100'000, 'x');
  for (const ExportCompression compression : {ExportCompression::kGzip, ExportCompression::kNone}) {
    HttpReceiver receiver(Always(200));
    ReceiverSettings settings = Settings(receiver.port());
    settings.compression = compression;
    settings.headers = {{"x-tenant", "two"}};
    HttpTransport transport(settings);
    EXPECT_EQ(transport.Send(MakeBatch(bytes, 1), kLongTimeout).kind, Kind::kDelivered);
    ASSERT_THAT(receiver.requests(), SizeIs(1));
    const HttpRequest request = receiver.requests().front();
    EXPECT_EQ(request.bytes, bytes);
    EXPECT_EQ(request.path, "/v1development/profiles");
    EXPECT_EQ(HeaderOf(request, "Content-Type"), "application/x-protobuf");
    EXPECT_EQ(HeaderOf(request, "OTLP-Profiles-Development-Version"), "1");
    EXPECT_EQ(HeaderOf(request, "User-Agent"), "stackray");
    EXPECT_EQ(HeaderOf(request, "X-Tenant"), "two");
    EXPECT_EQ(HeaderOf(request, "Expect"), "none");
    const bool gzip = compression == ExportCompression::kGzip;
    EXPECT_EQ(HeaderOf(request, "Content-Encoding"), gzip ? "gzip" : "none");
    EXPECT_EQ(std::stoul(HeaderOf(request, "Content-Length")) < bytes.size(), gzip);
  }
}

TEST(HttpTransport, ZstdStepsDownToGzipAndGzipToPlain) {
  std::vector<std::string> tried;
  std::string accepted = "zstd";
  HttpReceiver receiver([&](const HttpRequest& request, httplib::Response& response) {
    tried.push_back(HeaderOf(request, "Content-Encoding"));
    response.status = tried.back() == accepted ? 200 : 415;
  });
  ReceiverSettings settings = Settings(receiver.port());
  settings.compression = ExportCompression::kZstd;
  HttpTransport transport(settings);
  const std::string bytes(5'000, 'x');
  EXPECT_EQ(transport.Send(MakeBatch(bytes, 1), kLongTimeout).kind, Kind::kDelivered);
  std::string plain(bytes.size(), '\0');
  const std::string wire = receiver.requests().front().bytes;
  ASSERT_EQ(ZSTD_decompress(plain.data(), plain.size(), wire.data(), wire.size()), bytes.size());
  EXPECT_EQ(plain, bytes);
  accepted = "gzip";
  EXPECT_EQ(transport.Send(MakeBatch(bytes, 1), kLongTimeout).kind, Kind::kDelivered);
  accepted = "none";
  EXPECT_EQ(transport.Send(MakeBatch(bytes, 1), kLongTimeout).kind, Kind::kDelivered);
  EXPECT_EQ(receiver.requests().back().bytes, bytes);
  EXPECT_THAT(tried, testing::ElementsAre("zstd", "zstd", "gzip", "gzip", "none"));
}

// A receiver that takes zstd for a damaged batch says so with 400, and loses nothing by it.
TEST(HttpTransport, A400BeforeZstdWasEverTakenIsTriedAsGzip) {
  std::vector<std::string> tried;
  HttpReceiver receiver([&](const HttpRequest& request, httplib::Response& response) {
    tried.push_back(HeaderOf(request, "Content-Encoding"));
    response.status = tried.back() == "gzip" ? 200 : 400;
    response.body = "failed to parse protobuf request";
  });
  ReceiverSettings settings = Settings(receiver.port());
  settings.compression = ExportCompression::kZstd;
  HttpTransport transport(settings);
  const SendResult first = transport.Send(MakeBatch(std::string(500, 'x'), 1), kLongTimeout);
  EXPECT_EQ(first.kind, Kind::kDelivered);
  EXPECT_THAT(first.note, testing::AllOf(HasSubstr("zstd"), HasSubstr("as gzip")));
  EXPECT_EQ(transport.Send(MakeBatch(std::string(500, 'y'), 1), kLongTimeout).note, "");
  EXPECT_THAT(tried, testing::ElementsAre("zstd", "gzip", "gzip"));
}

TEST(HttpTransport, A400AfterZstdWasTakenIsAboutTheBatch) {
  int requests = 0;
  HttpReceiver receiver([&](const HttpRequest&, httplib::Response& response) {
    response.status = ++requests == 1 ? 200 : 400;
  });
  ReceiverSettings settings = Settings(receiver.port());
  settings.compression = ExportCompression::kZstd;
  HttpTransport transport(settings);
  EXPECT_EQ(transport.Send(MakeBatch(std::string(500, 'x'), 1), kLongTimeout).kind,
            Kind::kDelivered);
  EXPECT_EQ(transport.Send(MakeBatch(std::string(500, 'y'), 1), kLongTimeout).kind,
            Kind::kRejected);
  EXPECT_EQ(requests, 2);
}

TEST(HttpTransport, StatusCodes) {
  EXPECT_EQ(SendTo(HttpReceiver(Always(400, "cannot parse"))).kind, Kind::kRejected);
  EXPECT_EQ(SendTo(HttpReceiver(Always(413))).kind, Kind::kTooLarge);
  EXPECT_EQ(SendTo(HttpReceiver(Always(429))).kind, Kind::kOverLimit);
  const SendResult missing = SendTo(HttpReceiver(Always(404)));
  EXPECT_EQ(missing.kind, Kind::kWrongProtocol);
  EXPECT_THAT(missing.message, HasSubstr("service.profilesSupport"));
}

TEST(HttpTransport, RetryAfterAsSecondsAndAsADate) {
  std::string header = "17";
  HttpReceiver receiver([&header](const HttpRequest&, httplib::Response& response) {
    response.status = 503;
    response.set_header("Retry-After", header);
  });
  SendResult result = SendTo(receiver);
  EXPECT_EQ(result.kind, Kind::kRetry);
  EXPECT_EQ(result.retry_after, std::chrono::seconds(17));
  const std::time_t later = std::time(nullptr) + 1000;
  char date[64];
  std::strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", std::gmtime(&later));
  header = date;
  result = SendTo(receiver);
  ASSERT_TRUE(result.retry_after);
  EXPECT_LE(*result.retry_after, std::chrono::seconds(1000));
  EXPECT_GE(*result.retry_after, std::chrono::seconds(970));
}

TEST(HttpTransport, PartialSuccess) {
  const std::string body(
      "\x0a\x08\x08\x03\x12\x04"
      "some",
      10);
  const SendResult result = SendTo(HttpReceiver(Always(200, body, "application/x-protobuf")));
  EXPECT_EQ(result.kind, Kind::kPartlyRejected);
  EXPECT_EQ(result.rejected_units, 3);
}

TEST(HttpTransport, TheServersOwnSizeLimit) {
  HttpReceiver receiver(Always(200), {.max_request_bytes = 1 << 20});
  ReceiverSettings settings = Settings(receiver.port());
  settings.compression = ExportCompression::kNone;
  HttpTransport transport(settings);
  const SendResult result = transport.Send(MakeBatch(NoiseBytes(3 << 20, 1), 1), kLongTimeout);
  EXPECT_EQ(result.kind, Kind::kTooLarge) << result.message;
  EXPECT_EQ(transport.Send(MakeBatch("small", 1), kLongTimeout).kind, Kind::kDelivered);
}

TEST(HttpTransport, RedirectsAreNotFollowed) {
  HttpReceiver elsewhere(Always(200));
  HttpReceiver receiver([&](const HttpRequest&, httplib::Response& response) {
    response.set_redirect("http://127.0.0.1:" + std::to_string(elsewhere.port()) + "/steal", 307);
  });
  const SendResult result = SendTo(receiver);
  EXPECT_EQ(result.kind, Kind::kRejected);
  EXPECT_THAT(result.message, HasSubstr("/steal"));
  EXPECT_THAT(elsewhere.requests(), SizeIs(0));
}

TEST(HttpTransport, AnEndlessAnswerIsCut) {
  EXPECT_EQ(SendTo(HttpReceiver(Always(200, std::string(8 << 20, 'x')))).kind, Kind::kDelivered);
  const SendResult result = SendTo(HttpReceiver(Always(500, std::string(8 << 20, 'x'))));
  EXPECT_EQ(result.kind, Kind::kRejected);
  EXPECT_LT(result.message.size(), 300u);
}

TEST(HttpTransport, NothingThatAReceiverSaysIsLongOrDrivesATerminal) {
  const std::string evil =
      "\x1b]0;owned\x07\r\nlevel=error msg=\"forged\" \x1b[2J" + std::string(6000, 'x');
  for (const int status : {400, 401, 413, 429, 500, 503}) {
    const SendResult result = SendTo(HttpReceiver(Always(status, evil)));
    EXPECT_NE(result.kind, Kind::kDelivered);
    EXPECT_EQ(result.message.find_first_of("\x1b\x07\r\n"), std::string::npos) << status;
    EXPECT_LT(result.message.size(), 1000u);
  }
}

TEST(HttpTransport, AHeadersValueComesBackInNoMessage) {
  HttpReceiver receiver([](const HttpRequest& request, httplib::Response& response) {
    std::string text = "you sent";
    for (const auto& [name, value] : request.headers) text += " " + name + "=" + value;
    response.status = 403;
    response.set_content(text, "text/plain");
  });
  ReceiverSettings settings = Settings(receiver.port());
  settings.headers = {{"authorization", "Bearer s3cr3t-of-the-receiver"}};
  HttpTransport transport(settings);
  const SendResult result = transport.Send(MakeBatch("x", 1), kLongTimeout);
  EXPECT_EQ(result.kind, Kind::kNoEntry);
  EXPECT_THAT(result.message, HasSubstr("you sent"));
  EXPECT_THAT(result.message, testing::Not(HasSubstr("s3cr3t")));
}

// 64 MiB of zeros: as packed text they are some KiB on their way.
TEST(HttpTransport, APackedAnswerIsNotExpanded) {
  const std::string zeros(64 << 20, '\0');
  std::string packed(compressBound(zeros.size()), '\0');
  uLongf size = packed.size();
  ASSERT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                     reinterpret_cast<const Bytef*>(zeros.data()), zeros.size()),
            Z_OK);
  packed.resize(size);
  HttpReceiver receiver([&](const HttpRequest&, httplib::Response& response) {
    response.status = 500;
    response.set_header("Content-Encoding", "deflate");
    response.set_content(packed, "text/plain");
  });
  EXPECT_LT(SendTo(receiver).message.size(), 1000u);
}

TEST(HttpTransport, NobodyThereIsRetried) {
  const ReservedPort port;
  HttpTransport transport(Settings(port.port()));
  const SendResult result = transport.Send(MakeBatch("x", 1), kLongTimeout);
  EXPECT_EQ(result.kind, Kind::kRetry);
  EXPECT_THAT(result.message, HasSubstr("127.0.0.1"));
  HttpReceiver receiver(Always(200), {.port = port.port()});
  EXPECT_EQ(transport.Send(MakeBatch("x", 1), kLongTimeout).kind, Kind::kDelivered);
}

TEST(HttpTransport, AConnectionThatClosesIsRetried) {
  ClosingListener listener;
  HttpTransport transport(Settings(listener.port()));
  EXPECT_EQ(transport.Send(MakeBatch("x", 1), kLongTimeout).kind, Kind::kRetry);
  EXPECT_GE(listener.accepted(), 1);
}

// A handler that answers only when the test is over.
class Slow {
 public:
  ~Slow() { Release(); }
  HttpReceiver::Handler handler() {
    return [this](const HttpRequest&, httplib::Response&) {
      entered_ = true;
      while (!released_) std::this_thread::sleep_for(milliseconds(1));
    };
  }
  bool entered() const { return entered_; }
  void Release() { released_ = true; }

 private:
  std::atomic<bool> entered_ = false, released_ = false;
};

TEST(HttpTransport, NoAnswerEndsWithTheTimeout) {
  Slow slow;
  HttpReceiver receiver(slow.handler());
  HttpTransport transport(Settings(receiver.port()));
  EXPECT_EQ(transport.Send(MakeBatch("x", 1), milliseconds(100)).kind, Kind::kRetry);
  slow.Release();
}

TEST(HttpTransport, CancelEndsATransferAndAllLaterOnes) {
  Slow slow;
  HttpReceiver receiver(slow.handler());
  HttpTransport transport(Settings(receiver.port()));
  SendResult result;
  std::thread sender([&] { result = transport.Send(MakeBatch("x", 1), std::chrono::hours(1)); });
  ASSERT_TRUE(Eventually([&] { return slow.entered(); }));
  transport.Cancel();
  sender.join();
  EXPECT_EQ(result.kind, Kind::kRetry);
  EXPECT_EQ(transport.Send(MakeBatch("x", 1), std::chrono::hours(1)).kind, Kind::kRetry);
  slow.Release();
}

}  // namespace
}  // namespace stackray
