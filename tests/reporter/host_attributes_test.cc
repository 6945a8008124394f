// Attributes of the host (BatchSettings::resource_attributes) in every resource.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "reporter/batch.h"
#include "reporter/check.h"
#include "tests/reporter/decoded_batch.h"

namespace stackray {
namespace {

using Attributes = std::vector<std::pair<std::string, std::string>>;

// The attributes of one process's resource, in the order they are written.
Attributes ResourceOf(const ProcessInfo& info, const BatchSettings& settings) {
  BatchBuilder batch(settings);
  const ProcessId id{.pid = 7, .exec_id = 1, .start_time_ns = 1};
  batch.DefineProcess(id, info);
  const FrameKey key = FrameKey::Make(FrameType::kKernel, 0, 1);
  FrameSymbols symbols{.type = FrameType::kKernel};
  symbols.lines.push_back({.function = "f"});
  const std::vector<int32_t> frames = {batch.DefineFrame(key, symbols)};
  batch.AddSample({.process = id, .frames = frames, .time_unix_ns = 1'000, .count = 1});
  const SealedBatchPtr sealed = std::move(batch).Seal(1'000, 2'000);
  EXPECT_THAT(CheckBatch(sealed->bytes), testing::IsEmpty());
  const auto decoded = DecodeBatch(sealed->bytes);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  return decoded->resources.at(0).attributes;
}

std::string Find(const Attributes& attributes, std::string_view key) {
  std::string found;
  int times = 0;
  for (const auto& [name, value] : attributes)
    if (name == key && ++times > 0) found = value;
  EXPECT_LE(times, 1) << key;
  return found;
}

TEST(HostAttributes, AreInEveryResource) {
  const BatchSettings settings{.host_name = "h", .resource_attributes = {{"k8s.node.name", "n1"}}};
  EXPECT_EQ(Find(ResourceOf({.pid = 7, .command = "c"}, settings), "k8s.node.name"), "n1");
  EXPECT_EQ(Find(ResourceOf({}, settings), "k8s.node.name"), "n1");  // Losses' too.
}

TEST(HostAttributes, AProcessKnowsItselfBetter) {
  const BatchSettings settings{
      .resource_attributes = {{"service.name", "of the host"}, {"service.namespace", "host"}}};
  const Attributes own = ResourceOf(
      {.pid = 7, .service_name = "own", .extra = {{"service.namespace", "mine"}}}, settings);
  EXPECT_EQ(Find(own, "service.name"), "own");
  EXPECT_EQ(Find(own, "service.namespace"), "mine");
  const Attributes silent = ResourceOf({.pid = 7}, settings);
  EXPECT_EQ(Find(silent, "service.name"), "of the host");
  EXPECT_EQ(Find(silent, "service.namespace"), "host");
}

// In a pod uname has the pod's name; but a process cannot say on which host it runs.
TEST(HostAttributes, ReplaceWhatTheHostSaysOfItself) {
  const BatchSettings settings{
      .host_name = "pod-7",
      .resource_attributes = {{"host.name", "node-1"}, {"os.type", "linux+"}}};
  const Attributes attributes = ResourceOf({.pid = 7, .extra = {{"host.name", "a lie"}}}, settings);
  EXPECT_EQ(Find(attributes, "host.name"), "node-1");
  EXPECT_EQ(Find(attributes, "os.type"), "linux+");
}

TEST(ProcessAttributes, KeepTheirKind) {
  const Attributes attributes = ResourceOf({.pid = 7,
                                            .extra = {{"a.truth", true},
                                                      {"a.lie", false},
                                                      {"a.number", int64_t{-5}},
                                                      {"a.zero", int64_t{0}},
                                                      {"a.decimal", 0.25},
                                                      {"a.number", "again"}}},
                                           {});
  EXPECT_EQ(Find(attributes, "a.truth"), "true");
  EXPECT_EQ(Find(attributes, "a.lie"), "false");
  EXPECT_EQ(Find(attributes, "a.number"), "-5");
  EXPECT_EQ(Find(attributes, "a.zero"), "0");
  EXPECT_EQ(Find(attributes, "a.decimal"), "0.25");
}

// A receiver can see which values are the process's own word.
TEST(ClaimedAttributes, AreListed) {
  const Attributes attributes =
      ResourceOf({.pid = 7,
                  .container_id = "c1",
                  .pod_uid = "p1",
                  .service_name = "shop",
                  .is_pod_claimed = true,
                  .is_service_claimed = true,
                  .extra = {{"process.user.name", "nobody"}},
                  .claimed = {{"service.version", "3"},
                              {"claimed.k8s.pod.name", "shop-1"},
                              {"process.user.name", "root"},
                              {"a.number", int64_t{5}},
                              {"a.number", int64_t{6}},
                              {"empty", ""}}},
                 {.resource_attributes = {{"service.version", "host's"}, {"team", "a"}}});
  EXPECT_EQ(Find(attributes, "stackray.claimed"),
            "k8s.pod.uid service.name service.version a.number");
  EXPECT_EQ(Find(attributes, "process.user.name"), "nobody");
  EXPECT_EQ(Find(attributes, "service.version"), "3");
  EXPECT_EQ(Find(attributes, "claimed.k8s.pod.name"), "shop-1");
  EXPECT_EQ(Find(attributes, "a.number"), "5");
  EXPECT_EQ(Find(attributes, "team"), "a");
}

TEST(ClaimedAttributes, WithoutAnyThereIsNoList) {
  const Attributes attributes =
      ResourceOf({.pid = 7, .service_name = "unit", .extra = {{"process.user.name", "root"}}}, {});
  EXPECT_EQ(Find(attributes, "stackray.claimed"), "");
  // What is left out is not listed.
  EXPECT_EQ(Find(ResourceOf({.pid = 7, .claimed = {{"secret", "x"}}}, {.left_out = {"secret"}}),
                 "stackray.claimed"),
            "");
}

// However many there are, what the agent knows stays.
TEST(ClaimedAttributes, TakeNoRoomFromOthers) {
  ProcessInfo info{.pid = 7, .extra = {{"process.user.name", "nobody"}}};
  for (int i = 0; i < 1000; ++i) info.claimed.emplace_back("k" + std::to_string(i), "v");
  const Attributes attributes = ResourceOf(info, {.resource_attributes = {{"team", "a"}}});
  EXPECT_EQ(Find(attributes, "process.user.name"), "nobody");
  EXPECT_EQ(Find(attributes, "team"), "a");
  EXPECT_EQ(Find(attributes, "k127"), "v");
  EXPECT_EQ(Find(attributes, "k128"), "");
}

TEST(HostAttributes, CannotClaimAProcess) {
  const BatchSettings settings{.resource_attributes = {{"process.pid", "1"}}};
  EXPECT_EQ(Find(ResourceOf({.pid = 7}, settings), "process.pid"), "7");
}

}  // namespace
}  // namespace stackray
