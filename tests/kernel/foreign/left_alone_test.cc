#include "kernel/foreign/left_alone.h"

#include <unistd.h>

#include "gtest/gtest.h"

namespace stackray {
namespace {

constexpr uint64_t kSecond = 1'000'000'000, kMinute = 60 * kSecond;
constexpr uint64_t kNow = 1000 * kMinute;
const auto kOwn = static_cast<uint32_t>(getpid());

TEST(LeftAlone, PausesGrowAndEnd) {
  LeftAlone left_alone;
  EXPECT_FALSE(left_alone.Has(kOwn, kNow));
  left_alone.Add(kOwn, kNow);
  EXPECT_TRUE(left_alone.Has(kOwn, kNow + kMinute - 1));
  EXPECT_FALSE(left_alone.Has(kOwn, kNow + kMinute));
  left_alone.Add(kOwn, kNow + kMinute);
  EXPECT_TRUE(left_alone.Has(kOwn, kNow + 3 * kMinute - 1));
  EXPECT_FALSE(left_alone.Has(kOwn, kNow + 3 * kMinute));
  uint64_t now = kNow + 3 * kMinute;
  for (int i = 0; i < 10; ++i) left_alone.Add(kOwn, now);
  EXPECT_TRUE(left_alone.Has(kOwn, now + 16 * kMinute - 1));
  EXPECT_FALSE(left_alone.Has(kOwn, now + 16 * kMinute));
}

TEST(LeftAlone, CountsWhatWasNotTried) {
  LeftAlone left_alone;
  EXPECT_FALSE(left_alone.Refuses(kOwn, kNow));
  left_alone.Add(kOwn, kNow);
  EXPECT_TRUE(left_alone.Refuses(kOwn, kNow));
  EXPECT_TRUE(left_alone.Has(kOwn, kNow));  // Asking alone counts nothing.
  const LeftAlone::Counts counts = left_alone.counts(kNow);
  EXPECT_EQ(counts.hangs, 1u);
  EXPECT_EQ(counts.refusals, 1u);
  EXPECT_EQ(counts.processes, 1u);
  EXPECT_EQ(counts.last_pid, kOwn);
  EXPECT_EQ(left_alone.counts(kNow + 2 * kMinute).processes, 0u);
}

TEST(LeftAlone, AnotherProcessWithThatPidIsRead) {
  LeftAlone left_alone;
  const uint32_t gone = 0x3fffff;  // No such process, so its start is not known.
  left_alone.Add(gone, kNow);
  EXPECT_FALSE(left_alone.Has(gone, kNow));
}

TEST(LeftAlone, TheOwnerOfAProcessIsFound) {
  const std::optional<ProcessOwner> owner = FindProcessOwner(kOwn);
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->id, getuid());
  EXPECT_EQ(owner->is_host_root, getuid() == 0);
  EXPECT_FALSE(FindProcessOwner(0x3fffff));
}

}  // namespace
}  // namespace stackray
