#include "agent/daemon/heartbeat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "agent/daemon/state_directory.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

const std::string kBoot = "01234567-89ab-cdef-0123-456789abcdef";
const std::string kOtherBoot = "ffffffff-89ab-cdef-0123-456789abcdef";

Heartbeat At(double seconds, const std::string& boot = kBoot) {
  return {.running = true,
          .pid = 7,
          .boot_id = boot,
          .boot_time_ns = static_cast<uint64_t>(seconds * 1e9),
          .unix_ms = 1'790'000'000'000 + static_cast<int64_t>(seconds * 1e3),
          .samples_in_memory = 42};
}

TEST(Heartbeat, ReadsWhatItWrites) {
  Heartbeat stopped = At(3);
  stopped.running = false;
  for (const Heartbeat& heartbeat : {At(1), stopped, HeartbeatNow()}) {
    const auto read = DecodeHeartbeat(EncodeHeartbeat(heartbeat));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(*read, heartbeat);
  }
  EXPECT_EQ(HeartbeatNow().boot_id.size(), 36u);
}

TEST(Heartbeat, TornAndForeignBytesAreNone) {
  const std::string whole = EncodeHeartbeat(At(1));
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(DecodeHeartbeat(whole.substr(0, length)).has_value()) << length;
  for (const char* text :
       {"", "\n", "x\n", "stackray-heartbeat/2 running 1 - 1 1 1 end\n",
        "stackray-heartbeat/1 runs 1 - 1 1 1 end\n", "stackray-heartbeat/1 running x - 1 1 1 end\n",
        "stackray-heartbeat/1 running 1 - 1 1 1 end more\n"})
    EXPECT_FALSE(DecodeHeartbeat(text).has_value()) << text;
  // What is left of a longer line behind it does no harm.
  EXPECT_TRUE(DecodeHeartbeat(whole + "end\n").has_value());
}

TEST(Heartbeat, TheGapAfterAnUncleanStop) {
  const auto same_boot = FindUncleanStop(At(100), At(112.5));
  ASSERT_TRUE(same_boot.has_value());
  EXPECT_DOUBLE_EQ(same_boot->gap_seconds.value(), 12.5);
  EXPECT_EQ(same_boot->samples_in_memory, 42u);
  // The wall clock was set back meanwhile: the boot's clock knows better.
  Heartbeat now = At(112.5);
  now.unix_ms -= 3'600'000;
  EXPECT_DOUBLE_EQ(FindUncleanStop(At(100), now)->gap_seconds.value(), 12.5);
  // After a reboot only the wall clock is there.
  Heartbeat rebooted = At(400, kOtherBoot);
  rebooted.boot_time_ns = 5'000'000'000;
  EXPECT_DOUBLE_EQ(FindUncleanStop(At(100), rebooted)->gap_seconds.value(), 300);
  rebooted.unix_ms = At(50).unix_ms;
  EXPECT_FALSE(FindUncleanStop(At(100), rebooted)->gap_seconds.has_value());
  EXPECT_THAT(DescribeUncleanStop(At(100), *FindUncleanStop(At(100), rebooted)),
              testing::HasSubstr("the clock went back"));
}

TEST(Heartbeat, AStopInOrderIsNoGap) {
  Heartbeat last = At(100);
  last.running = false;
  EXPECT_FALSE(FindUncleanStop(last, At(200)).has_value());
}

class StateDirectoryTest : public testing::Test {
 protected:
  const test::TemporaryDirectory directory_;
  const std::string& folder_ = directory_.path();
};

TEST_F(StateDirectoryTest, KeepsTheHeartbeatForTheNextOne) {
  {
    auto first = StateDirectory::Open(folder_);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_FALSE((*first)->last_heartbeat().has_value());
    EXPECT_TRUE((*first)->Write(At(1'000'000)));
    EXPECT_TRUE((*first)->Write(At(2)));  // A shorter line over a longer one.
  }
  auto second = StateDirectory::Open(folder_);
  ASSERT_TRUE(second.ok());
  ASSERT_TRUE((*second)->last_heartbeat().has_value());
  EXPECT_EQ(*(*second)->last_heartbeat(), At(2));
}

TEST_F(StateDirectoryTest, HasOneAgent) {
  auto first = StateDirectory::Open(folder_);
  ASSERT_TRUE(first.ok());
  auto second = StateDirectory::Open(folder_);
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status()));
  EXPECT_THAT(std::string(second.status().message()),
              testing::HasSubstr("another stackray agent (pid "));
}

TEST_F(StateDirectoryTest, GarbageInTheFileIsNoHeartbeat) {
  std::filesystem::create_directory(folder_ + "/agent");
  std::ofstream(folder_ + "/agent/heartbeat") << std::string(100'000, 'x');
  auto opened = StateDirectory::Open(folder_);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_FALSE((*opened)->last_heartbeat().has_value());
  EXPECT_TRUE((*opened)->Write(At(3)));
}

}  // namespace
}  // namespace stackray
