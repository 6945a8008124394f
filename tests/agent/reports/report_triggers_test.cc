#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/reports/bounded_read.h"
#include "agent/reports/report_trigger.h"
#include "agent/settings/report_list.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

using testing::HasSubstr;

constexpr uint64_t kSecond = 1'000'000'000;

std::unique_ptr<ReportTrigger> Make(const ReportTriggerEntry& entry) {
  static HostEvents* const events = new HostEvents();
  absl::StatusOr<std::unique_ptr<ReportTrigger>> trigger = MakeReportTrigger(entry, *events);
  EXPECT_TRUE(trigger.ok()) << trigger.status();
  return trigger.ok() ? *std::move(trigger) : nullptr;
}

// The only one that fired, if any.
std::optional<TriggerFiring> LookAt(ReportTrigger& trigger, const TriggerMoment& now) {
  std::vector<TriggerFiring> firings = trigger.Look(now);
  EXPECT_LE(firings.size(), 1u);
  if (firings.empty()) return std::nullopt;
  return std::move(firings.front());
}

TEST(ReportTriggers, TheTableHasEveryKindOfTheConfiguration) {
  HostEvents events;
  for (const std::string_view kind : kReportTriggerKinds) {
    const absl::Status status =
        MakeReportTrigger({.kind = std::string(kind), .cgroup = "/x"}, events).status();
    EXPECT_FALSE(absl::IsNotFound(status)) << kind << status;
  }
  EXPECT_TRUE(absl::IsNotFound(MakeReportTrigger({.kind = "rain"}, events).status()));
}

class PressureTest : public testing::Test {
 protected:
  std::optional<TriggerFiring> LookWith(uint64_t total_us) {
    directory_.Write("memory.pressure",
                     "some avg10=0.00 avg60=0.00 avg300=0.00 total=" + std::to_string(total_us) +
                         "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
    return LookAt(*trigger_, {.boot_ns = now_ += kSecond});
  }
  const test::TemporaryDirectory directory_;
  const std::unique_ptr<ReportTrigger> trigger_ = Make({.kind = "memory-pressure",
                                                        .cgroup = directory_.path(),
                                                        .above_percent = 20,
                                                        .window_ms = 3000});
  uint64_t now_ = 0;
};

TEST_F(PressureTest, FiresOnceWhenTheWindowIsAboveAndAgainAfterItWasBelow) {
  uint64_t total = 1'000'000;
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(LookWith(total += 100'000));  // 10 %.
  std::optional<TriggerFiring> firing;
  int fired_after = 0;
  while (!firing && fired_after < 5) {
    firing = LookWith(total += 500'000);
    ++fired_after;
  }
  ASSERT_TRUE(firing);
  EXPECT_EQ(fired_after, 1);  // (100 + 100 + 500) / 3000 ms.
  EXPECT_EQ(firing->target.kind, TargetKind::kCgroup);
  EXPECT_EQ(firing->target.cgroup_path, directory_.path());
  EXPECT_THAT(firing->reason, HasSubstr("memory-pressure"));
  EXPECT_THAT(firing->reason, HasSubstr("23 %"));
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(LookWith(total += 500'000));
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(LookWith(total));
  LookWith(total += 500'000);
  EXPECT_TRUE(LookWith(total += 500'000));
}

TEST_F(PressureTest, NothingIsGuessedFromDamagedFiles) {
  for (const char* text : {"", "some", "full total=5", "some avg10=1 total", "x some total=9"}) {
    directory_.Write("memory.pressure", text);
    EXPECT_FALSE(LookAt(*trigger_, {.boot_ns = now_ += kSecond})) << text;
  }
}

TEST(MemoryEvents, FiresWhenACountRises) {
  const test::TemporaryDirectory cgroup;
  cgroup.Write("memory.events", "low 0\nhigh 5\nmax 0\noom 0\noom_kill 0\n");
  const auto trigger = Make({.kind = "memory-events", .cgroup = cgroup.path()});
  EXPECT_FALSE(LookAt(*trigger, {}));
  EXPECT_FALSE(LookAt(*trigger, {}));
  cgroup.Write("memory.events", "low 0\nhigh 5\nmax 3\noom 0\noom_kill 1\n");
  const auto firing = LookAt(*trigger, {});
  ASSERT_TRUE(firing);
  EXPECT_THAT(firing->reason, HasSubstr("memory.max 3 times"));
  EXPECT_THAT(firing->reason, HasSubstr("killed for want of memory 1 times"));
  EXPECT_FALSE(LookAt(*trigger, {}));
}

TEST(MemoryEvents, KnowsVersionOne) {
  const test::TemporaryDirectory cgroup;
  cgroup.Write("memory.failcnt", "7\n");
  const auto trigger = Make({.kind = "memory-events", .cgroup = cgroup.path()});
  EXPECT_FALSE(LookAt(*trigger, {}));
  cgroup.Write("memory.failcnt", "9\n");
  EXPECT_THAT(LookAt(*trigger, {})->reason, HasSubstr("memory.limit_in_bytes 2 times"));
}

// Most kills come while the group stands at its limit.
TEST(MemoryEvents, AKillFiresWhileOthersGoOn) {
  const test::TemporaryDirectory cgroup;
  int failures = 7;
  const auto fail = [&] { cgroup.Write("memory.failcnt", std::to_string(++failures) + "\n"); };
  const auto kills = [&](int number) {
    cgroup.Write("memory.oom_control",
                 "oom_kill_disable 0\nunder_oom 0\noom_kill " + std::to_string(number) + "\n");
  };
  fail();
  kills(0);
  const auto trigger = Make({.kind = "memory-events", .cgroup = cgroup.path()});
  EXPECT_FALSE(LookAt(*trigger, {}));
  fail();
  EXPECT_TRUE(LookAt(*trigger, {}));
  fail();
  EXPECT_FALSE(LookAt(*trigger, {}));
  for (int number = 1; number <= 2; ++number) {
    fail();
    kills(number);
    const auto firing = LookAt(*trigger, {});
    ASSERT_TRUE(firing) << number;
    EXPECT_THAT(firing->reason, HasSubstr("killed for want of memory 1 times"));
    EXPECT_TRUE(firing->is_over);
  }
  fail();
  EXPECT_FALSE(LookAt(*trigger, {}));
}

TEST(Timer, FiresEachTime) {
  const auto trigger = Make({.kind = "timer", .every_ms = 10'000});
  EXPECT_FALSE(LookAt(*trigger, {.boot_ns = kSecond}));
  EXPECT_FALSE(LookAt(*trigger, {.boot_ns = 10 * kSecond}));
  EXPECT_TRUE(LookAt(*trigger, {.boot_ns = 11 * kSecond}));
  EXPECT_FALSE(LookAt(*trigger, {.boot_ns = 12 * kSecond}));
  EXPECT_TRUE(LookAt(*trigger, {.boot_ns = 21 * kSecond}));
}

TEST(Timer, JitterNeverMakesItEarlier) {
  for (int i = 0; i < 50; ++i) {
    const auto trigger = Make({.kind = "timer", .every_ms = 10'000, .jitter_ms = 5000});
    LookAt(*trigger, {.boot_ns = kSecond});
    EXPECT_FALSE(LookAt(*trigger, {.boot_ns = 10 * kSecond}));
    EXPECT_TRUE(LookAt(*trigger, {.boot_ns = 16 * kSecond}));
  }
}

TEST(FileTrigger, FiresWhenTheFileAppearsOrIsReplaced) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.File("now");
  const auto trigger = Make({.kind = "file", .path = path});
  EXPECT_FALSE(LookAt(*trigger, {}));
  directory.Write("now", "");
  EXPECT_TRUE(LookAt(*trigger, {}));
  EXPECT_FALSE(LookAt(*trigger, {}));
  std::filesystem::rename(directory.Write("other", ""), path);
  EXPECT_TRUE(LookAt(*trigger, {}));
  std::filesystem::remove(path);
  EXPECT_FALSE(LookAt(*trigger, {}));
  directory.Write("now", "");
  EXPECT_TRUE(LookAt(*trigger, {}));
}

TEST(FileTrigger, AFileThatWasThereIsNothingNew) {
  const test::TemporaryDirectory directory;
  const auto trigger = Make({.kind = "file", .path = directory.Write("now", "")});
  EXPECT_FALSE(LookAt(*trigger, {}));
}

TEST(BudgetTrigger, FiresWhenTheBudgetGetsShort) {
  const auto trigger = Make({.kind = "budget"});
  EXPECT_FALSE(LookAt(*trigger, {}));
  EXPECT_TRUE(LookAt(*trigger, {.is_own_budget_short = true}));
  EXPECT_FALSE(LookAt(*trigger, {.is_own_budget_short = true}));
  EXPECT_FALSE(LookAt(*trigger, {}));
  EXPECT_TRUE(LookAt(*trigger, {.is_own_budget_short = true}));
}

TEST(BoundedRead, NumbersOfKeys) {
  const std::string text = "low 1\nhigh 22\noom 3\noom_kill 4\nVmRSS:\t  55 kB\nx";
  EXPECT_EQ(NumberOf(text, "high"), 22u);
  EXPECT_EQ(NumberOf(text, "oom"), 3u);
  EXPECT_EQ(NumberOf(text, "oom_kill"), 4u);
  EXPECT_EQ(NumberOf(text, "VmRSS"), 55u);
  EXPECT_EQ(NumberOf(text, "hi"), std::nullopt);
  EXPECT_EQ(NumberOf(text, "x"), std::nullopt);
  EXPECT_EQ(NumberOf("", ""), std::nullopt);
}

TEST(BoundedRead, IsBounded) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.Write("a", std::string(100, 'x'));
  bool is_cut = true;
  EXPECT_EQ(ReadBounded(path, 100, &is_cut)->size(), 100u);
  EXPECT_FALSE(is_cut);
  EXPECT_EQ(ReadBounded(path, 99, &is_cut)->size(), 99u);
  EXPECT_TRUE(is_cut);
  EXPECT_TRUE(absl::IsNotFound(ReadBounded(directory.File("none"), 9).status()));
}

}  // namespace
}  // namespace stackray
