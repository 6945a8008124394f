#include "kernel/cpu_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace stackray {
namespace {

using testing::ElementsAre;

TEST(ParseCpuList, AsTheKernelWritesIt) {
  EXPECT_THAT(*ParseCpuList("0\n"), ElementsAre(0));
  EXPECT_THAT(*ParseCpuList("0-3"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(*ParseCpuList("0-2,8,10-11\n"), ElementsAre(0, 1, 2, 8, 10, 11));
  EXPECT_EQ(ParseCpuList("0-8191")->size(), 8192u);
}

TEST(ParseCpuList, WhatIsNoListIsRefused) {
  for (const char* text : {"", "\n", "a", "0-", "-3", "1,,2", "0-3,", "1 2", "0x1", "+1", "1-2-3",
                           "99999999999999999999", "0-8192", "0-9999999", "8192"}) {
    const absl::StatusOr<std::vector<int>> cpus = ParseCpuList(text);
    EXPECT_EQ(cpus.status().code(), absl::StatusCode::kDataLoss) << '"' << text << '"';
  }
}

TEST(ParseCpuList, ManyPartsEndAtTheBound) {
  std::string text = "0-8191";
  for (int i = 0; i < 10'000; ++i) text += ",0-8191";
  EXPECT_EQ(ParseCpuList(text).status().code(), absl::StatusCode::kDataLoss);
}

TEST(ParseCpuList, BackwardsRangesAreRefused) {
  EXPECT_EQ(ParseCpuList("3-1").status().code(), absl::StatusCode::kDataLoss);
}

TEST(OnlineCpus, AsManyAsTheSystemCounts) {
  const absl::StatusOr<std::vector<int>> cpus = OnlineCpus();
  if (!cpus.ok()) GTEST_SKIP() << cpus.status();
  EXPECT_EQ(static_cast<long>(cpus->size()), sysconf(_SC_NPROCESSORS_ONLN));
  const absl::StatusOr<int> possible = PossibleCpuCount();
  ASSERT_TRUE(possible.ok());
  EXPECT_GT(*possible, cpus->back());
}

TEST(OnlineCpuList, TellsTheSameEachTimeItIsRead) {
  const absl::StatusOr<std::vector<int>> cpus = OnlineCpus();
  if (!cpus.ok()) GTEST_SKIP() << cpus.status();
  OnlineCpuList list;
  for (int i = 0; i < 3; ++i) {
    const absl::StatusOr<std::vector<int>> again = list.Read();
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, *cpus);
  }
}

}  // namespace
}  // namespace stackray
