#include "reporter/formats/page_profile.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reporter/batch.h"
#include "reporter/formats/page_data.h"
#include "tests/reporter/batch_events.h"
#include "tests/reporter/formats/busy_host.h"

namespace stackray {
namespace {

using Json = nlohmann::json;

std::string Document(PageProfile& profile) {
  profile.Finish();
  std::string out;
  const absl::Status status = WritePageData(profile, {.title = "t", .summary = profile.summary()},
                                            [&](std::string_view part) {
                                              EXPECT_LT(part.size(), 300'000u) << "in parts";
                                              out += part;
                                              return absl::OkStatus();
                                            });
  EXPECT_TRUE(status.ok()) << status;
  return out;
}

template <typename Sums>
void Add(Sums* sums, const std::string& bytes) {
  const absl::StatusOr<BatchWalk> walk = BatchWalk::Open(bytes);
  ASSERT_TRUE(walk.ok()) << walk.status();
  sums->Add(*walk);
}

int64_t Sum(const PageProfile& profile) {
  int64_t sum = 0;
  for (size_t i = 0; i < profile.rows().size(); ++i) sum += profile.rows()[i].count;
  return sum;
}

// While there is room: the same document, by another way, as a recording's page has, but for what
// threads worked on: the agent's page asks its history for that.
TEST(PageProfile, IsTheDocumentOfARecordingsPage) {
  for (const bool timestamps : {false, true}) {
    PageProfile profile({.max_bytes = SIZE_MAX});
    ProfileView view({.first_bucket_ms = 1000});
    SummaryCounter summary;
    for (const uint32_t seed : {1u, 2u, 3u}) {
      const std::string bytes =
          std::move(BatchEvents(seed, timestamps).Replay(0, 2000)).Seal(0, 1)->bytes;
      Add(&profile, bytes);
      Add(&view, bytes);
      Add(&summary, bytes);
    }
    EXPECT_EQ(
        Document(profile),
        PageData(view, {.title = "t", .summary = summary.summary(), .detail = {.labels = false}}));
    EXPECT_EQ(profile.shrinks(), 0);
  }
}

TEST(PageProfile, SamplesAtOtherTimesAreLeftOutOfTheSummaryToo) {
  const BusyHost host;
  PageProfile profile({.from_unix_ns = host.StartNs(10), .to_unix_ns = host.StartNs(30)});
  for (int second = 0; second < 60; ++second) Add(&profile, host.Batch(second, 50));
  EXPECT_EQ(Sum(profile), 20 * 50);
  EXPECT_EQ(profile.summary().samples, 20 * 50);
  EXPECT_EQ(profile.bucket_start_ms(), host.StartNs(10) / 1'000'000);
}

// However much comes in: bounded, no sample is left out, and what is frequent is whole.
TEST(PageProfile, WhenItIsFullOnlyRareStacksAreCut) {
  constexpr size_t kMaxBytes = 1 << 20;
  constexpr int kBatches = 300, kSamples = 200;
  const BusyHost host;
  PageProfile profile({.max_bytes = kMaxBytes});
  for (int second = 0; second < kBatches; ++second) {
    Add(&profile, host.Batch(second, kSamples));
    ASSERT_LE(profile.bytes(), kMaxBytes);
  }
  EXPECT_GT(profile.shrinks(), 3);
  EXPECT_EQ(Sum(profile), kBatches * kSamples);
  EXPECT_EQ(profile.summary().samples, kBatches * kSamples);
  const Json page = Json::parse(Document(profile));
  const auto text = [&](size_t index) { return page["strings"][index].get<std::string>(); };
  const auto name = [&](int64_t frame) {
    return frame < 0 ? "" : text(page["frames"]["name"][frame].get<size_t>());
  };
  int64_t cut = 0, frequent = 0;
  for (size_t i = 0; i < page["samples"]["node"].size(); ++i) {
    const size_t leaf = page["samples"]["node"][i];
    const int64_t count = page["samples"]["count"][i];
    const std::string leaf_name = name(page["nodes"]["frame"][leaf]);
    if (leaf_name == BusyHost::kFrequentLeaf) {
      int depth = 0;
      for (int64_t node = static_cast<int64_t>(leaf); node > 0;
           node = page["nodes"]["parent"][node])
        ++depth;
      EXPECT_EQ(depth, BusyHost::kDepth);
      frequent += count;
    }
    if (leaf_name == PageProfile::kCutName) {
      EXPECT_EQ(text(page["frames"]["type"][page["nodes"]["frame"][leaf].get<size_t>()]),
                PageProfile::kCutType);
      cut += count;
    }
  }
  EXPECT_EQ(frequent, kBatches * kSamples / 2);
  EXPECT_GT(cut, kBatches * kSamples / 8);
  // A cut thread keeps its command.
  for (const auto& command : page["processes"]["command"]) {
    EXPECT_TRUE(text(command) == "server" || text(command) == "job") << text(command);
  }
  EXPECT_LT(page["threads"]["tid"].size(), 2000u) << "of " << kBatches * kSamples / 2;
}

TEST(PageProfile, EvenTooLittleRoomLosesNothing) {
  const BusyHost host;
  PageProfile profile({.max_bytes = 20'000});
  for (int second = 0; second < 5; ++second) Add(&profile, host.Batch(second, 100));
  EXPECT_EQ(Sum(profile), 500);
  EXPECT_LE(profile.bytes(), 40'000u);
}

TEST(PageProfile, LongNamesAreShortened) {
  PageProfile profile;
  const BusyHost host;
  Add(&profile, host.Batch(0, 2, std::string(100'000, 'x')));
  for (const CallFrame& frame : profile.frames())
    EXPECT_LE(profile.Text(frame.name).size(), PageProfile::kLongestText + 3);
}

}  // namespace
}  // namespace stackray
