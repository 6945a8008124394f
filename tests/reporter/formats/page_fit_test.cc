// A page that is too long says less of time and lines, and as much of stacks.
#include "reporter/formats/page_fit.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "absl/strings/escaping.h"
#include "reporter/formats/gzip.h"
#include "reporter/formats/html.h"
#include "tests/reporter/batch_events.h"
#include "tests/reporter/formats/test_batches.h"

namespace stackray {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kTemplate = "<title>x</title><!--stackray-data-->";

ProfileView View() {
  ProfileView view;
  std::mt19937 random(1);
  for (int second = 0; second < 30; ++second) {
    TestBatch batch(kTestStartNs + second * 1000 * kMillisecond);
    const int32_t process = batch.Process(7, "web", "/usr/bin/web");
    std::vector<int32_t> frames;
    frames.reserve(40);
    for (int i = 0; i < 40; ++i)
      frames.push_back(batch.Native("f" + std::to_string(i), 0x1000u + 64u * (random() % 9)));
    for (int i = 0; i < 60; ++i)
      batch.Sample(process, {frames[random() % 40], frames[random() % 40], frames[random() % 40]},
                   1, 7, "web", {static_cast<int64_t>(random() % 1000)});
    AddTo(&view, batch.batch);
  }
  return view;
}

Json DataOf(const std::string& html) {
  constexpr std::string_view kId = "id=\"stackray-data\">";
  const size_t start = html.find(kId) + kId.size();
  std::string compressed;
  EXPECT_TRUE(
      absl::Base64Unescape(html.substr(start, html.find("</script>", start) - start), &compressed));
  return Json::parse(*GzipExpand(compressed, 64 << 20));
}

// Values by the names on the way to their node.
std::map<std::string, int64_t> Stacks(const Json& page) {
  std::vector<std::string> ways;
  for (size_t i = 0; i < page["nodes"]["parent"].size(); ++i) {
    if (i == 0) {
      ways.emplace_back();
      continue;
    }
    const size_t frame = page["nodes"]["frame"][i], name = page["frames"]["name"][frame];
    ways.push_back(ways[page["nodes"]["parent"][i].get<size_t>()] + ";" +
                   page["strings"][name].get<std::string>());
  }
  std::map<std::string, int64_t> sums;
  for (size_t i = 0; i < page["samples"]["node"].size(); ++i)
    sums[ways[page["samples"]["node"][i].get<size_t>()]] +=
        page["samples"]["count"][i].get<int64_t>();
  return sums;
}

// Of all types, the values by the trace that their threads worked on.
std::map<std::string, int64_t> ByTrace(const Json& page) {
  const auto text = [&](const Json& number) {
    return page["strings"][number.get<size_t>()].get<std::string>();
  };
  std::map<std::string, int64_t> sums;
  const auto add = [&](const Json& samples) {
    for (size_t i = 0; i < samples["node"].size(); ++i) {
      const size_t thread = samples["thread"][i];
      std::string trace;
      if (page["threads"].contains("labels"))
        for (size_t at = page["threads"]["labels"][thread]; at != 0;
             at = page["labels"]["next"][at])
          if (text(page["labels"]["key"][at]) == "trace_id")
            trace = text(page["labels"]["text"][at]);
      sums[trace] += samples["count"][i].get<int64_t>();
    }
  };
  add(page["samples"]);
  if (page.contains("other_types"))
    for (const Json& type : page["other_types"]) add(type["samples"]);
  return sums;
}

TEST(PageFit, WhatThreadsWorkedOnIsToldUntilThereIsNoRoom) {
  const SealedBatchPtr sealed = BatchEvents(11, true).Replay(0, 3000).Seal(0, 1);
  const absl::StatusOr<BatchWalk> batch = BatchWalk::Open(sealed->bytes);
  ASSERT_TRUE(batch.ok()) << batch.status();
  std::map<std::string, int64_t> expected;
  batch->Visit([](const WalkedResource&) {}, [](const WalkedProfile&) {},
               [&](const WalkedSample& sample) {
                 const absl::string_view trace(sample.trace_id.data(), sample.trace_id.size());
                 if (sample.total > 0) expected[absl::BytesToHexString(trace)] += sample.total;
               });
  ASSERT_GT(expected.size(), 3u);
  ProfileView view;
  view.Add(*batch);
  const auto whole = FitPage(kTemplate, view, {.title = "t"});
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(ByTrace(DataOf(whole->html)), expected);
  const auto least = FitPage(kTemplate, view, {.title = "t"}, 10);
  ASSERT_TRUE(least.ok()) << least.status();
  EXPECT_EQ(ByTrace(DataOf(least->html)).size(), 1u);
  EXPECT_NE(least->dropped.find("not what threads worked on"), std::string::npos);
}

TEST(PageFit, WhatFitsIsWhole) {
  const ProfileView view = View();
  const absl::StatusOr<FittedPage> page = FitPage(kTemplate, view, {.title = "t"});
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->dropped, "");
  EXPECT_EQ(page->html, *HtmlPage(kTemplate, PageData(view, {.title = "t"}), "t"));
}

TEST(PageFit, WhatDoesNotFitKeepsEachStack) {
  const ProfileView view = View();
  const size_t whole = FitPage(kTemplate, view, {})->html.size();
  const Json all = DataOf(FitPage(kTemplate, view, {})->html);
  int64_t before_ms = 0;
  std::string dropped;
  for (const size_t most : {whole - 1, whole * 7 / 10, size_t{1}}) {
    const absl::StatusOr<FittedPage> page = FitPage(kTemplate, view, {}, most);
    ASSERT_TRUE(page.ok()) << page.status();
    SCOPED_TRACE(page->dropped);
    EXPECT_LT(page->html.size(), whole);
    const Json data = DataOf(page->html);
    EXPECT_EQ(data["dropped"], page->dropped);
    EXPECT_EQ(Stacks(data), Stacks(all));
    EXPECT_GE(data["bucket_ms"].get<int64_t>(), before_ms);
    EXPECT_GT(data["bucket_ms"].get<int64_t>(), all["bucket_ms"].get<int64_t>());
    for (const int64_t bucket : data["samples"]["bucket"])
      EXPECT_LE(bucket * data["bucket_ms"].get<int64_t>(), 30'000);
    before_ms = data["bucket_ms"];
    dropped = page->dropped;
  }
  EXPECT_EQ(dropped,
            "To stay below 0 MiB this page does not tell when samples were taken, and no lines; "
            "all totals are whole.");
}

}  // namespace
}  // namespace stackray
