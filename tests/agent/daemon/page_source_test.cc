// /healthz: by a clock that does not jump.
#include "agent/daemon/page_source.h"

#include <gtest/gtest.h>

#include <memory>

#include "kernel/wall_clock.h"

namespace stackray {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr int64_t kHourMs = 3'600'000;

absl::Status HealthWith(uint64_t age_ns, int64_t wall_jump_ms) {
  SnapshotBoard board;
  HistoryPageSource page(board);
  auto snapshot = std::make_shared<AgentSnapshot>();
  snapshot->boot_time_ns = BootTimeNs() - age_ns;
  snapshot->time_unix_ms = SystemNowMs() - static_cast<int64_t>(age_ns / 1'000'000) - wall_jump_ms;
  board.Put(std::move(snapshot));
  return page.Health();
}

TEST(Health, AWallClockThatJumpsIsNoIllness) {
  for (const int64_t jump_ms : {int64_t{0}, kHourMs, -kHourMs, 10'000 * kHourMs}) {
    SCOPED_TRACE(jump_ms);
    EXPECT_TRUE(HealthWith(2 * kSecond, jump_ms).ok());
    EXPECT_TRUE(absl::IsUnavailable(HealthWith(61 * kSecond, jump_ms)));
  }
}

TEST(Health, ALoopThatStandsIsKnownWithinFiveSeconds) {
  SnapshotBoard board;
  HistoryPageSource page(board);
  auto snapshot = std::make_shared<AgentSnapshot>();
  snapshot->boot_time_ns = BootTimeNs();
  board.Put(std::move(snapshot));
  EXPECT_TRUE(page.Health().ok());  // It has not begun.
  board.Turn(BootTimeNs() - 2 * kSecond);
  EXPECT_TRUE(page.Health().ok());
  board.Turn(BootTimeNs() - 5 * kSecond);
  EXPECT_EQ(page.Health().message(), "the sampling loop stands since 5 s");
  board.Turn(BootTimeNs());
  EXPECT_TRUE(page.Health().ok());
}

}  // namespace
}  // namespace stackray
