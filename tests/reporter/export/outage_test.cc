// Queue and transport together against receivers that come, go, and are in trouble: nothing is
// lost, and sender and receiver agree on every sample.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "reporter/export/export_queue.h"
#include "tests/reporter/export/grpc_receiver.h"
#include "tests/reporter/export/http_receiver.h"
#include "tests/reporter/export/test_batches.h"
#include "tests/reporter/export/test_ports.h"
#include "tests/reporter/export/test_settings.h"

namespace stackray {
namespace {

using std::chrono::milliseconds;

constexpr RetryTimings kQuick{.first = milliseconds(2), .longest = milliseconds(10)};
constexpr std::chrono::seconds kLong{30};

std::unique_ptr<ExportQueue> StartQueue(ExportProtocol protocol, uint16_t port,
                                        ExportHooks hooks = {}) {
  return ExportQueue::Start(MakeTransport(LocalSettings(protocol, port)), {.retry = kQuick},
                            std::move(hooks));
}

// Batch `i` has i + 1 samples and says so in its bytes.
Payload Numbered(int i) { return MakeBatch(std::to_string(i), static_cast<uint64_t>(i) + 1); }

// A receiver of either protocol whose answers are those of an HTTP status or a gRPC code.
class AnyReceiver {
 public:
  // `fails` says for the n-th request, from 0, whether it is refused for now.
  AnyReceiver(ExportProtocol protocol, uint16_t port, std::function<bool(int)> fails)
      : fails_(std::move(fails)) {
    if (protocol == ExportProtocol::kGrpc) {
      grpc_.emplace(
          [this](const GrpcRequest& request) {
            if (!Takes(request.bytes)) return GrpcAnswer{.status = {grpc::UNAVAILABLE, "busy"}};
            return GrpcAnswer();
          },
          GrpcReceiver::Options{.port = port});
    } else {
      http_.emplace(
          [this](const HttpRequest& request, httplib::Response& response) {
            response.status = Takes(request.bytes) ? 200 : 503;
          },
          HttpReceiver::Options{.port = port});
    }
  }
  uint16_t port() const { return grpc_ ? grpc_->port() : http_->port(); }
  std::vector<std::string> taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }

 private:
  bool Takes(const std::string& bytes) {
    const std::lock_guard lock(mutex_);
    if (fails_(requests_++)) return false;
    taken_.push_back(bytes);
    return true;
  }

  const std::function<bool(int)> fails_;
  mutable std::mutex mutex_;
  int requests_ = 0;
  std::vector<std::string> taken_;
  std::optional<GrpcReceiver> grpc_;  // Last: their threads end before what they use.
  std::optional<HttpReceiver> http_;
};

bool Never(int) { return false; }

class Outage : public testing::TestWithParam<ExportProtocol> {};

TEST_P(Outage, AbsentAtStartThenComes) {
  const ReservedPort port;
  const auto queue = StartQueue(GetParam(), port.port());
  for (int i = 0; i < 5; ++i) queue->Add(Numbered(i));
  ASSERT_TRUE(Eventually([&] { return queue->Counts().retries >= 3; }));
  EXPECT_EQ(queue->Counts().in_flight.items, 15u);
  AnyReceiver receiver(GetParam(), port.port(), Never);
  ASSERT_TRUE(queue->Flush(kLong)) << queue->Counts().failing_with;
  EXPECT_EQ(queue->Counts().delivered.items, 15u);
  EXPECT_THAT(receiver.taken(), testing::ElementsAre("0", "1", "2", "3", "4"));
}

TEST_P(Outage, GoesAwayAndComesBack) {
  const ReservedPort port;
  std::optional<AnyReceiver> receiver;
  receiver.emplace(GetParam(), port.port(), Never);
  const auto queue = StartQueue(GetParam(), port.port());
  std::vector<std::string> taken;
  uint64_t produced = 0;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 4; ++i) {
      queue->Add(Numbered(round * 10 + i));
      produced += static_cast<uint64_t>(round * 10 + i) + 1;
    }
    ASSERT_TRUE(queue->Flush(kLong)) << queue->Counts().failing_with;
    const std::vector<std::string> now = receiver->taken();
    taken.insert(taken.end(), now.begin(), now.end());
    receiver.reset();
    queue->Add(Numbered(round * 10 + 9));
    produced += static_cast<uint64_t>(round * 10 + 9) + 1;
    const uint64_t before = queue->Counts().retries;
    ASSERT_TRUE(Eventually([&] { return queue->Counts().retries > before + 1; }));
    receiver.emplace(GetParam(), port.port(), Never);
  }
  ASSERT_TRUE(queue->Flush(kLong));
  for (const std::string& bytes : receiver->taken()) taken.push_back(bytes);
  const DeliveryCounts counts = queue->Counts();
  EXPECT_EQ(counts.delivered.items, produced);
  EXPECT_EQ(counts.LostInAll(), ItemCount{});
  EXPECT_TRUE(AddsUp(counts));
  EXPECT_EQ(taken.size(), 15u);
  EXPECT_EQ(std::set<std::string>(taken.begin(), taken.end()).size(), 15u)
      << "something came twice";
}

TEST_P(Outage, UnavailableEverySecondCall) {
  AnyReceiver receiver(GetParam(), 0, [](int n) { return n % 2 == 0; });
  const auto queue = StartQueue(GetParam(), receiver.port());
  for (int i = 0; i < 20; ++i) queue->Add(Numbered(i));
  ASSERT_TRUE(queue->Flush(kLong));
  const DeliveryCounts counts = queue->Counts();
  EXPECT_EQ(counts.delivered.items, 210u);
  EXPECT_EQ(counts.retries, 20u);
  EXPECT_EQ(counts.attempts, 40u);
  EXPECT_EQ(receiver.taken().size(), 20u);
}

TEST_P(Outage, StartAndStopWithoutAReceiverTakeNoTime) {
  const ReservedPort port;
  const auto start = std::chrono::steady_clock::now();
  const auto queue = StartQueue(GetParam(), port.port());
  queue->Add(Numbered(0));
  queue->Stop();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(queue->Counts().lost[static_cast<size_t>(LossReason::kShutdown)].items, 1u);
}

INSTANTIATE_TEST_SUITE_P(Protocols, Outage,
                         testing::Values(ExportProtocol::kGrpc, ExportProtocol::kHttpProtobuf),
                         [](const auto& parameter) {
                           return parameter.param == ExportProtocol::kGrpc ? "Grpc" : "Http";
                         });

// The Collector's limit, with a splitter that cuts bytes.
TEST(SizeLimit, FourMebibytesAreMetBySplitting) {
  GrpcReceiver receiver([](const GrpcRequest&) { return GrpcAnswer(); });
  const SignalTraits traits = SplitBy(HalveItems);
  const auto queue =
      ExportQueue::Start(MakeTransport(LocalSettings(ExportProtocol::kGrpc, receiver.port())),
                         {.retry = kQuick, .traits = &traits}, {});
  const std::string bytes = NoiseBytes(10'000'000, 3);
  queue->Add(MakeBatch(bytes, 1001));
  ASSERT_TRUE(queue->Flush(kLong));
  EXPECT_EQ(queue->Counts().delivered.items, 1001u);
  EXPECT_EQ(queue->Counts().learned_size_limit, 4u << 20);
  std::string joined;
  for (const GrpcRequest& request : receiver.requests()) joined += request.bytes;
  EXPECT_EQ(joined, bytes);
}

}  // namespace
}  // namespace stackray
