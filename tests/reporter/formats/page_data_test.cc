#include "reporter/formats/page_data.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/reporter/formats/test_batches.h"

namespace stackray {
namespace {

using Json = nlohmann::json;

TEST(PageData, WholeDocument) {
  TestBatch test;
  const int32_t app = test.Process(42, "app", "/usr/bin/app");
  test.batch.resources[app].attributes.emplace_back("container.id", "c0ffee");
  const int32_t outer = test.Inlined({"inner()", "outer()"});
  test.Sample(app, {outer, test.Kernel("vfs_read")}, 3, 43, "worker", {0, 5, 900});
  test.Sample(app, {outer}, 1, 0, "", {900});
  test.Sample(app, {test.Python("run", "/srv/a.py"), test.Nameless("/lib/libc.so.6", 0x1f)}, 2, 43,
              "worker", {20, 20});
  ProfileView view;
  AddTo(&view, test.batch);
  SummaryCounter counter;
  AddTo(&counter, test.batch);
  EXPECT_EQ(
      PageData(view, {.title = "record of <x>", .summary = counter.summary()}),
      R"j({"format":"stackray-page/1","title":"record of <x>","host":"build-host",)j"
      R"j("frequency_hz":100,"start_ms":1790000000000,"end_ms":1790000001000,"bucket_ms":10,)j"
      R"j("strings":["","outer()","native","app","app.cc","inner()","native+inline","vfs_read",)j"
      R"j("kernel","vmlinux","run","cpython","/srv/a.py","[libc.so.6+0x1f]","libc.so.6","worker",)j"
      R"j("/usr/bin/app","c0ffee"],)j"
      R"j("frames":{"name":[1,5,7,10,13],"type":[2,6,8,11,2],"file":[3,3,9,12,14],)j"
      R"j("source":[4,4,0,12,0],"line":[11,10,0,7,0]},)j"
      R"j("nodes":{"parent":[-1,0,1,2,0,4],"frame":[-1,0,1,2,3,4]},)j"
      R"j("samples":{"node":[3,5,3,2],"thread":[0,0,0,1],"bucket":[0,2,90,90],"count":[2,2,1,1]},)j"
      R"j("threads":{"process":[0,0],"tid":[43,0],"name":[15,0]},)j"
      R"j("processes":{"pid":[42],"command":[3],"executable":[16],"container":[17]},)j"
      R"j("summary":{"samples":6,"complete":6,"through_unknown":0,"user_stacks":6,"named_frames":9,"frames":11,"lost":0,)j"
      R"j("unnamed":"Unnamed: 18.1 % of the frames are code of files without symbols, which debug symbols would name )j"
      R"j((`stackray explain PID` says how)."}})j");
}

TEST(PageData, NothingIsStillADocument) {
  EXPECT_EQ(
      PageData(ProfileView(), {}),
      R"j({"format":"stackray-page/1","title":"","host":"","frequency_hz":0,"start_ms":0,)j"
      R"j("end_ms":0,"bucket_ms":10,"strings":[""],"frames":{"name":[],"type":[],"file":[]},)j"
      R"j("nodes":{"parent":[-1],"frame":[-1]},)j"
      R"j("samples":{"node":[],"thread":[],"bucket":[],"count":[]},)j"
      R"j("threads":{"process":[],"tid":[],"name":[]},)j"
      R"j("processes":{"pid":[],"command":[],"executable":[],"container":[]}})j");
}

// What the page's own reader insists on, for many batches.
TEST(PageData, EveryIndexIsInItsTableAndParentsComeFirst) {
  ProfileView view;
  for (int second = 0; second < 30; ++second) {
    TestBatch test(kTestStartNs + second * 1'000'000'000LL);
    for (int pid = 1; pid < 5; ++pid) {
      const int32_t app = test.Process(pid, "app" + std::to_string(pid), "");
      std::vector<int32_t> stack;
      for (int depth = 0; depth < 20; ++depth) {
        stack.push_back(test.Native("f" + std::to_string(depth * pid % 7), 16 * depth));
        test.Sample(app, stack, 1, pid * 10 + depth % 3, "t", {depth * 49});
      }
    }
    AddTo(&view, test.batch);
  }
  const Json page = Json::parse(PageData(view, {}));
  const auto strings = page["strings"].size(), frames = page["frames"]["name"].size();
  for (const char* column : {"name", "type", "file"}) {
    ASSERT_EQ(page["frames"][column].size(), frames);
    for (const size_t index : page["frames"][column]) EXPECT_LT(index, strings);
  }
  const auto& parents = page["nodes"]["parent"];
  ASSERT_EQ(page["nodes"]["frame"].size(), parents.size());
  for (size_t i = 1; i < parents.size(); ++i) {
    EXPECT_LT(parents[i].get<size_t>(), i);
    EXPECT_LT(page["nodes"]["frame"][i].get<size_t>(), frames);
  }
  const int64_t buckets = (page["end_ms"].get<int64_t>() - page["start_ms"].get<int64_t>() - 1) /
                              page["bucket_ms"].get<int64_t>() +
                          1;
  EXPECT_LE(buckets, 240);
  int64_t sum = 0;
  const auto& samples = page["samples"];
  for (size_t i = 0; i < samples["count"].size(); ++i) {
    sum += samples["count"][i].get<int64_t>();
    EXPECT_LT(samples["node"][i].get<size_t>(), parents.size());
    EXPECT_LT(samples["thread"][i].get<size_t>(), page["threads"]["tid"].size());
    EXPECT_LT(samples["bucket"][i].get<int64_t>(), buckets);
  }
  EXPECT_EQ(sum, 30 * 4 * 20);
}

TEST(PageData, CpusServicesAndTheTimeThatWasWatchedAreToldWhereKnown) {
  TestBatch test(kTestStartNs + 2'000'000'000);  // One second of five.
  const int32_t shop = test.Process(1, "app", "");
  test.batch.resources.back().attributes.emplace_back("service.name", "shop");
  test.Sample(shop, {test.Native("main")}, 3, 1, "", {500});
  test.Sample(test.Process(2, "app", ""), {test.Native("main")}, 1, 2, "", {600});
  ProfileView view;
  AddTo(&view, test.batch);
  view.CoverTime(kTestStartNs, kTestStartNs + 5'000'000'000);
  const Json page = Json::parse(PageData(view, {.cpus = 8}));
  EXPECT_EQ(page["cpus"], 8);
  EXPECT_EQ(page["start_ms"].get<int64_t>(), kTestStartNs / 1'000'000);
  EXPECT_EQ(page["end_ms"].get<int64_t>(), kTestStartNs / 1'000'000 + 5000);
  const auto& services = page["processes"]["service"];
  ASSERT_EQ(services.size(), 2u);
  EXPECT_EQ(page["strings"][services[0].get<size_t>()], "shop");
  EXPECT_EQ(services[1], 0);
  const int64_t bucket_ms = page["bucket_ms"];
  EXPECT_NEAR(page["samples"]["bucket"][0].get<int64_t>() * bucket_ms, 2500, bucket_ms);
}

TEST(PageData, NumbersThatABrowserCannotHoldAreClamped) {
  TestBatch test;
  const int32_t app = test.Process(int64_t{1} << 40, "app", "");
  test.Sample(app, {}, INT64_MAX, -3);
  test.Sample(test.Process(-9, "app", ""), {}, 1, int64_t{1} << 50);
  ProfileView view;
  AddTo(&view, test.batch);
  const Json page = Json::parse(PageData(view, {}));
  EXPECT_EQ(page["processes"]["pid"], Json({2147483647, 0}));
  EXPECT_EQ(page["threads"]["tid"], Json({0, 2147483647}));
  EXPECT_EQ(page["samples"]["count"], Json({9007199254740991, 1}));
}

}  // namespace
}  // namespace stackray
