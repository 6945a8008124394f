#include "agent/reports/report_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/temporary_directory.h"

namespace stackray {
namespace {

constexpr int64_t kNow = 1'800'000'000'000, kDay = 86'400'000;

class ReportStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    auto store = ReportStore::Open(directory_.path());
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }
  void Put(const std::string& name, size_t bytes, int64_t unix_ms) {
    std::ofstream(store_->PathOf(name)) << std::string(bytes, 'x');
    const timespec times[2] = {{unix_ms / 1000, 0}, {unix_ms / 1000, 0}};
    utimensat(AT_FDCWD, store_->PathOf(name).c_str(), times, 0);
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const StoredReport& report : store_->List()) names.push_back(report.name);
    return names;
  }
  const test::TemporaryDirectory directory_;
  std::unique_ptr<ReportStore> store_;
  ReportSettings settings_{.max_bytes = 1000, .age_ms = 7 * kDay, .free_space_bytes = 0};
};

TEST_F(ReportStoreTest, TheOldestGoFirst) {
  Put("report-h-1-a", 400, kNow - 3000);
  Put("report-h-2-a", 400, kNow - 2000);
  Put("report-h-0-a", 100, kNow - 8 * kDay);
  EXPECT_TRUE(store_->MakeRoom(settings_, 0, kNow).ok());
  EXPECT_THAT(Names(), testing::ElementsAre("report-h-1-a", "report-h-2-a"));
  EXPECT_TRUE(store_->MakeRoom(settings_, 300, kNow).ok());
  EXPECT_THAT(Names(), testing::ElementsAre("report-h-2-a"));
  EXPECT_TRUE(absl::IsResourceExhausted(store_->MakeRoom(settings_, 1001, kNow)));
}

TEST_F(ReportStoreTest, NeverBelowTheFloorOfFreeSpace) {
  settings_.free_space_bytes = UINT64_MAX;
  EXPECT_TRUE(absl::IsResourceExhausted(store_->MakeRoom(settings_, 0, kNow)));
}

TEST_F(ReportStoreTest, OnlyReportsAreListedAndDeleted) {
  std::ofstream(store_->directory() + "/other") << "x";
  std::ofstream(store_->directory() + "/report-x.tar.zst.part") << "x";
  Put("report-h-1-a", 1, kNow);
  EXPECT_THAT(Names(), testing::ElementsAre("report-h-1-a"));
  for (const char* name : {"", "other", "../report-h-1-a", "report-h-1-a/..", "report-\n"})
    EXPECT_TRUE(absl::IsInvalidArgument(store_->Delete(name))) << name;
  EXPECT_TRUE(absl::IsNotFound(store_->Delete("report-none")));
  EXPECT_TRUE(store_->Delete("report-h-1-a").ok());
}

TEST_F(ReportStoreTest, WhatAKilledAgentLeftIsRemoved) {
  std::ofstream(store_->directory() + "/report-h-1-a.tar.zst.part") << "half";
  std::ofstream(store_->work_directory() + "/profile-now.otlp") << "half";
  Put("report-h-2-a", 10, kNow);
  store_.reset();
  SetUp();
  EXPECT_FALSE(std::filesystem::exists(store_->directory() + "/report-h-1-a.tar.zst.part"));
  EXPECT_TRUE(std::filesystem::is_empty(store_->work_directory()));
  EXPECT_THAT(Names(), testing::ElementsAre("report-h-2-a"));
}

TEST(ReportNames, HaveOnlyPlainBytes) {
  EXPECT_EQ(ReportName("ho/st\n", 1'700'000'000'000, "a b"), "report-ho-st--20231114T221320Z-a-b");
  EXPECT_TRUE(IsReportName(ReportName(std::string(300, 'x'), 0, std::string(300, '/'))));
}

}  // namespace
}  // namespace stackray
