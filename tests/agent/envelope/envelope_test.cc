// What is given up for a budget, in which order, and when it comes back.
#include "agent/envelope/envelope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <vector>

namespace stackray {
namespace {

using testing::ElementsAre;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kMiB = uint64_t{1} << 20;

// An agent of numbers: what it costs follows from what it was told to do without.
class NumberedAgent {
 public:
  explicit NumberedAgent(const EnvelopeBudgets& budgets, bool history_in_memory = false)
      : envelope_(budgets, MostLevels(100, history_in_memory)) {}

  // One second. Its CPU time: `fixed`, and `sampled` at the full rate.
  void Second() {
    cpu_ns_ +=
        static_cast<uint64_t>((fixed_cpus + sampled_cpus * FrequencyAt(Frequency(), 1)) * 1e9);
    now_ns_ += kSecond;
    spent_.push_back(cpu_ns_);
    if (envelope_.Decide({resident_bytes(), bpf_bytes(), cpu_ns_}, now_ns_)) {
      ++changes_;
      history_.push_back(envelope_.levels());
    }
  }
  void Seconds(int n) {
    for (int i = 0; i < n; ++i) Second();
  }
  // The most CPU time in any so many seconds, from second `from` on.
  double MostCpus(size_t length, size_t from) const {
    double most = 0;
    for (size_t i = from + length; i < spent_.size(); ++i)
      most = std::max(most, static_cast<double>(spent_[i] - spent_[i - length]) / 1e9 /
                                static_cast<double>(length));
    return most;
  }

  uint64_t resident_bytes() const { return resident_mib(envelope_.levels()) * kMiB; }
  uint64_t bpf_bytes() const { return bpf_mib(envelope_.levels()) * kMiB; }
  int Frequency() const { return Level(EnvelopeStep::kFrequency); }
  int Level(EnvelopeStep step) const { return envelope_.levels()[static_cast<size_t>(step)]; }
  const Envelope& envelope() const { return envelope_; }
  Envelope& envelope() { return envelope_; }
  int changes() const { return changes_; }
  const std::vector<StepLevels>& history() const { return history_; }

  double fixed_cpus = 0, sampled_cpus = 0;
  std::function<uint64_t(const StepLevels&)> resident_mib = [](const StepLevels&) { return 1; };
  std::function<uint64_t(const StepLevels&)> bpf_mib = [](const StepLevels&) { return 1; };

 private:
  Envelope envelope_;
  uint64_t now_ns_ = 1000 * kSecond, cpu_ns_ = 0;
  int changes_ = 0;
  std::vector<uint64_t> spent_;
  std::vector<StepLevels> history_;
};

TEST(Envelope, NothingIsGivenUpInsideTheBudgets) {
  NumberedAgent agent({.resident_bytes = 100 * kMiB, .bpf_bytes = 50 * kMiB, .cpus = 0.5});
  agent.resident_mib = [](const StepLevels&) { return 89; };
  agent.bpf_mib = [](const StepLevels&) { return 45; };
  agent.sampled_cpus = 0.44;
  agent.Seconds(3600);
  EXPECT_EQ(agent.changes(), 0);
  EXPECT_FALSE(agent.envelope().exhausted());
  EXPECT_NEAR(agent.envelope().used_share(BudgetedResource::kResident), 0.89, 1e-9);
  EXPECT_NEAR(agent.envelope().cpus(), 0.44, 0.01);
}

TEST(Envelope, WithoutBudgetsNothingIsEverGivenUp) {
  NumberedAgent agent({});
  agent.resident_mib = [](const StepLevels&) { return 1 << 20; };
  agent.sampled_cpus = 64;
  agent.Seconds(600);
  EXPECT_EQ(agent.changes(), 0);
}

// The start of an agent, a large symbol table: seconds of work, and then none.
TEST(Envelope, ABurstIsNoReason) {
  NumberedAgent agent({.resident_bytes = 0, .bpf_bytes = 0, .cpus = 0.5});
  for (int i = 0; i < 20; ++i) {
    agent.fixed_cpus = 1;
    agent.Seconds(8);
    agent.fixed_cpus = 0.01;
    agent.Seconds(60);
  }
  EXPECT_EQ(agent.changes(), 0);
}

TEST(Envelope, CpuTakesFramePointersAndThenTheFrequency) {
  NumberedAgent agent({.resident_bytes = 0, .bpf_bytes = 0, .cpus = 0.25});
  agent.sampled_cpus = 0.28;
  agent.Seconds(300);
  ASSERT_FALSE(agent.history().empty());
  EXPECT_THAT(agent.history().front(), ElementsAre(0, 0, 1, 1, 0, 0));
  for (const StepLevels& levels : agent.history())
    EXPECT_EQ(levels[3] == 0 || levels[2] == 1, true);
  EXPECT_EQ(agent.envelope().reason(), BudgetedResource::kCpu);
}

// Whatever the load: after at most one window it stays inside the budget, and slowly growing loads
// never leave it.
TEST(Envelope, TheCpuBudgetHolds) {
  for (const double load : {0.3, 0.5, 1.0, 2.0, 3.5}) {
    SCOPED_TRACE(load);
    NumberedAgent agent({.resident_bytes = 0, .bpf_bytes = 0, .cpus = 0.25});
    agent.fixed_cpus = 0.01;
    agent.Seconds(120);
    agent.sampled_cpus = load;
    agent.Seconds(600);
    EXPECT_LE(agent.MostCpus(60, 180), 0.25);
    if (load <= 1) {
      EXPECT_LE(agent.MostCpus(60, 0), 0.25);
    }
  }
  NumberedAgent agent({.resident_bytes = 0, .bpf_bytes = 0, .cpus = 0.25});
  for (int second = 0; second < 1800; ++second) {
    agent.sampled_cpus = second * 0.001;
    agent.Second();
  }
  EXPECT_LE(agent.MostCpus(60, 0), 0.25);
  EXPECT_EQ(agent.Frequency(), 3);
}

TEST(Envelope, CpuComesBackOnceThereIsRoomForIt) {
  NumberedAgent agent({.resident_bytes = 0, .bpf_bytes = 0, .cpus = 0.2});
  agent.sampled_cpus = 1;
  agent.Seconds(120);
  ASSERT_EQ(agent.Frequency(), 3);
  const int changes = agent.changes();
  agent.Seconds(600);  // There is no room for twice as much.
  EXPECT_EQ(agent.changes(), changes);
  agent.sampled_cpus = 0.4;
  agent.Seconds(130);
  EXPECT_EQ(agent.Frequency(), 2);
  agent.sampled_cpus = 0.02;
  agent.Seconds(130);
  EXPECT_THAT(agent.envelope().levels(), ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_LE(agent.MostCpus(60, 60), 0.2);
}

TEST(Envelope, MemoryTakesTablesThenCachesThenHistory) {
  NumberedAgent agent({.resident_bytes = 60 * kMiB, .bpf_bytes = 0, .cpus = 0.5}, true);
  agent.resident_mib = [](const StepLevels& l) {
    return 70 - static_cast<uint64_t>(l[0] + l[4] + l[5]);
  };
  agent.Seconds(60);
  EXPECT_THAT(agent.history(),
              ElementsAre(ElementsAre(1, 0, 0, 0, 0, 0), ElementsAre(2, 0, 0, 0, 0, 0),
                          ElementsAre(3, 0, 0, 0, 0, 0), ElementsAre(3, 0, 0, 0, 1, 0),
                          ElementsAre(3, 0, 0, 0, 1, 1), ElementsAre(3, 0, 0, 0, 1, 2)));
  EXPECT_TRUE(agent.envelope().exhausted());
  agent.resident_mib = [](const StepLevels&) { return 30; };
  agent.Seconds(1000);
  EXPECT_THAT(agent.envelope().levels(), ElementsAre(0, 0, 0, 0, 0, 0));
  // The last comes back first.
  EXPECT_THAT(agent.history()[6], ElementsAre(3, 0, 0, 0, 1, 1));
  EXPECT_THAT(agent.history()[8], ElementsAre(3, 0, 0, 0, 0, 0));
  EXPECT_THAT(agent.history()[10], ElementsAre(1, 0, 0, 0, 0, 0));
}

TEST(Envelope, EachResourceHasStepsOfItsOwn) {
  NumberedAgent agent({.resident_bytes = 0, .bpf_bytes = 10 * kMiB, .cpus = 0.5}, true);
  agent.bpf_mib = [](const StepLevels&) { return 10; };
  agent.Seconds(120);
  EXPECT_THAT(agent.envelope().levels(), ElementsAre(3, 0, 0, 0, 0, 0));
  EXPECT_TRUE(agent.envelope().exhausted());
}

// Memory that stays short does not keep the frequency down.
TEST(Envelope, WhatIsShortKeepsBackItsOwnStepsAlone) {
  NumberedAgent agent({.resident_bytes = 100 * kMiB, .bpf_bytes = 0, .cpus = 0.2});
  agent.resident_mib = [](const StepLevels& l) { return l[0] == 0 ? 95 : 85; };
  agent.sampled_cpus = 1;
  agent.Seconds(120);
  EXPECT_THAT(agent.envelope().levels(), ElementsAre(1, 0, 1, 3, 0, 0));
  agent.sampled_cpus = 0.02;
  agent.Seconds(200);
  EXPECT_THAT(agent.envelope().levels(), ElementsAre(1, 0, 0, 0, 0, 0));
}

// A load that fills whatever comes back: the waits double, up to an hour.
TEST(Envelope, WhatComesBackInVainComesBackSeldom) {
  NumberedAgent agent({.resident_bytes = 100 * kMiB, .bpf_bytes = 0, .cpus = 0});
  agent.resident_mib = [](const StepLevels& l) { return l[0] == 0 ? 95 : 60; };
  agent.Seconds(12 * 3600);
  EXPECT_LT(agent.changes(), 40);
  EXPECT_GT(agent.changes(), 10);
}

// Captures are slowed down before anything of the continuous profile is given up.
TEST(Envelope, CapturesGiveWayFirst) {
  NumberedAgent agent({.resident_bytes = 0, .bpf_bytes = 0, .cpus = 0.5});
  agent.envelope().Configure(agent.envelope().budgets(), MostLevels(100, false, true));
  agent.fixed_cpus = 0.7;
  agent.Seconds(120);
  ASSERT_FALSE(agent.history().empty());
  for (const StepLevels& levels : agent.history()) {
    const int captures = levels[static_cast<size_t>(EnvelopeStep::kCaptures)];
    const int frame_pointers = levels[static_cast<size_t>(EnvelopeStep::kFramePointers)];
    EXPECT_TRUE(captures == 4 || frame_pointers == 0);
  }
  EXPECT_GT(agent.Level(EnvelopeStep::kCaptures), 0);
  // Without captures there is nothing to slow down.
  agent.envelope().Configure(agent.envelope().budgets(), MostLevels(100, false));
  EXPECT_EQ(agent.Level(EnvelopeStep::kCaptures), 0);
}

TEST(Envelope, OtherBudgetsHoldFromTheNextLookOn) {
  NumberedAgent agent({.resident_bytes = 50 * kMiB, .bpf_bytes = 0, .cpus = 0});
  agent.resident_mib = [](const StepLevels&) { return 60; };
  agent.Seconds(20);
  EXPECT_GT(agent.Level(EnvelopeStep::kUnwindTables), 0);
  agent.envelope().Configure({.resident_bytes = 200 * kMiB, .bpf_bytes = 0, .cpus = 0},
                             MostLevels(100, false));
  agent.Seconds(600);
  EXPECT_THAT(agent.envelope().levels(), ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_EQ(agent.envelope().budgets().resident_bytes, 200 * kMiB);
}

TEST(Envelope, TheFrequencyStaysAtOneHertzOrMore) {
  const auto most = [](double hz) {
    return MostLevels(hz, true)[static_cast<size_t>(EnvelopeStep::kFrequency)];
  };
  EXPECT_EQ(most(1), 0);
  EXPECT_EQ(most(3), 1);
  EXPECT_EQ(most(20), 4);
  EXPECT_EQ(most(10000), 4);
  EXPECT_EQ(MostLevels(20, false)[static_cast<size_t>(EnvelopeStep::kHistory)], 0);
  EXPECT_EQ(MostLevels(20, false)[static_cast<size_t>(EnvelopeStep::kCaptures)], 0);
  EXPECT_EQ(MostLevels(20, false, true)[static_cast<size_t>(EnvelopeStep::kCaptures)], 4);
  EXPECT_EQ(FrequencyAt(3, 20), 2.5);
  EXPECT_EQ(OffCpuRateAt(0, 200), 200u);
  EXPECT_EQ(OffCpuRateAt(3, 200), 25u);
  EXPECT_EQ(OffCpuRateAt(4, 7), 1u) << "waits stay sampled";
  EXPECT_EQ(OffCpuRateAt(4, 0), 0u) << "nobody asked for them";
}

TEST(Envelope, LevelsMeanLessAndLess) {
  EXPECT_EQ(TableBytesAt(0, 16 * kMiB), 16 * kMiB);
  EXPECT_EQ(TableBytesAt(1, 16 * kMiB), 8 * kMiB);
  EXPECT_EQ(TableBytesAt(2, 16 * kMiB), 4 * kMiB);
  EXPECT_EQ(TableBytesAt(3, 16 * kMiB), 2 * kMiB);
  EXPECT_EQ(TableBytesAt(2, 3 * kMiB), 2 * kMiB);
  EXPECT_EQ(TableBytesAt(3, 1 * kMiB), 1 * kMiB);
  EXPECT_EQ(ShareAt(2, 400), 100u);
}

}  // namespace
}  // namespace stackray
