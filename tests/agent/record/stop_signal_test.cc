// Stops that nobody takes, in a child of their own.
#include "agent/stop_signal.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace stackray {
namespace {

using std::chrono::seconds;

// Sleeps through signals, as a loop that waits for something.
void SleepFor(int count) {
  const auto end = std::chrono::steady_clock::now() + seconds(count);
  std::this_thread::sleep_until(end);
}

TEST(EndUnlessTaken, EndsAProcessThatDoesNotTakeItsStop) {
  EXPECT_EXIT(
      {
        WatchStopSignals(HangUp::kReloads);
        EndUnlessTaken(1);
        raise(SIGTERM);
        SleepFor(30);
        _exit(7);
      },
      testing::ExitedWithCode(1), "the end took too long");
}

TEST(EndUnlessTaken, LeavesOneThatTakesItInTime) {
  EXPECT_EXIT(
      {
        WatchStopSignals(HangUp::kReloads);
        EndUnlessTaken(1);
        raise(SIGTERM);
        EndUnlessTaken(30);
        SleepFor(2);
        _exit(StopRequested() ? 0 : 7);
      },
      testing::ExitedWithCode(0), "");
}

TEST(EndUnlessTaken, DoesNothingWithoutAStop) {
  EXPECT_EXIT(
      {
        WatchStopSignals(HangUp::kReloads);
        EndUnlessTaken(1);
        SleepFor(2);
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace stackray
