// Waits from their begin to their end, over seals, bounds and losses, without a kernel.
#include "agent/sampling/off_cpu_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "tests/agent/sampling/record_bytes.h"

namespace stackray::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Part {
  WaitKind kind;
  uint64_t end_ns;
  int64_t value;
  friend bool operator==(const Part&, const Part&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Part& part) {
    return out << WaitKindName(part.kind) << " until " << part.end_ns << ": " << part.value;
  }
};

class Waits : public testing::Test {
 protected:
  bool Begin(uint32_t tid, uint64_t out_ns, uint32_t flags = 0, uint8_t shift = 0,
             uint32_t pid = 9) {
    SampleParts parts{.process = {.pid = pid, .exec_id = 1, .start_time_ns = 1},
                      .time_ns = out_ns,
                      .tid = tid,
                      .leader_command = "leader",
                      .thread_command = "thread",
                      .flags = flags,
                      .kernel = {1, 2, 3},
                      .user = {FrameWord(FRAME_NO_RANGE, 0, tid)}};
    RecordBytes bytes = MakeSample(parts);
    auto* record = reinterpret_cast<sample_record*>(bytes.data());
    record->origin = ORIGIN_OFF_CPU;
    record->weight_shift = shift;
    const absl::StatusOr<Record> decoded = DecodeRecord(bytes.bytes());
    EXPECT_TRUE(decoded.ok()) << decoded.status();
    const auto& sample = std::get<RawSample>(*decoded);
    return waits_.Begin(sample, sample.user, sample.ranges, record->end, record->flags);
  }
  // The parts that the end brings.
  std::vector<Part> End(uint32_t tid, uint64_t out_ns, uint64_t woken_ns, uint64_t in_ns) {
    const wait_end_record record = {
        .header = {.time_ns = in_ns}, .tid = tid, .out_ns = out_ns, .woken_ns = woken_ns};
    std::vector<Part> parts;
    waits_.End(record, Append(&parts));
    return parts;
  }
  std::vector<Part> Ship(uint64_t now_ns) {
    std::vector<Part> parts;
    waits_.Ship(now_ns, Append(&parts));
    return parts;
  }
  static OffCpuWaits::TakePart Append(std::vector<Part>* parts) {
    return [parts](const OpenWait& wait, const WaitPart& part) {
      EXPECT_THAT(wait.kernel(), ElementsAre(1, 2, 3));
      EXPECT_THAT(wait.user(), ElementsAre(FrameWord(FRAME_NO_RANGE, 0, wait.tid)));
      EXPECT_EQ(CommandText(wait.thread_command), "thread");
      EXPECT_EQ(CommandText(wait.leader_command), "leader");
      parts->push_back({part.kind, part.end_ns, part.value});
    };
  }

  OffCpuWaits waits_{{.waits = 4, .bytes = 1 << 20}};
};

TEST_F(Waits, BlockedThenInTheRunQueue) {
  ASSERT_TRUE(Begin(7, 1000));
  EXPECT_THAT(End(7, 1000, 5000, 5300), ElementsAre(Part{WaitKind::kBlocked, 5000, 4000},
                                                    Part{WaitKind::kRunQueue, 5300, 300}));
  EXPECT_EQ(waits_.size(), 0u);
  EXPECT_EQ(waits_.bytes(), 0u);
}

TEST_F(Waits, PreemptedIsOnePart) {
  ASSERT_TRUE(Begin(7, 1000, SAMPLE_PREEMPTED));
  EXPECT_THAT(End(7, 1000, 0, 3000), ElementsAre(Part{WaitKind::kPreempted, 3000, 2000}));
}

TEST_F(Waits, WithoutASeenWakeupAllOfItIsBlocked) {
  ASSERT_TRUE(Begin(7, 1000));
  EXPECT_THAT(End(7, 1000, 0, 3000), ElementsAre(Part{WaitKind::kBlocked, 3000, 2000}));
  // A wakeup that says it came after the thread ran, or before it waited, adds nothing.
  ASSERT_TRUE(Begin(7, 4000));
  EXPECT_THAT(End(7, 4000, 9000, 5000), ElementsAre(Part{WaitKind::kBlocked, 5000, 1000}));
  ASSERT_TRUE(Begin(7, 6000));
  EXPECT_THAT(End(7, 6000, 100, 7000), ElementsAre(Part{WaitKind::kRunQueue, 7000, 1000}));
}

TEST_F(Waits, AreWeightedByTheirProbability) {
  ASSERT_TRUE(Begin(7, 1000, 0, 8));
  EXPECT_THAT(End(7, 1000, 2000, 2001), ElementsAre(Part{WaitKind::kBlocked, 2000, 256'000},
                                                    Part{WaitKind::kRunQueue, 2001, 256}));
  ASSERT_TRUE(Begin(7, 1000, 0, MAX_WEIGHT_SHIFT));
  const uint64_t end = uint64_t{1} << 62;
  EXPECT_THAT(End(7, 1000, 0, end),
              ElementsAre(Part{WaitKind::kBlocked, end, std::numeric_limits<int64_t>::max()}));
}

// A wait of 30 s over batches of 10 s, shipped at each seal, adds up to 30 s.
TEST_F(Waits, CountOnceOverSeals) {
  constexpr uint64_t kSecond = 1'000'000'000;
  ASSERT_TRUE(Begin(7, 5 * kSecond, 0, 1));
  int64_t sum = 0;
  for (const uint64_t seal : {10, 20, 30}) {
    const std::vector<Part> parts = Ship(seal * kSecond);
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].end_ns, seal * kSecond);
    sum += parts[0].value;
  }
  EXPECT_THAT(Ship(30 * kSecond), IsEmpty());
  EXPECT_THAT(Ship(29 * kSecond), IsEmpty());
  for (const Part& part : End(7, 5 * kSecond, 34 * kSecond, 35 * kSecond)) sum += part.value;
  EXPECT_EQ(sum, static_cast<int64_t>(2 * 30 * kSecond));
  EXPECT_THAT(Ship(40 * kSecond), IsEmpty());
}

// What was shipped as blocked before the wakeup was known is not shipped again as time in the run
// queue.
TEST_F(Waits, SealBetweenWakeupAndRun) {
  ASSERT_TRUE(Begin(7, 1000));
  EXPECT_THAT(Ship(2000), ElementsAre(Part{WaitKind::kBlocked, 2000, 1000}));
  EXPECT_THAT(End(7, 1000, 1500, 2600), ElementsAre(Part{WaitKind::kRunQueue, 2600, 600}));
}

TEST_F(Waits, EndsOfOtherWaitsChangeNothing) {
  ASSERT_TRUE(Begin(7, 1000));
  EXPECT_THAT(End(7, 999, 1500, 2000), IsEmpty());
  EXPECT_THAT(End(8, 1000, 1500, 2000), IsEmpty());
  EXPECT_EQ(waits_.size(), 1u);
}

// The end of its first wait was lost.
TEST_F(Waits, NewWaitOfAThreadReplacesItsOld) {
  ASSERT_TRUE(Begin(7, 1000));
  ASSERT_TRUE(Begin(7, 3000));
  EXPECT_EQ(waits_.size(), 1u);
  EXPECT_THAT(End(7, 1000, 0, 2000), IsEmpty());
  EXPECT_THAT(End(7, 3000, 0, 4000), ElementsAre(Part{WaitKind::kBlocked, 4000, 1000}));
}

TEST_F(Waits, BoundsHold) {
  for (uint32_t tid = 1; tid <= 4; ++tid) EXPECT_TRUE(Begin(tid, tid));
  EXPECT_FALSE(Begin(5, 5));
  EXPECT_TRUE(Begin(4, 6)) << "in the place of its own";
  EXPECT_EQ(waits_.size(), 4u);
  const size_t one = waits_.bytes() / 4;
  waits_ = OffCpuWaits({.waits = 100, .bytes = 2 * one});
  EXPECT_TRUE(Begin(1, 1));
  EXPECT_TRUE(Begin(2, 1));
  EXPECT_FALSE(Begin(3, 1));
  EXPECT_LE(waits_.bytes(), 2 * one);
}

TEST_F(Waits, GoWithTheirProcess) {
  ASSERT_TRUE(Begin(1, 1, 0, 0, 9));
  ASSERT_TRUE(Begin(2, 1, 0, 0, 10));
  waits_.EndProcess({.pid = 9, .exec_id = 1, .start_time_ns = 2});
  EXPECT_EQ(waits_.size(), 2u) << "another process had this pid";
  waits_.EndProcess({.pid = 9, .exec_id = 5, .start_time_ns = 1});
  EXPECT_EQ(waits_.size(), 1u);
  EXPECT_THAT(End(2, 1, 0, 2), ElementsAre(Part{WaitKind::kBlocked, 2, 1}));
}

TEST_F(Waits, ThoseWhoseEndWasLostAreForgotten) {
  ASSERT_TRUE(Begin(1, 100));
  ASSERT_TRUE(Begin(2, 200));
  ASSERT_TRUE(Begin(3, 300));
  waits_.Check([](uint32_t tid) -> std::optional<uint64_t> {
    if (tid == 1) return 100;
    if (tid == 2) return 250;  // It waits again.
    return std::nullopt;       // It runs.
  });
  EXPECT_EQ(waits_.size(), 1u);
  EXPECT_THAT(End(1, 100, 0, 101), ElementsAre(Part{WaitKind::kBlocked, 101, 1}));
}

// Whatever comes in whatever order: no part has a value below 1, and what is counted of a wait is
// no more than it lasted.
TEST_F(Waits, AnyOrderOfRecordsIsBounded) {
  waits_ = OffCpuWaits({.waits = 20, .bytes = 1 << 20});
  std::mt19937_64 random(5);
  int64_t sum = 0;
  uint64_t now = 1000;
  for (int i = 0; i < 20'000; ++i) {
    now += random() % 1000;
    const uint32_t tid = 1 + static_cast<uint32_t>(random() % 30);
    std::vector<Part> parts;
    switch (random() % 4) {
      case 0: Begin(tid, now, random() % 2 != 0 ? SAMPLE_PREEMPTED : 0); break;
      case 1: parts = End(tid, now - random() % 3000, now - random() % 2000, now); break;
      case 2: parts = Ship(now - random() % 100); break;
      case 3: waits_.EndProcess({.pid = 9, .exec_id = 1, .start_time_ns = random() % 50}); break;
    }
    for (const Part& part : parts) {
      EXPECT_GE(part.value, 1);
      EXPECT_LE(part.end_ns, now);
      sum += part.value;
    }
  }
  EXPECT_LE(sum, static_cast<int64_t>(20 * now));
  waits_.Check([](uint32_t) { return std::nullopt; });
  EXPECT_EQ(waits_.bytes(), 0u);
}

}  // namespace
}  // namespace stackray::test
