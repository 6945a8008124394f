#include "agent/sampling/process_table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/agent/sampling/sampled_world.h"

namespace stackray::test {
namespace {

ProcessId Id(uint32_t number) {
  return {.pid = 5'000'000 + number, .exec_id = 1, .start_time_ns = 9};
}

TEST(ProcessTableTest, NeverGrowsOverItsBound) {
  ProcessTable table(10);
  for (uint32_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(table.Describe(Id(i), "name", 0).pid, Id(i).pid);
    EXPECT_LE(table.size(), 10u);
    if (i % 3 == 0) table.MarkEnded(Id(i));
    if (i % 7 == 0) table.DropEnded();
  }
}

TEST(ProcessTableTest, TheLeastRecentlyUsedGoesFirst) {
  ProcessTable table(2);
  table.Describe(Id(1), "one", 0);
  table.Describe(Id(2), "two", 0);
  table.Describe(Id(1), "other", 0);
  table.Describe(Id(3), "three", 0);
  EXPECT_NE(table.FilesOf(Id(1)), nullptr);
  EXPECT_EQ(table.FilesOf(Id(2)), nullptr);
  EXPECT_EQ(table.Describe(Id(1), "other", 0).command, "one");
}

TEST(ProcessTableTest, WhatEndedStaysUntilTheBatchIsSealed) {
  ProcessTable table(10);
  table.Describe(Id(1), "one", 0);
  table.MarkEnded(Id(1));
  table.MarkEnded(Id(1));
  table.MarkEnded(Id(2));  // Never seen.
  EXPECT_EQ(table.Describe(Id(1), "other", 0).command, "one");
  table.DropEnded();
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.Describe(Id(1), "other", 0).command, "other");
}

TEST(ProcessTableTest, HoldsAFileAsLongAsItsProcess) {
  ProcessTable table(10);
  auto file = std::make_shared<ExecutableFile>();
  table.Describe(Id(1), "one", 0);
  table.FilesOf(Id(1))->push_back(file);
  EXPECT_EQ(file.use_count(), 2);
  table.MarkEnded(Id(1));
  EXPECT_EQ(file.use_count(), 2);
  table.DropEnded();
  EXPECT_EQ(file.use_count(), 1);
}

TEST(ProcessTableTest, AReusedPidIsAnotherProcess) {
  const auto pid = static_cast<uint32_t>(getpid());
  const ProcessId self{.pid = pid, .exec_id = 1, .start_time_ns = StartTimeOf(pid)};
  ProcessId before = self;
  before.start_time_ns -= 1'000'000'000;
  ProcessTable table(10);
  std::error_code error;
  const std::string path = std::filesystem::read_symlink("/proc/self/exe", error).string();
  EXPECT_EQ(table.Describe(self, "me", 0).executable_path, path);
  EXPECT_EQ(table.Describe(before, "it", 0).executable_path, "");
  EXPECT_EQ(table.Describe(before, "it", 0).command, "it");
}

}  // namespace
}  // namespace stackray::test
