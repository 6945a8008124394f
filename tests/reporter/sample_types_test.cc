// Samples of several types in one batch, read back with the generated classes: what each profile
// says of itself, what an event consists of, and that sizes stay exact.
#include "profile/sample_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "reporter/batch.h"
#include "reporter/proto/profiles_service.pb.h"

namespace stackray {
namespace {

using opentelemetry::proto::collector::profiles::v1development::ExportProfilesServiceRequest;
using opentelemetry::proto::profiles::v1development::Profile;
using opentelemetry::proto::profiles::v1development::Sample;
using testing::ElementsAre;
using testing::SizeIs;

constexpr int64_t kStart = 1'700'000'000'000'000'000;
const ProcessId kProcess{.pid = 42, .exec_id = 1, .start_time_ns = 7};

class Batch {
 public:
  explicit Batch(BatchSettings settings = {}) : builder_(std::move(settings)) {
    builder_.DefineProcess(kProcess, {.pid = 42, .command = "cmd"});
    frames_ = {builder_.DefineFrame(FrameKey::Make(FrameType::kPython, 1, 1),
                                    {FrameType::kPython, 0, 0, {{.function = "main"}}})};
  }
  SampleView View(SampleOrigin origin, int64_t value, int64_t after_ns = 0) const {
    return {.process = kProcess,
            .origin = origin,
            .frames = frames_,
            .time_unix_ns = kStart + after_ns,
            .value = value};
  }
  void Add(const SampleView& sample) { builder_.AddSample(sample); }
  BatchBuilder& builder() { return builder_; }
  // The profiles of the only process.
  std::vector<Profile> Seal() {
    const size_t promised = builder_.encoded_bytes();
    const SealedBatchPtr sealed = std::move(builder_).Seal(kStart, kStart + 1'000'000'000);
    EXPECT_EQ(sealed->bytes.size(), promised);
    events_ = sealed->samples;
    EXPECT_TRUE(request_.ParseFromString(sealed->bytes));
    if (request_.resource_profiles_size() != 1) return {};
    const auto& profiles = request_.resource_profiles(0).scope_profiles(0).profiles();
    return {profiles.begin(), profiles.end()};
  }
  uint64_t events() const { return events_; }
  std::string Text(int32_t index) const { return request_.dictionary().string_table(index); }
  // "key=value" of a sample's attributes.
  std::vector<std::string> Attributes(const Sample& sample) const {
    std::vector<std::string> texts;
    for (const int32_t index : sample.attribute_indices()) {
      const auto& attribute = request_.dictionary().attribute_table(index);
      texts.push_back(Text(attribute.key_strindex()) + "=" + attribute.value().string_value());
    }
    return texts;
  }
  const auto& dictionary() const { return request_.dictionary(); }

 private:
  BatchBuilder builder_;
  std::vector<int32_t> frames_;
  ExportProfilesServiceRequest request_;
  uint64_t events_ = 0;
};

TEST(SampleTypes, TheTableIsInTheOrderOfItsOrigins) {
  for (size_t i = 0; i < kSampleTypes.size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(kSampleTypes[i].origin), i);
    EXPECT_EQ(FindSampleType(kSampleTypes[i].type, kSampleTypes[i].unit), &kSampleTypes[i]);
    EXPECT_EQ(FindSampleTypeByName(kSampleTypes[i].name), &kSampleTypes[i]);
  }
  EXPECT_EQ(FindSampleType("samples", "nanoseconds"), nullptr);
  EXPECT_EQ(FindSampleTypeByName("wall"), nullptr);
}

TEST(SampleTypes, EachTypeHasAProfileOfItsOwn) {
  Batch batch({.frequency_hz = 100, .page_fault_period = 113});
  batch.Add(batch.View(SampleOrigin::kCpuClock, 1));
  batch.Add(batch.View(SampleOrigin::kOffCpu, 5'000'000));
  batch.Add(batch.View(SampleOrigin::kPageFaults, 113));
  const std::vector<Profile> profiles = batch.Seal();
  ASSERT_THAT(profiles, SizeIs(3));
  EXPECT_EQ(batch.events(), 3u);
  const auto says = [&](const Profile& profile) {
    return batch.Text(profile.sample_type().type_strindex()) + "/" +
           batch.Text(profile.sample_type().unit_strindex()) + " " +
           batch.Text(profile.period_type().type_strindex()) + "/" +
           batch.Text(profile.period_type().unit_strindex()) + " " +
           std::to_string(profile.period());
  };
  EXPECT_EQ(says(profiles[0]), "samples/count cpu/nanoseconds 10000000");
  EXPECT_EQ(says(profiles[1]), "off_cpu/nanoseconds / 0");
  EXPECT_FALSE(profiles[1].has_period_type());
  EXPECT_EQ(says(profiles[2]), "page_faults/count page_faults/count 113");
  EXPECT_THAT(profiles[2].samples(0).values(), ElementsAre(113));
}

TEST(SampleTypes, AWeightedEventHasATimeAndAValueWhateverTheSettingsSay) {
  for (const bool keep_timestamps : {false, true}) {
    Batch batch({.keep_timestamps = keep_timestamps});
    batch.Add(batch.View(SampleOrigin::kOffCpu, 300, 30));
    batch.Add(batch.View(SampleOrigin::kOffCpu, 1, 10));
    batch.Add(batch.View(SampleOrigin::kOffCpu, 20'000, 20));
    const std::vector<Profile> profiles = batch.Seal();
    ASSERT_THAT(profiles, SizeIs(1));
    ASSERT_EQ(profiles[0].samples_size(), 1);
    EXPECT_THAT(profiles[0].samples(0).values(), ElementsAre(1, 20'000, 300));
    EXPECT_THAT(profiles[0].samples(0).timestamps_unix_nano(),
                ElementsAre(kStart + 10, kStart + 20, kStart + 30));
    EXPECT_EQ(batch.events(), 3u) << "events are counted, not nanoseconds";
  }
}

TEST(SampleTypes, AValueIsNeverBelowOne) {
  Batch batch;
  batch.Add(batch.View(SampleOrigin::kOffCpu, -7));
  EXPECT_THAT(batch.Seal().at(0).samples(0).values(), ElementsAre(1));
}

TEST(SampleTypes, WhatAThreadWaitedForIsAnAttribute) {
  Batch batch;
  for (const WaitKind kind : {WaitKind::kBlocked, WaitKind::kRunQueue, WaitKind::kPreempted}) {
    SampleView sample = batch.View(SampleOrigin::kOffCpu, 10);
    sample.wait = kind;
    batch.Add(sample);
  }
  const std::vector<Profile> profiles = batch.Seal();
  ASSERT_EQ(profiles.at(0).samples_size(), 3);
  EXPECT_THAT(batch.Attributes(profiles[0].samples(0)), ElementsAre("stackray.wait=blocked"));
  EXPECT_THAT(batch.Attributes(profiles[0].samples(1)), ElementsAre("stackray.wait=run_queue"));
  EXPECT_THAT(batch.Attributes(profiles[0].samples(2)), ElementsAre("stackray.wait=preempted"));
}

TEST(SampleTypes, SpansAndLabelsBelongToTheIdentityOfASample) {
  Batch batch;
  SpanContext span;
  span.trace_id.fill(0xab);
  span.span_id.fill(0xcd);
  const std::vector<SampleLabel> labels = {{"route", "/a"}, {"tenant", "7"}};
  SampleView sample = batch.View(SampleOrigin::kCpuClock, 1);
  batch.Add(sample);
  sample.span = span;
  batch.Add(sample);
  batch.Add(sample);
  sample.labels = labels;
  batch.Add(sample);
  sample.span = SpanContext{};  // All zero: none.
  sample.labels = {};
  batch.Add(sample);
  const std::vector<Profile> profiles = batch.Seal();
  ASSERT_EQ(profiles.at(0).samples_size(), 3);
  EXPECT_EQ(profiles[0].samples(0).link_index(), 0);
  EXPECT_THAT(profiles[0].samples(0).values(), ElementsAre(2));
  ASSERT_EQ(profiles[0].samples(1).link_index(), 1);
  EXPECT_THAT(profiles[0].samples(1).values(), ElementsAre(2));
  EXPECT_EQ(profiles[0].samples(2).link_index(), 1);
  EXPECT_THAT(batch.Attributes(profiles[0].samples(2)), ElementsAre("route=/a", "tenant=7"));
  ASSERT_EQ(batch.dictionary().link_table_size(), 2);
  EXPECT_EQ(batch.dictionary().link_table(1).trace_id(), std::string(16, '\xab'));
  EXPECT_EQ(batch.dictionary().link_table(1).span_id(), std::string(8, '\xcd'));
}

TEST(SampleTypes, ALeftOutKeyIsLeftOutOfSamplesToo) {
  Batch batch({.left_out = {"stackray.wait", "route"}});
  const std::vector<SampleLabel> labels = {{"route", "/a"}, {"tenant", "7"}};
  SampleView sample = batch.View(SampleOrigin::kOffCpu, 10);
  sample.wait = WaitKind::kBlocked;
  sample.labels = labels;
  batch.Add(sample);
  const std::vector<Profile> profiles = batch.Seal();
  EXPECT_THAT(batch.Attributes(profiles.at(0).samples(0)), ElementsAre("tenant=7"));
}

TEST(SampleTypes, AnotherRateBeginsAProfileNotABatch) {
  Batch batch({.frequency_hz = 100});
  batch.Add(batch.View(SampleOrigin::kCpuClock, 1));
  batch.builder().SetFrequency(20);
  batch.Add(batch.View(SampleOrigin::kCpuClock, 1));
  batch.Add(batch.View(SampleOrigin::kCpuClock, 1));
  batch.builder().SetFrequency(100);
  batch.Add(batch.View(SampleOrigin::kCpuClock, 1));
  const std::vector<Profile> profiles = batch.Seal();
  ASSERT_THAT(profiles, SizeIs(2));
  EXPECT_EQ(profiles[0].period(), 10'000'000);
  EXPECT_THAT(profiles[0].samples(0).values(), ElementsAre(2));
  EXPECT_EQ(profiles[1].period(), 50'000'000);
  EXPECT_THAT(profiles[1].samples(0).values(), ElementsAre(2));
}

TEST(SampleTypes, ARollbackRestoresEveryShapeExactly) {
  const auto add = [](Batch* batch, int64_t from) {
    for (int64_t i = from; i < from + 3; ++i) {
      SampleView sample = batch->View(SampleOrigin::kOffCpu, 100 * i + 1, i);
      sample.wait = i % 2 == 0 ? WaitKind::kBlocked : WaitKind::kRunQueue;
      sample.span = SpanContext{.trace_id = {static_cast<uint8_t>(i + 1)}, .span_id = {1}};
      batch->Add(sample);
      batch->Add(batch->View(SampleOrigin::kOffCpu, 1 << i, i));
      batch->Add(batch->View(SampleOrigin::kCpuClock, 1, i));
    }
  };
  Batch plain({.keep_timestamps = true});
  add(&plain, 0);
  Batch rolled({.keep_timestamps = true});
  add(&rolled, 0);
  rolled.builder().Mark();
  const size_t before = rolled.builder().encoded_bytes();
  add(&rolled, 10);
  EXPECT_GT(rolled.builder().encoded_bytes(), before);
  rolled.builder().Rollback();
  EXPECT_EQ(rolled.builder().encoded_bytes(), before);
  EXPECT_EQ(std::move(rolled.builder()).Seal(kStart, kStart + 1)->bytes,
            std::move(plain.builder()).Seal(kStart, kStart + 1)->bytes);
}

}  // namespace
}  // namespace stackray
