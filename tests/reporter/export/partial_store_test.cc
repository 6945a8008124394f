// A receiver that allows a tenth of what it is sent, stores of a request what fits and then refuses
// the whole of it, as Pyroscope 2 does: nothing is stored twice, and what is in doubt is counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "reporter/check.h"
#include "reporter/export/export_queue.h"
#include "reporter/proto/profiles_service.pb.h"
#include "reporter/spool/spool.h"
#include "tests/reporter/batch_events.h"
#include "tests/reporter/export/fake_transport.h"
#include "tests/reporter/export/grpc_receiver.h"
#include "tests/reporter/export/http_receiver.h"
#include "tests/reporter/export/sample_lines.h"
#include "tests/reporter/export/test_batches.h"
#include "tests/reporter/export/test_settings.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

using Request =
    opentelemetry::proto::collector::profiles::v1development::ExportProfilesServiceRequest;
using Lines = std::vector<std::string>;

constexpr int kBatches = 12;
constexpr double kSecondsEach = 15;  // How often a batch is produced.

Lines LinesOf(const std::string& bytes) {
  absl::StatusOr<Lines> lines = SampleLines(bytes);
  EXPECT_TRUE(lines.ok()) << lines.status();
  return lines.ok() ? *std::move(lines) : Lines();
}

size_t TextBytes(const Lines& lines) {
  size_t bytes = 0;
  for (const std::string& line : lines) bytes += line.size();
  return bytes;
}

// No two samples of any two batches are alike.
SealedBatchPtr BatchNumber(int number) {
  constexpr int64_t kStart = 1'700'000'000'000'000'000, kSecond = 1'000'000'000;
  return BatchEvents(static_cast<uint32_t>(number) + 1, false)
      .Replay(0, 400)
      .Seal(kStart - number * kSecond, kStart + kSecond);
}

// The samples of each profile, as lines.
std::vector<Lines> LinesByProfile(const std::string& bytes) {
  Request request;
  EXPECT_TRUE(request.ParseFromString(bytes));
  std::vector<Lines> result;
  for (const auto& resource : request.resource_profiles())
    for (const auto& scope : resource.scope_profiles())
      for (const auto& profile : scope.profiles()) {
        Request one;
        *one.mutable_dictionary() = request.dictionary();
        auto* resource_copy = one.add_resource_profiles();
        *resource_copy->mutable_resource() = resource.resource();
        auto* scope_copy = resource_copy->add_scope_profiles();
        *scope_copy->mutable_scope() = scope.scope();
        *scope_copy->add_profiles() = profile;
        result.push_back(LinesOf(one.SerializeAsString()));
      }
  return result;
}

// A bucket of bytes that is filled as time passes, and what got through.
class Store {
 public:
  Store(ExportClock& clock, double bytes_per_second, double burst)
      : clock_(clock), rate_(bytes_per_second), burst_(burst), tokens_(burst), at_(clock.Now()) {}

  // False: the request is refused, whatever of it was stored.
  bool Take(const std::string& bytes) {
    EXPECT_TRUE(CheckBatch(bytes).empty());
    const std::chrono::duration<double> passed = clock_.Now() - at_;
    tokens_ = std::min(tokens_ + rate_ * passed.count(), burst_);
    at_ = clock_.Now();
    Lines taken, refused;
    for (const Lines& profile : LinesByProfile(bytes)) {
      const auto size = static_cast<double>(TextBytes(profile));
      EXPECT_LE(size, burst_) << "the test's own limit allows no profile of this size";
      Lines& where = size <= tokens_ ? taken : refused;
      if (size <= tokens_) tokens_ -= size;
      where.insert(where.end(), profile.begin(), profile.end());
    }
    stored.insert(stored.end(), taken.begin(), taken.end());
    if (refused.empty()) return true;
    ++refusals;
    if (first_stored.empty() && first_refused.empty()) {
      first_stored = taken;
      first_refused = refused;
    }
    return false;
  }

  Lines stored, first_stored, first_refused;
  int refusals = 0;

 private:
  ExportClock& clock_;
  const double rate_, burst_;
  double tokens_;
  ExportClock::Time at_;
};

struct Kind {
  ExportProtocol protocol;
  bool spool;
};

class PartialStore : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    size_t bytes = 0;
    for (int i = 0; i < kBatches; ++i) {
      batches_.push_back(BatchNumber(i));
      const Lines lines = LinesOf(batches_.back()->bytes);
      bytes += TextBytes(lines);
      produced_.insert(produced_.end(), lines.begin(), lines.end());
    }
    const double each = static_cast<double>(bytes) / kBatches;
    store_.emplace(clock_, each / kSecondsEach / 10, each / 3);
    ASSERT_EQ(std::set<std::string>(produced_.begin(), produced_.end()).size(), produced_.size());
  }

  uint16_t StartReceiver() {
    if (GetParam().protocol == ExportProtocol::kGrpc) {
      grpc_.emplace([this](const GrpcRequest& request) {
        if (store_->Take(request.bytes)) return GrpcAnswer();
        return GrpcAnswer{.status = {grpc::RESOURCE_EXHAUSTED,
                                     "push rate limit (4 MiB) exceeded while adding 97 KiB"}};
      });
      return grpc_->port();
    }
    http_.emplace([this](const HttpRequest& request, httplib::Response& response) {
      response.status = store_->Take(request.bytes) ? 200 : 429;
    });
    return http_->port();
  }

  std::unique_ptr<ExportQueue> StartQueue() {
    std::unique_ptr<Spool> spool;
    if (GetParam().spool)
      spool = std::move(Spool::Open({.directory = directory_.path(), .receiver = "r"})->spool);
    return ExportQueue::Start(MakeTransport(LocalSettings(GetParam().protocol, StartReceiver())),
                              {.clock = &clock_}, {}, std::move(spool));
  }

  const test::TemporaryDirectory directory_;
  JumpingClock clock_;
  std::vector<SealedBatchPtr> batches_;
  Lines produced_;
  std::optional<Store> store_;
  std::optional<GrpcReceiver> grpc_;
  std::optional<HttpReceiver> http_;
};

TEST_P(PartialStore, NothingIsStoredTwiceAndTheDoubtIsCounted) {
  const auto queue = StartQueue();
  for (const SealedBatchPtr& batch : batches_) queue->Add(Payload::Of(batch));
  ASSERT_TRUE(queue->Flush(std::chrono::seconds(60))) << queue->Counts().failing_with;
  const DeliveryCounts counts = queue->Counts();
  EXPECT_TRUE(AddsUp(counts));
  EXPECT_EQ(counts.LostInAll(), ItemCount{});
  EXPECT_GT(store_->refusals, 10) << "the limit was not met, so nothing is shown";

  // The first refusal stored a part, and is the only doubt.
  EXPECT_GT(store_->first_stored.size(), 0u);
  EXPECT_GT(store_->first_refused.size(), 0u);
  EXPECT_EQ(counts.partly_rejected_batches, 1u);

  std::sort(store_->stored.begin(), store_->stored.end());
  EXPECT_EQ(std::adjacent_find(store_->stored.begin(), store_->stored.end()), store_->stored.end())
      << "stored twice";
  // Produced is what is stored and what the first refusal left out, sample for sample.
  Lines sum = store_->stored;
  sum.insert(sum.end(), store_->first_refused.begin(), store_->first_refused.end());
  std::sort(sum.begin(), sum.end());
  std::sort(produced_.begin(), produced_.end());
  EXPECT_EQ(sum, produced_);
  // That part lies within what the account calls in doubt.
  const uint64_t first = batches_.front()->samples;
  EXPECT_EQ(counts.partly_rejected.items, first);
  EXPECT_EQ(counts.delivered, counts.produced);
}

INSTANTIATE_TEST_SUITE_P(
    All, PartialStore,
    testing::Values(Kind{ExportProtocol::kGrpc, false}, Kind{ExportProtocol::kGrpc, true},
                    Kind{ExportProtocol::kHttpProtobuf, false},
                    Kind{ExportProtocol::kHttpProtobuf, true}),
    [](const auto& parameter) {
      return std::string(parameter.param.protocol == ExportProtocol::kGrpc ? "Grpc" : "Http") +
             (parameter.param.spool ? "Spool" : "Memory");
    });

}  // namespace
}  // namespace stackray
