// Several receivers at once and reloads, against HTTP servers on 127.0.0.1.
#include "agent/daemon/receiver_set.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <map>

#include "tests/reporter/decoded_batch.h"
#include "tests/reporter/export/http_receiver.h"
#include "tests/reporter/export/test_batches.h"
#include "tests/reporter/export/test_ports.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

SealedBatchPtr MakeSealedBatch(std::string bytes, uint64_t samples) {
  return std::make_shared<const SealedBatch>(
      SealedBatch{.bytes = std::move(bytes), .samples = samples});
}

using std::chrono::milliseconds;
using std::chrono::seconds;

// Takes what it gets, unless told otherwise.
struct Server {
  std::atomic<int> status{200};
  std::atomic<bool> slow{false};
  HttpReceiver http{[this](const HttpRequest&, httplib::Response& response) {
    while (slow) std::this_thread::sleep_for(milliseconds(5));
    response.status = status;
  }};
  std::vector<std::string> Bodies() const {
    std::vector<std::string> bodies;
    for (const HttpRequest& request : http.requests()) bodies.push_back(request.bytes);
    return bodies;
  }
};

class Receivers : public testing::Test {
 protected:
  const test::TemporaryDirectory directory_;

  ReceiverPlan PlanFor(const std::string& name, uint16_t port, bool spool = false) const {
    AgentSettings settings;
    settings.state_dir = folder_;
    settings.spool_bytes = spool ? 64 * kMiB : 0;
    ReceiverStrings strings;
    strings.name = name;
    strings.endpoint = fmt::format("http://127.0.0.1:{}", port);
    strings.protocol = "http/protobuf";
    strings.timeout = "60000";
    settings.receivers = {strings};
    ReceiverPlan plan = PlanReceivers(settings)->at(0);
    plan.probe = false;  // These servers count their requests.
    return plan;
  }
  DeliveryCounts CountsOf(const std::string& name) const {
    for (const Receiver* receiver : set_.All())
      if (receiver->plan().name == name) return receiver->Counts();
    return {};
  }
  // The accounts of one whose session is this test: everything added was produced for it.
  void ExpectAddsUp(const std::string& name, uint64_t added) const {
    const DeliveryCounts counts = CountsOf(name);
    EXPECT_TRUE(AddsUp(counts)) << name;
    EXPECT_EQ(counts.produced.items - counts.recovered.items, added) << name;
  }
  const std::string& folder_ = directory_.path();
  ReceiverSet set_;
};

TEST_F(Receivers, ASlowOneHoldsUpNobody) {
  Server slow, quick;
  slow.slow = true;
  set_.Apply({PlanFor("slow", slow.http.port()), PlanFor("quick", quick.http.port())}, {},
             seconds(5));
  for (int i = 0; i < 20; ++i) set_.Add(MakeSealedBatch(fmt::format("batch {}", i), 3));
  EXPECT_TRUE(Eventually([&] { return CountsOf("quick").delivered.items == 60; }));
  EXPECT_EQ(CountsOf("slow").delivered.items, 0u);
  EXPECT_EQ(CountsOf("slow").in_flight.items, 60u);
  slow.slow = false;
  EXPECT_TRUE(Eventually([&] { return CountsOf("slow").delivered.items == 60; }));
  EXPECT_EQ(slow.Bodies(), quick.Bodies());
}

TEST_F(Receivers, AReloadWithTheSamePlanTouchesNothing) {
  Server server;
  server.slow = true;
  set_.Apply({PlanFor("a", server.http.port())}, {}, seconds(5));
  const Receiver* before = set_.All().at(0);
  set_.Add(MakeSealedBatch("x", 1));
  ASSERT_TRUE(Eventually([&] { return CountsOf("a").queued_batches == 1; }));
  set_.Apply({PlanFor("a", server.http.port())}, {.sealed = 99}, seconds(5));
  EXPECT_EQ(set_.All().at(0), before);
  EXPECT_EQ(before->span().since.sealed, 0u);
  server.slow = false;
  EXPECT_TRUE(Eventually([&] { return CountsOf("a").delivered.items == 1; }));
  EXPECT_EQ(server.http.requests().size(), 1u);  // Not even the attempt was cut.
}

// With and without a disk: another address gets what the old one did not take, once, in order.
TEST_F(Receivers, AChangedReceiverHandsOverWhatWaits) {
  for (const bool spool : {false, true}) {
    SCOPED_TRACE(spool ? "spool" : "memory");
    ReservedPort absent;
    Server there;
    ReceiverSet set;
    set.Apply({PlanFor("a", absent.port(), spool)}, {.sealed = 5}, seconds(5));
    std::vector<std::string> bodies;
    for (int i = 0; i < 10; ++i) {
      bodies.push_back(fmt::format("batch {} {}", spool, i));
      set.Add(MakeSealedBatch(bodies.back(), 3));
    }
    set.Apply({PlanFor("a", there.http.port(), spool)}, {.sealed = 35}, seconds(5));
    const auto counts = [&] { return set.All().at(0)->Counts(); };
    EXPECT_TRUE(Eventually([&] { return counts().delivered.items == 30; }));
    EXPECT_EQ(there.Bodies(), bodies);
    EXPECT_EQ(counts().produced.items, 30u);
    EXPECT_EQ(counts().recovered.items, 0u);
    EXPECT_EQ(counts().LostInAll().items, 0u);
    EXPECT_TRUE(AddsUp(counts()));
    EXPECT_EQ(set.All().at(0)->span().since.sealed, 5u);
  }
}

TEST_F(Receivers, CountsGoOnWithASuccessor) {
  Server server;
  set_.Apply({PlanFor("a", server.http.port(), true)}, {}, seconds(5));
  set_.Add(MakeSealedBatch("one", 4));
  ASSERT_TRUE(Eventually([&] { return CountsOf("a").delivered.items == 4; }));
  ReceiverPlan changed = PlanFor("a", server.http.port(), true);
  changed.settings.timeout = milliseconds(1234);
  set_.Apply({changed}, {.sealed = 4}, seconds(5));
  set_.Add(MakeSealedBatch("two", 5));
  EXPECT_TRUE(Eventually([&] { return CountsOf("a").delivered.items == 9; }));
  ExpectAddsUp("a", 9);
}

TEST_F(Receivers, TwoThatChangePlaces) {
  ReservedPort first, second;
  set_.Apply({PlanFor("a", first.port(), true), PlanFor("b", second.port(), true)}, {}, seconds(5));
  set_.Add(MakeSealedBatch("x", 7));
  set_.Apply({PlanFor("a", second.port(), true), PlanFor("b", first.port(), true)}, {.sealed = 7},
             seconds(5));
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(CountsOf(name).in_flight.items, 7u) << name;
    EXPECT_EQ(CountsOf(name).spooled.items, 7u) << name;
    ExpectAddsUp(name, 7);
  }
}

TEST_F(Receivers, OneThatGoesDeliversFirst) {
  Server server, other;
  server.slow = true;
  set_.Apply({PlanFor("a", server.http.port()), PlanFor("b", other.http.port())}, {}, seconds(60));
  set_.Add(MakeSealedBatch("x", 1));
  set_.Apply({PlanFor("b", other.http.port())}, {.sealed = 1}, seconds(60));
  EXPECT_EQ(set_.All().size(), 2u);
  set_.Add(MakeSealedBatch("y", 1));  // Not for the one that goes.
  set_.LetGo();
  EXPECT_EQ(set_.All().size(), 2u);
  server.slow = false;
  EXPECT_TRUE(Eventually([&] {
    set_.LetGo();
    return set_.All().size() == 1;
  }));
  EXPECT_THAT(server.Bodies(), testing::ElementsAre("x"));
}

TEST_F(Receivers, OneThatComesBackOwesNothingForTheTimeBetween) {
  Server server;
  server.slow = true;
  set_.Apply({PlanFor("a", server.http.port())}, {}, seconds(60));
  set_.Add(MakeSealedBatch("x", 3));
  set_.Apply({}, {.sealed = 3}, seconds(60));
  ASSERT_EQ(set_.All().size(), 1u);
  EXPECT_EQ(set_.All()[0]->span().until->settled(), 3u);
  set_.Apply({PlanFor("a", server.http.port())}, {.ring_full = 2, .sealed = 10}, seconds(60));
  EXPECT_FALSE(set_.All().at(0)->span().until.has_value());
  EXPECT_EQ(set_.All()[0]->span().since.settled(), 9u);
  // Of the 12 samples that are settled then it was to have these 3.
  SessionCounts session;
  session.kernel.value[COUNT_RING_FULL] = 2;
  session.loop.sealed_samples = 10;
  session.produced = 12;
  const TakerCounts taker = ReceiverTaker("a", session, set_.All()[0]->span(), CountsOf("a"));
  EXPECT_EQ(taker.due, 3u);
  EXPECT_EQ(taker.in_flight + taker.delivered + taker.lost_in_all(), 3u);
  server.slow = false;
}

TEST_F(Receivers, LossesTravelToTheirReceiverAlone) {
  Server good, picky;
  picky.status = 400;
  set_.Apply({PlanFor("good", good.http.port()), PlanFor("picky", picky.http.port())}, {},
             seconds(5));
  set_.Add(MakeSealedBatch("x", 6));
  ASSERT_TRUE(Eventually([&] { return CountsOf("picky").LostInAll().items == 6; }));
  ASSERT_TRUE(Eventually([&] { return CountsOf("good").delivered.items == 6; }));
  picky.status = 200;
  // The hook runs just after the count: ask again until the marker is there.
  ASSERT_TRUE(Eventually([&] {
    set_.SendLosses({}, 1'790'000'000'000'000'000);
    return CountsOf("picky").delivered.markers == 6;
  }));
  EXPECT_EQ(good.http.requests().size(), 1u);
  const auto batch = DecodeBatch(picky.Bodies().back());
  ASSERT_TRUE(batch.ok()) << batch.status();
  ASSERT_EQ(batch->samples.size(), 1u);
  EXPECT_EQ(batch->samples[0].count, 6);
  EXPECT_EQ(batch->frames[static_cast<size_t>(batch->samples[0].frames[0])].lines.at(0).function,
            "[lost: rejected]");
  // Markers are nobody's samples: the sum is the batch's alone.
  EXPECT_EQ(CountsOf("picky").produced.without_markers(), 6u);
}

TEST_F(Receivers, WhileAReceiverTakesNothingItsLossesWaitAsNumbers) {
  ReservedPort absent;
  ReceiverPlan plan = PlanFor("a", absent.port());
  plan.queue_bytes = 4000;
  set_.Apply({plan}, {}, seconds(5));
  for (int i = 0; i < 10; ++i) set_.Add(MakeSealedBatch(NoiseBytes(1000, 1), 1));
  ASSERT_TRUE(Eventually([&] { return !CountsOf("a").failing_with.empty(); }));
  const DeliveryCounts before = CountsOf("a");
  EXPECT_GT(before.LostInAll().items, 0u);
  for (int i = 0; i < 100; ++i) set_.SendLosses({}, 1'790'000'000'000'000'000);
  EXPECT_EQ(CountsOf("a").queued_batches, before.queued_batches);
}

// Batches are lost while the budget of CPU has lowered the rate to 5 Hz, and before: each marker
// has its time's period, also where a successor tells them.
TEST_F(Receivers, LossesHaveThePeriodOfTheirTime) {
  Server server;
  const BatchSettings full{.frequency_hz = 20}, lowered{.frequency_hz = 5};
  constexpr int64_t kNow = 1'790'000'000'000'000'000;
  ReservedPort absent;
  ReceiverPlan plan = PlanFor("a", absent.port());
  plan.queue_bytes = 4000;
  set_.Apply({plan}, {}, seconds(5));
  const auto lose = [&](const BatchSettings& at) {
    set_.SendLosses(at, kNow);  // From here on it holds.
    for (int i = 0; i < 10; ++i) set_.Add(MakeSealedBatch(NoiseBytes(1000, 1), 1));
    EXPECT_TRUE(Eventually([&] { return !CountsOf("a").failing_with.empty(); }));
    set_.SendLosses(at, kNow);
    return CountsOf("a").LostInAll().without_markers();
  };
  const uint64_t at_full = lose(full), in_all = lose(lowered);
  ASSERT_GT(at_full, 0u);
  ASSERT_GT(in_all, at_full);
  set_.Apply({PlanFor("a", server.http.port())}, {}, seconds(5));
  std::map<double, uint64_t> lost;  // By period.
  ASSERT_TRUE(Eventually([&] {
    set_.SendLosses(lowered, kNow);
    lost.clear();
    for (const std::string& body : server.Bodies()) {
      const auto batch = DecodeBatch(body);
      if (!batch.ok()) continue;
      for (const DecodedSample& sample : batch->samples) {
        const DecodedFrame& frame = batch->frames[static_cast<size_t>(sample.frames[0])];
        if (frame.type == "abort-marker")
          lost[batch->period_ns] += static_cast<uint64_t>(sample.count);
      }
    }
    return lost[1e9 / 20] + lost[1e9 / 5] == in_all;
  }));
  EXPECT_EQ(lost, (std::map<double, uint64_t>{{1e9 / 20, at_full}, {1e9 / 5, in_all - at_full}}));
}

TEST_F(Receivers, TheEndIsBoundedForAllTogether) {
  Server slow;
  slow.slow = true;
  std::vector<ReceiverPlan> plans;
  for (const char* name : {"a", "b", "c", "d"}) {
    plans.push_back(PlanFor(name, slow.http.port()));
    plans.back().settings.endpoint.http_path = std::string("/") + name;
  }
  set_.Apply(plans, {}, seconds(5));
  set_.Add(MakeSealedBatch("x", 2));
  const auto began = std::chrono::steady_clock::now();
  set_.Finish(seconds(2));
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_GE(took, milliseconds(1900));
  EXPECT_LT(took, seconds(6));  // One after the other it would be 8 s.
  for (const Receiver* receiver : set_.All())
    EXPECT_EQ(receiver->Counts().lost[static_cast<size_t>(LossReason::kShutdown)].items, 2u);
  slow.slow = false;
}

}  // namespace
}  // namespace stackray
