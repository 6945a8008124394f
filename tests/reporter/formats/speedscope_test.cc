#include "reporter/formats/speedscope.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/reporter/formats/test_batches.h"

namespace stackray {
namespace {

TEST(Speedscope, WholeDocument) {
  TestBatch test;
  const int32_t app = test.Process(42, "app", "/usr/bin/app");
  const int32_t outer = test.Inlined({"inner()", "outer()"});
  test.Sample(app, {outer}, 1, 42, "app", {10});
  test.Sample(app, {outer, test.Kernel("vfs_read")}, 2, 43, "worker", {0, 900});
  test.Sample(app, {}, 1, 43, "worker", {0});
  test.Sample(test.Process(0, "", ""), {test.Marker("[lost: ring full]")}, 1);
  ProfileView view;
  AddTo(&view, test.batch);
  EXPECT_EQ(
      SpeedscopeJson(view, view.DefaultType(), "a \"title\""),
      R"j({"$schema":"https://www.speedscope.app/file-format-schema.json","name":"a \"title\"",)j"
      R"j("exporter":"stackray","activeProfileIndex":0,"shared":{"frames":[)j"
      R"j({"name":"outer()","file":"app"},{"name":"inner()","file":"app"},)j"
      R"j({"name":"vfs_read","file":"vmlinux"},{"name":"[lost: ring full]"}]},"profiles":[)j"
      R"j({"type":"sampled","name":"app (pid 42) worker (tid 43)","unit":"nanoseconds",)j"
      R"j("startValue":0,"endValue":30000000,"samples":[[],[0,1,2]],"weights":[10000000,20000000]},)j"
      R"j({"type":"sampled","name":"[host]","unit":"nanoseconds",)j"
      R"j("startValue":0,"endValue":10000000,"samples":[[3]],"weights":[10000000]},)j"
      R"j({"type":"sampled","name":"app (pid 42) app (tid 42)","unit":"nanoseconds",)j"
      R"j("startValue":0,"endValue":10000000,"samples":[[0,1]],"weights":[10000000]}]})j"
      "\n");
}

TEST(Speedscope, WithoutPeriodWeightsAreSamples) {
  TestBatch test;
  test.batch.period_ns = 0;
  test.Sample(test.Process(1, "app", ""), {test.Native("main")}, 7);
  ProfileView view;
  AddTo(&view, test.batch);
  const auto json = nlohmann::json::parse(SpeedscopeJson(view, view.DefaultType(), ""));
  EXPECT_EQ(json["profiles"][0]["unit"], "none");
  EXPECT_EQ(json["profiles"][0]["weights"], nlohmann::json({7}));
}

TEST(Speedscope, LongOutputComesInPartsAndIsTheSame) {
  TestBatch test;
  const int32_t app = test.Process(1, "app", "");
  for (int i = 0; i < 20'000; ++i) test.Sample(app, {test.Native("f" + std::to_string(i))}, 1);
  ProfileView view;
  AddTo(&view, test.batch);
  std::string text;
  size_t parts = 0, longest = 0;
  ASSERT_TRUE(WriteSpeedscope(view, view.DefaultType(), "", [&](std::string_view part) {
                text += part;
                ++parts;
                longest = std::max(longest, part.size());
                return absl::OkStatus();
              }).ok());
  EXPECT_GT(parts, 5u);
  EXPECT_LT(longest, 70'000u);
  EXPECT_EQ(text, SpeedscopeJson(view, view.DefaultType(), ""));
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["profiles"][0]["samples"].size(), 20'000u);
}

TEST(Speedscope, NothingIsStillADocument) {
  const auto json = nlohmann::json::parse(SpeedscopeJson(ProfileView(), 0, "t"));
  EXPECT_TRUE(json["profiles"].empty());
  EXPECT_TRUE(json["shared"]["frames"].empty());
}

}  // namespace
}  // namespace stackray
