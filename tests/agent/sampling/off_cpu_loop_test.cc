// Records of waits and page faults through the sample loop into sealed batches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reporter/check.h"
#include "reporter/proto/profiles_service.pb.h"
#include "tests/agent/sampling/loop_bench.h"
#include "tests/agent/sampling/record_bytes.h"

namespace stackray::test {
namespace {

using opentelemetry::proto::collector::profiles::v1development::ExportProfilesServiceRequest;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

constexpr process_key kProcess = {.pid = 5'000'001, .exec_id = 1, .start_time_ns = 1};
constexpr uint64_t kSecond = 1'000'000'000;

RecordBytes SampleOf(sample_origin origin, uint32_t tid, uint64_t time_ns) {
  SampleParts parts{.process = kProcess, .time_ns = time_ns, .tid = tid, .thread_command = "t"};
  parts.user = {FrameWord(FRAME_NO_RANGE, 0, 0x1234)};
  RecordBytes bytes = MakeSample(parts);
  reinterpret_cast<sample_record*>(bytes.data())->origin = static_cast<u8>(origin);
  return bytes;
}

RecordBytes EndOf(uint32_t tid, uint64_t out_ns, uint64_t woken_ns, uint64_t in_ns) {
  const wait_end_record record = {
      .header = {RECORD_LAYOUT_VERSION, RECORD_WAIT_END, sizeof(wait_end_record), in_ns},
      .process = kProcess,
      .tid = tid,
      .out_ns = out_ns,
      .woken_ns = woken_ns};
  RecordBytes bytes{.words = std::vector<uint64_t>(sizeof(record) / 8), .size = sizeof(record)};
  std::memcpy(bytes.data(), &record, sizeof(record));
  return bytes;
}

// "TYPE VALUE KIND" of each event.
std::vector<std::string> EventsOf(const SealedBatch& sealed) {
  std::vector<std::string> events;
  ExportProfilesServiceRequest request;
  EXPECT_TRUE(request.ParseFromString(sealed.bytes));
  EXPECT_TRUE(CheckBatch(sealed.bytes).empty());
  const auto& all = request.dictionary();
  for (const auto& resource : request.resource_profiles())
    for (const auto& profile : resource.scope_profiles(0).profiles())
      for (const auto& sample : profile.samples()) {
        std::string kind;
        for (const int32_t index : sample.attribute_indices())
          if (all.string_table(all.attribute_table(index).key_strindex()) == "stackray.wait")
            kind = all.attribute_table(index).value().string_value();
        for (const int64_t value : sample.values())
          events.push_back(all.string_table(profile.sample_type().type_strindex()) + " " +
                           std::to_string(value) + " " + kind);
      }
  return events;
}

class WaitsInTheLoop : public testing::Test {
 protected:
  WaitsInTheLoop() {
    settings_.waits = {.waits = 3, .bytes = 1 << 20};
    settings_.batch.page_fault_period = 17;
    bench_ = std::make_unique<LoopBench>(clock_, settings_, std::nullopt);
  }
  void Take(const RecordBytes& record) { bench_->Take(record.bytes()); }
  std::vector<std::string> Seal() {
    bench_->loop().Seal();
    const std::vector<SealedBatchPtr> batches = bench_->TakeBatches();
    if (batches.size() != 1) return {};
    sealed_ += batches[0]->samples - batches[0]->lost_samples;
    return EventsOf(*batches[0]);
  }

  TestClock clock_;
  SampleLoopSettings settings_;
  std::unique_ptr<LoopBench> bench_;
  uint64_t sealed_ = 0;
  const uint64_t now_ = clock_.boot_time_ns;
};

TEST_F(WaitsInTheLoop, AnEndedWaitIsTwoEvents) {
  Take(SampleOf(ORIGIN_OFF_CPU, 7, now_));
  EXPECT_TRUE(Seal().empty()) << "its end is not known";
  Take(EndOf(7, now_, now_ + 4000, now_ + 4500));
  EXPECT_THAT(Seal(), UnorderedElementsAre("off_cpu 4000 blocked", "off_cpu 500 run_queue"));
  EXPECT_EQ(bench_->loop().counts().wait_parts, 2u);
  EXPECT_EQ(bench_->loop().counts().samples, sealed_);
}

TEST_F(WaitsInTheLoop, AnOpenWaitIsInEachBatch) {
  Take(SampleOf(ORIGIN_OFF_CPU, 7, now_));
  for (uint64_t second = 1; second <= 3; ++second) {
    bench_->loop().ShipWaits(now_ + second * kSecond);
    EXPECT_THAT(Seal(), ElementsAre("off_cpu 1000000000 blocked"));
  }
  Take(EndOf(7, now_, 0, now_ + 3 * kSecond + 5));
  EXPECT_THAT(Seal(), ElementsAre("off_cpu 5 blocked"));
  bench_->loop().ShipWaits(now_ + 9 * kSecond);
  EXPECT_TRUE(Seal().empty());
}

TEST_F(WaitsInTheLoop, TypesStandSideBySide) {
  Take(SampleOf(ORIGIN_CPU_CLOCK, 7, now_));
  Take(SampleOf(ORIGIN_PAGE_FAULTS, 7, now_ + 1));
  Take(SampleOf(ORIGIN_OFF_CPU, 7, now_ + 2));
  Take(EndOf(7, now_ + 2, 0, now_ + 3));
  EXPECT_THAT(Seal(), UnorderedElementsAre("samples 1 ", "page_faults 17 ", "off_cpu 1 blocked"));
}

TEST_F(WaitsInTheLoop, GoWithTheirProcess) {
  Take(SampleOf(ORIGIN_OFF_CPU, 7, now_));
  Take(MakeEvent(RECORD_EXIT, kProcess, 1, "", now_ + 1));
  EXPECT_EQ(bench_->loop().waits().size(), 0u);
  bench_->loop().ShipWaits(now_ + kSecond);
  EXPECT_TRUE(Seal().empty());
}

TEST_F(WaitsInTheLoop, BeyondTheLimitAreLost) {
  for (uint32_t tid = 1; tid <= 5; ++tid) Take(SampleOf(ORIGIN_OFF_CPU, tid, now_));
  EXPECT_EQ(bench_->loop().counts().refused_waits, 2u);
  EXPECT_EQ(bench_->loop().counts().lost, 2u);
  bench_->loop().ShipWaits(now_ + 10);
  EXPECT_EQ(Seal().size(), 4u) << "three waits, and the marker of those that were lost";
  EXPECT_EQ(sealed_, 3u);
}

// More open waits than fit into a batch: each is in one of the batches, once.
TEST_F(WaitsInTheLoop, ManyOpenWaitsKeepTheSizeLimit) {
  settings_.waits = {};
  settings_.max_batch_bytes = 20'000;
  bench_ = std::make_unique<LoopBench>(clock_, settings_, std::nullopt);
  constexpr uint32_t kThreads = 2000;
  for (uint32_t tid = 1; tid <= kThreads; ++tid) Take(SampleOf(ORIGIN_OFF_CPU, tid, now_));
  bench_->loop().ShipWaits(now_ + kSecond);
  bench_->loop().Seal();
  size_t events = 0;
  for (const SealedBatchPtr& batch : bench_->batches()) {
    EXPECT_LE(batch->bytes.size(), settings_.max_batch_bytes);
    events += EventsOf(*batch).size();
  }
  EXPECT_GT(bench_->batches().size(), 1u);
  EXPECT_EQ(events, kThreads);
}

}  // namespace
}  // namespace stackray::test
