// Batches with several sample types, a link and attributes, through every output: each type's sum
// is its own, everywhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reporter/batch.h"
#include "reporter/check.h"
#include "reporter/formats/batch_walk.h"
#include "reporter/formats/folded.h"
#include "reporter/formats/page_data.h"
#include "reporter/formats/page_profile.h"
#include "reporter/formats/pprof.h"
#include "reporter/formats/profile_summary.h"
#include "reporter/formats/profile_view.h"
#include "reporter/formats/speedscope.h"
#include "reporter/proto/profiles.pb.h"
#include "reporter/wire/reader.h"
#include "tests/reporter/formats/test_batches.h"

namespace stackray {
namespace {

using Json = nlohmann::json;
using opentelemetry::proto::profiles::v1development::ProfilesData;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kEndNs = kTestStartNs + 1'000'000'000;
const ProcessId kApp{.pid = 42, .exec_id = 1, .start_time_ns = 7};

// 3 on-CPU samples of 10 ms, 9 ms of waiting in three events and two stacks, 226 page faults in two
// events.
std::string SomeTypes(bool timestamps = false) {
  BatchBuilder batch(
      {.frequency_hz = 100, .page_fault_period = 113, .keep_timestamps = timestamps});
  batch.DefineProcess(kApp, {.pid = 42, .command = "app"});
  const auto python = [&](uint64_t key, const char* name) {
    return batch.DefineFrame(FrameKey::Make(FrameType::kPython, 1, key),
                             {FrameType::kPython, 0, 0, {{.function = name}}});
  };
  const int32_t main = python(1, "main"), read = python(2, "read"), lock = python(3, "lock");
  const std::vector<int32_t> busy = {main}, reading = {read, main}, locking = {lock, main};
  const auto add = [&](SampleOrigin origin, const std::vector<int32_t>& frames, int64_t after_ms,
                       int64_t value, WaitKind wait = WaitKind::kNone, bool traced = false) {
    SampleView sample{.process = kApp,
                      .origin = origin,
                      .frames = frames,
                      .time_unix_ns = kTestStartNs + after_ms * kMillisecond,
                      .value = value,
                      .tid = 43,
                      .wait = wait};
    if (traced) sample.span = SpanContext{.trace_id = {0xab, 1}, .span_id = {0xcd, 2}};
    batch.AddSample(sample);
  };
  for (const int64_t at : {1, 2, 3}) add(SampleOrigin::kCpuClock, busy, at, 1);
  add(SampleOrigin::kOffCpu, reading, 100, 5'000'000, WaitKind::kBlocked);
  add(SampleOrigin::kOffCpu, reading, 500, 3'000'000, WaitKind::kRunQueue);
  add(SampleOrigin::kOffCpu, locking, 900, 1'000'000, WaitKind::kBlocked, true);
  add(SampleOrigin::kPageFaults, busy, 4, 113);
  add(SampleOrigin::kPageFaults, reading, 5, 113);
  return std::move(batch).Seal(kTestStartNs, kEndNs)->bytes;
}

template <typename Sums>
void Add(Sums* sums, const std::string& bytes) {
  const absl::StatusOr<BatchWalk> walk = BatchWalk::Open(bytes);
  ASSERT_TRUE(walk.ok()) << walk.status();
  sums->Add(*walk);
}

ProfileView ViewOf(const std::string& bytes) {
  ProfileView view;
  Add(&view, bytes);
  return view;
}

ProfileSummary SummaryOf(const std::string& bytes) {
  SummaryCounter counter;
  Add(&counter, bytes);
  return counter.summary();
}

TEST(SampleTypesInViews, TheBatchIsValid) {
  EXPECT_THAT(CheckBatch(SomeTypes()), IsEmpty());
  EXPECT_THAT(CheckBatch(SomeTypes(true)), IsEmpty());
}

TEST(SampleTypesInViews, TheWalkSaysTypeValuesLinkAndAttributes) {
  const std::string bytes = SomeTypes();
  const absl::StatusOr<BatchWalk> walk = BatchWalk::Open(bytes);
  ASSERT_TRUE(walk.ok());
  EXPECT_FALSE(walk->timed()) << "on-CPU samples have no times";
  std::vector<std::string> profiles;
  std::map<std::string, int64_t> events, totals;
  int links = 0;
  std::vector<std::string> waits;
  walk->Visit([](const WalkedResource&) {},
              [&](const WalkedProfile& profile) {
                profiles.emplace_back(profile.type);
                EXPECT_EQ(profile.weighted, profile.type != "samples");
              },
              [&](const WalkedSample& sample) {
                events[profiles.back()] += sample.events;
                totals[profiles.back()] += sample.total;
                EXPECT_EQ(sample.values.size(), sample.timestamps_unix_ns.size());
                if (!sample.wait.empty()) waits.emplace_back(sample.wait);
                EXPECT_THAT(sample.attributes, IsEmpty());
                if (sample.trace_id.empty()) return;
                ++links;
                EXPECT_EQ(sample.trace_id.size(), 16u);
                EXPECT_EQ(sample.span_id.substr(0, 2), "\xcd\x02");
              });
  EXPECT_THAT(profiles, ElementsAre("samples", "off_cpu", "page_faults"));
  EXPECT_EQ(events,
            (std::map<std::string, int64_t>{{"samples", 3}, {"off_cpu", 3}, {"page_faults", 2}}));
  EXPECT_EQ(totals, (std::map<std::string, int64_t>{
                        {"samples", 3}, {"off_cpu", 9'000'000}, {"page_faults", 226}}));
  EXPECT_THAT(waits, ElementsAre("blocked", "run_queue", "blocked"));
  EXPECT_EQ(links, 1);
}

TEST(SampleTypesInViews, FoldedAndSpeedscopeHoldOne) {
  for (const bool timestamps : {false, true}) {
    const ProfileView view = ViewOf(SomeTypes(timestamps));
    EXPECT_THAT(view.UsedTypes(), ElementsAre(0u, 1u, 2u));
    EXPECT_EQ(view.DefaultType(), ProfileView::kCpuType);
    EXPECT_EQ(FoldedText(view), "app;main 3\n");
    const uint32_t off_cpu = view.FindType("off-cpu").value();
    EXPECT_EQ(view.FindType("off_cpu"), off_cpu);
    EXPECT_EQ(view.FindType("wall"), std::nullopt);
    EXPECT_EQ(FoldedText(view, off_cpu),
              "app;main;lock;[blocked] 1000\napp;main;read;[blocked] 5000\n"
              "app;main;read;[run queue] 3000\n")
        << "µs";
    EXPECT_EQ(FoldedText(view, view.FindType("page-faults").value()),
              "app;main 113\napp;main;read 113\n");
    const Json on = Json::parse(SpeedscopeJson(view, 0, "t")),
               off = Json::parse(SpeedscopeJson(view, off_cpu, "t"));
    EXPECT_EQ(on["profiles"][0]["weights"], Json({30'000'000}));
    EXPECT_EQ(off["profiles"].size(), 1u) << "one thread, however its waits are labelled";
    EXPECT_EQ(off["profiles"][0]["unit"], "nanoseconds");
    EXPECT_EQ(off["profiles"][0]["endValue"], 9'000'000);
    EXPECT_EQ(off["profiles"][0]["weights"], Json({8'000'000, 1'000'000}));
  }
}

// Sums of one sample type's column, and the labels that samples have, read from pprof's bytes.
struct PprofSums {
  std::vector<std::string> types;
  std::vector<int64_t> sums;
  std::multimap<std::string, int64_t> labels;  // "stackray.wait=blocked": the values' sum.
};

PprofSums ReadPprof(const std::string& bytes) {
  std::vector<std::string_view> strings;
  EachField(bytes, [&](const WireField& field) {
    if (IsBytes(field, 6)) strings.push_back(field.bytes);
    return true;
  });
  PprofSums out;
  const auto number = [](std::string_view message, uint32_t wanted) {
    uint64_t value = 0;
    EachField(message, [&](const WireField& field) {
      if (IsNumber(field, wanted)) value = field.value;
      return true;
    });
    return value;
  };
  EachField(bytes, [&](const WireField& field) {
    if (IsBytes(field, 1))
      out.types.push_back(
          Concat(strings[number(field.bytes, 1)], "/", strings[number(field.bytes, 2)]));
    if (!IsBytes(field, 2)) return true;
    out.sums.resize(out.types.size());
    int64_t sum = 0;
    EachField(field.bytes, [&](const WireField& part) {
      size_t column = 0;
      if (part.number == 2)
        EachNumber(part, [&](uint64_t value) {
          out.sums.at(column++) += static_cast<int64_t>(value);
          sum += static_cast<int64_t>(value);
          return true;
        });
      return true;
    });
    EachField(field.bytes, [&](const WireField& part) {
      if (IsBytes(part, 3))
        out.labels.emplace(
            Concat(strings[number(part.bytes, 1)], "=", strings[number(part.bytes, 2)]), sum);
      return true;
    });
    return true;
  });
  return out;
}

TEST(SampleTypesInViews, PprofHasAColumnEachAndKeepsLinksAndAttributes) {
  const PprofSums pprof = ReadPprof(PprofBytes(ViewOf(SomeTypes())));
  EXPECT_THAT(pprof.types, ElementsAre("samples/count", "cpu/nanoseconds", "off_cpu/nanoseconds",
                                       "page_faults/count"));
  EXPECT_THAT(pprof.sums, ElementsAre(3, 30'000'000, 9'000'000, 226));
  EXPECT_EQ(pprof.labels.count("stackray.wait=blocked"), 2u);
  EXPECT_EQ(pprof.labels.find("stackray.wait=run_queue")->second, 3'000'000);
  EXPECT_EQ(pprof.labels.find("trace_id=ab010000000000000000000000000000")->second, 1'000'000);
  EXPECT_EQ(pprof.labels.count("span_id=cd02000000000000"), 1u);
}

TEST(SampleTypesInViews, GoReadsEachColumn) {
  if (!RunTool("go tool pprof -h 2>&1; true").value_or("").starts_with("usage"))
    GTEST_SKIP() << "`go tool pprof` is not installed";
  const std::string path = WriteTestFile("types.pb.gz", PprofGzip(ViewOf(SomeTypes())).value());
  const auto top = [&](const std::string& options) {
    return RunTool("go tool pprof -symbolize=none -top " + options + " " + path + " 2>&1")
        .value_or("");
  };
  EXPECT_THAT(top(""), HasSubstr("Type: cpu\n")) << "the default";
  EXPECT_THAT(top("-sample_index=off_cpu"), HasSubstr("of 9ms total"));
  EXPECT_THAT(top("-sample_index=page_faults"), HasSubstr("of 226 total"));
  EXPECT_THAT(top("-sample_index=off_cpu -tagfocus=stackray.wait=run_queue"), HasSubstr("3ms"));
}

int64_t Sum(const Json& samples) {
  int64_t sum = 0;
  for (const Json& count : samples["count"]) sum += count.get<int64_t>();
  return sum;
}

TEST(SampleTypesInViews, ThePageHasASectionEach) {
  for (const bool timestamps : {false, true}) {
    const std::string bytes = SomeTypes(timestamps);
    ProfileView view({.first_bucket_ms = 1000});
    Add(&view, bytes);
    const std::string document =
        PageData(view, {.title = "t", .summary = SummaryOf(bytes), .detail = {.labels = false}});
    const Json page = Json::parse(document);
    EXPECT_FALSE(page.contains("type")) << "on-CPU samples are what is meant";
    EXPECT_EQ(Sum(page["samples"]), 3);
    ASSERT_EQ(page["other_types"].size(), 2u);
    const Json& off_cpu = page["other_types"][0];
    EXPECT_EQ(off_cpu["type"], "off_cpu");
    EXPECT_EQ(off_cpu["unit"], "nanoseconds");
    EXPECT_EQ(Sum(off_cpu["samples"]), 9'000'000);
    EXPECT_EQ(off_cpu["summary"]["samples"], 3);
    EXPECT_EQ(off_cpu["summary"]["value"], 9'000'000);
    EXPECT_EQ(Sum(page["other_types"][1]["samples"]), 226);
    EXPECT_EQ(page["threads"]["tid"], Json({43})) << "one thread, whatever was sampled of it";
    for (const Json& thread : off_cpu["samples"]["thread"]) EXPECT_EQ(thread, 0);
    EXPECT_FALSE(page["samples"].contains("wait"));
    std::map<std::string, int64_t> by_wait;
    for (size_t i = 0; i < off_cpu["samples"]["wait"].size(); ++i)
      by_wait[page["strings"][off_cpu["samples"]["wait"][i].get<size_t>()].get<std::string>()] +=
          off_cpu["samples"]["count"][i].get<int64_t>();
    EXPECT_EQ(by_wait,
              (std::map<std::string, int64_t>{{"blocked", 6'000'000}, {"run_queue", 3'000'000}}));
    // The live page's document is the recording's.
    PageProfile profile({.max_bytes = SIZE_MAX});
    Add(&profile, bytes);
    profile.Finish();
    std::string live;
    const auto sink = [&](std::string_view part) {
      live += part;
      return absl::OkStatus();
    };
    ASSERT_TRUE(WritePageData(profile, {.title = "t", .summary = profile.summary()}, sink).ok());
    EXPECT_EQ(live, document);
  }
}

// The rarest stacks go, of each type, and no value does.
TEST(SampleTypesInViews, AFullPageKeepsEveryTypesSum) {
  PageProfile profile({.max_bytes = 20'000});
  for (int i = 0; i < 50; ++i) Add(&profile, SomeTypes());
  BatchBuilder batch({.frequency_hz = 100});
  batch.DefineProcess(kApp, {.pid = 42, .command = "app"});
  for (uint64_t i = 0; i < 2000; ++i) {
    const std::vector<int32_t> frames = {
        batch.DefineFrame(FrameKey::Make(FrameType::kPython, 1, i),
                          {FrameType::kPython, 0, 0, {{.function = "f" + std::to_string(i)}}})};
    batch.AddSample({.process = kApp,
                     .origin = i % 2 == 0 ? SampleOrigin::kOffCpu : SampleOrigin::kCpuClock,
                     .frames = frames,
                     .time_unix_ns = kTestStartNs,
                     .value = 1000});
  }
  Add(&profile, std::move(batch).Seal(kTestStartNs, kEndNs)->bytes);
  profile.Finish();
  EXPECT_GT(profile.shrinks(), 0);
  std::map<std::string, int64_t> sums;
  for (size_t i = 0; i < profile.rows().size(); ++i) {
    const ViewRow row = profile.rows()[i];
    sums[profile.types()[profile.threads()[row.thread].type].type] += row.count;
  }
  EXPECT_EQ(sums, (std::map<std::string, int64_t>{{"samples", 150 + 1000},
                                                  {"off_cpu", 450'000'000 + 1'000'000},
                                                  {"page_faults", 11'300}}));
  EXPECT_EQ(profile.summary().samples, 150 + 1000);
  EXPECT_EQ(profile.summary().others.at(0).samples, 150 + 1000);
}

TEST(SampleTypesInViews, TheSummaryHasALineEach) {
  const std::string text = FormatSummary(SummaryOf(SomeTypes()));
  EXPECT_TRUE(text.starts_with("3 samples of 1 process in 1.0 s at 100 Hz, none lost\n")) << text;
  EXPECT_TRUE(text.ends_with(
      "off_cpu: 3 events, 0.009 s in all (blocked 0.006 s, run queue 0.003 s), none lost\n"
      "page_faults: 2 events, 226 in all, none lost\n"))
      << text;
}

// A file without on-CPU samples, of another writer.
TEST(SampleTypesInViews, UnknownTypesAreShownByTheirNames) {
  ProfilesData data;
  ASSERT_TRUE(data.ParseFromString(SomeTypes()));
  for (std::string& text : *data.mutable_dictionary()->mutable_string_table()) {
    if (text == "off_cpu") text = "alloc\x1b_space";
    if (text == "nanoseconds") text = "bytes";
  }
  auto* scope = data.mutable_resource_profiles(0)->mutable_scope_profiles(0);
  scope->mutable_profiles()->DeleteSubrange(2, 1);
  scope->mutable_profiles()->DeleteSubrange(0, 1);
  for (auto& sample : *scope->mutable_profiles(0)->mutable_samples())
    sample.clear_timestamps_unix_nano();
  const std::string bytes = data.SerializeAsString();
  const ProfileView view = ViewOf(bytes);
  EXPECT_EQ(view.DefaultType(), 1u);
  EXPECT_EQ(FoldedText(view),
            "app;main;lock;[blocked] 1000000\napp;main;read;[blocked] 5000000\n"
            "app;main;read;[run queue] 3000000\n");
  EXPECT_EQ(Json::parse(SpeedscopeJson(view, 1, "t"))["profiles"][0]["unit"], "bytes");
  EXPECT_THAT(ReadPprof(PprofBytes(view)).sums, ElementsAre(9'000'000));
  const Json page = Json::parse(PageData(view, {.title = "t"}));
  EXPECT_EQ(page["type"], "alloc\x1b_space");
  EXPECT_EQ(page["unit"], "bytes");
  EXPECT_FALSE(page.contains("other_types"));
  EXPECT_EQ(Sum(page["samples"]), 9'000'000);
  const std::string text = FormatSummary(SummaryOf(bytes));
  EXPECT_TRUE(
      text.starts_with("3 alloc\xEF\xBF\xBD_space events of 1 process in 1.0 s, "
                       "9,000,000 bytes in all, none lost\n"))
      << text;
}

// Hostile batches may name any number of types.
TEST(SampleTypesInViews, TypesAreBounded) {
  ProfilesData data;
  ASSERT_TRUE(data.ParseFromString(SomeTypes()));
  auto* scope = data.mutable_resource_profiles(0)->mutable_scope_profiles(0);
  for (int i = 0; i < 1000; ++i) {
    *data.mutable_dictionary()->add_string_table() = "type" + std::to_string(i);
    auto* profile = scope->add_profiles();
    *profile = scope->profiles(1);
    profile->mutable_sample_type()->set_type_strindex(data.dictionary().string_table_size() - 1);
  }
  const std::string bytes = data.SerializeAsString();
  EXPECT_EQ(ViewOf(bytes).types().size(), ProfileView::kMaxTypes);
  EXPECT_LT(SummaryOf(bytes).others.size(), SummaryCounter::kMaxTypes);
}

// Two rates in one batch: each profile is weighted by its own period.
TEST(SampleTypesInViews, AChangeOfRateInsideABatchIsWeighted) {
  BatchBuilder batch({.frequency_hz = 100});
  batch.DefineProcess(kApp, {.pid = 42, .command = "app"});
  const std::vector<int32_t> frames = {batch.DefineFrame(
      FrameKey::Make(FrameType::kPython, 1, 1), {FrameType::kPython, 0, 0, {{.function = "f"}}})};
  const SampleView sample{.process = kApp, .frames = frames, .time_unix_ns = kTestStartNs};
  batch.AddSample(sample);
  batch.SetFrequency(20);
  batch.AddSample(sample);
  const std::string bytes = std::move(batch).Seal(kTestStartNs, kEndNs)->bytes;
  const ProfileView view = ViewOf(bytes);
  EXPECT_EQ(view.period_ns(), 1e7);
  EXPECT_EQ(view.samples(), 1 + 5);
  EXPECT_EQ(SummaryOf(bytes).samples, 2) << "as many were taken";
}

}  // namespace
}  // namespace stackray
