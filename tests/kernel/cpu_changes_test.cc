// Which device events tell of a CPU; the live test of going and coming is
// tests/live/cpu_hotplug_test.cc.
#include "kernel/cpu_changes.h"

#include <gtest/gtest.h>

#include <string>

namespace stackray {
namespace {

TEST(ChangedCpu, OnlyGoingAndComingOfACpu) {
  using std::string_literals::operator""s;
  EXPECT_EQ(ChangedCpu("offline@/devices/system/cpu/cpu1\0ACTION=offline\0"s), 1);
  EXPECT_EQ(ChangedCpu("online@/devices/system/cpu/cpu127"), 127);
  EXPECT_EQ(ChangedCpu("change@/devices/system/cpu/cpu1"), std::nullopt);
  EXPECT_EQ(ChangedCpu("online@/devices/system/memory/memory1"), std::nullopt);
  EXPECT_EQ(ChangedCpu("add@/devices/virtual/net/veth0\0ACTION=add\0"s), std::nullopt);
}

TEST(ChangedCpu, DamagedEventsAreOfNothing) {
  for (const char* event :
       {"", "@", "online", "online@", "online@/devices/system/cpu/cpu",
        "online@/devices/system/cpu/cpux", "online@/devices/system/cpu/cpu1x",
        "online@/devices/system/cpu/cpu-1", "online@/devices/system/cpu/cpu99999999999999999999",
        "online@/devices/system/cpu/cpu8192"})
    EXPECT_EQ(ChangedCpu(event), std::nullopt) << event;
}

TEST(CpuChanges, NothingChangesInATest) {
  CpuChanges changes;
  const CpuChanges::Changes seen = changes.Take();
  EXPECT_TRUE(seen.cpus.empty());
  EXPECT_FALSE(seen.lost);
}

}  // namespace
}  // namespace stackray
