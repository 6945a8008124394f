#include "agent/reports/report_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <thread>

#include "agent/reports/archive_reader.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;

class ReportWorkTest : public testing::Test {
 protected:
  void SetUp() override {
    auto store = ReportStore::Open(directory_.path());
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    order_.settings.free_space_bytes = 0;
    order_.manifest.name = "report-h-1-test";
    order_.manifest.trigger = "test";
    order_.manifest.pid = static_cast<uint32_t>(getpid());
  }

  // As the agent's loop would: answers each dump, with a profile that could not be taken.
  absl::StatusOr<ReportManifest> Run(const absl::StatusOr<DumpTexts>& dump) {
    exchange_.EndProfile(absl::UnavailableError("no profile in this test"));
    std::atomic<bool> ends{false};
    std::thread loop([&] {
      while (!ends) {
        if (exchange_.TakeAskedDump()) exchange_.AnswerDump(dump);
        usleep(1000);
      }
    });
    absl::StatusOr<ReportManifest> manifest = ReportWork(order_, *store_, exchange_).Run();
    ends = true;
    loop.join();
    return manifest;
  }

  std::map<std::string, std::string> Entries() {
    std::map<std::string, std::string> entries;
    EXPECT_TRUE(ReadArchive(store_->PathOf("report-h-1-test"), 1 << 20,
                            [&](std::string_view name, std::string&& bytes) {
                              entries.emplace(name, std::move(bytes));
                              return true;
                            })
                    .ok());
    return entries;
  }

  const test::TemporaryDirectory directory_;
  std::unique_ptr<ReportStore> store_;
  ReportExchange exchange_;
  ReportOrder order_;
};

TEST_F(ReportWorkTest, TheProcessAskedForHasTheCpuThatItUses) {
  std::atomic<bool> ends{false};
  std::thread burner([&] {
    for (volatile uint64_t i = 0; !ends;) i = i + 1;
  });
  const absl::StatusOr<ReportManifest> manifest = Run(absl::UnavailableError("no dump"));
  ends = true;
  burner.join();
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  ASSERT_EQ(manifest->processes.size(), 1u);
  EXPECT_EQ(manifest->processes[0].pid, static_cast<uint32_t>(getpid()));
  EXPECT_GT(manifest->processes[0].cpu_percent, 5);
}

TEST_F(ReportWorkTest, HoldsWhatItsManifestSaysAndNothingSecret) {
  setenv("STACKRAY_TEST_SECRET", "hunter2-in-the-environment", 1);
  const auto manifest = Run(DumpTexts{"stacks", "{}"});
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  const auto entries = Entries();
  for (const ReportManifest::Entry& entry : manifest->entries)
    EXPECT_THAT(entries, Contains(Key(entry.name)));
  EXPECT_EQ(entries.size(), manifest->entries.size() + 1);  // It does not list itself.
  for (const auto& [name, bytes] : entries) {
    EXPECT_THAT(bytes, Not(HasSubstr("hunter2"))) << name;
    EXPECT_THAT(name, Not(HasSubstr("cmdline")));
    EXPECT_THAT(name, Not(HasSubstr("environ")));
  }
  const std::string folder = "processes/" + std::to_string(getpid()) + "-reports_test/";
  EXPECT_EQ(entries.at(folder + "threads.txt"), "stacks");
  EXPECT_THAT(entries.at(folder + "status"), HasSubstr("VmRSS"));
  EXPECT_THAT(entries.at(folder + "tasks.tsv"), HasSubstr("reports_test"));
  EXPECT_THAT(entries.at(folder + "open-files.json"), HasSubstr("\"open_files\""));
  EXPECT_THAT(entries.at("host/meminfo"), HasSubstr("MemTotal"));
  EXPECT_THAT(entries.at("manifest.json"), HasSubstr("no profile in this test"));
  EXPECT_THAT(entries.at("manifest.json"), HasSubstr("the agent keeps no history"));
}

TEST_F(ReportWorkTest, ACommandLineIsThereWhenAsked) {
  order_.settings.command_lines = true;
  ASSERT_TRUE(Run(DumpTexts{}).ok());
  EXPECT_THAT(Entries(),
              Contains(Key("processes/" + std::to_string(getpid()) + "-reports_test/cmdline")));
}

TEST_F(ReportWorkTest, WhatFailsIsMissingAndTheRestIsThere) {
  const auto manifest = Run(absl::NotFoundError("it has ended"));
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_THAT(Entries().at("manifest.json"), HasSubstr("it has ended"));
}

TEST_F(ReportWorkTest, TheManifestIsTheOneInTheArchive) {
  const auto manifest = Run(DumpTexts{});
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(nlohmann::ordered_json::parse(Entries().at("manifest.json")), manifest->ToJson());
}

TEST_F(ReportWorkTest, AProcessThatIsGoneLeavesTheHostsFacts) {
  order_.manifest.pid = 4'194'303;
  const auto manifest = Run(DumpTexts{});
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_TRUE(manifest->processes.empty());
  EXPECT_THAT(Entries().at("manifest.json"), HasSubstr("process 4194303 has ended"));
}

TEST_F(ReportWorkTest, TheHeaviestProcessesAreThoseWithMostMemoryAndTime) {
  order_.manifest.pid = 0;
  const auto manifest = Run(DumpTexts{});
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_GE(manifest->processes.size(), 1u);
  EXPECT_LE(manifest->processes.size(), 10u);
  EXPECT_THAT(manifest->Summary(), HasSubstr("most memory: "));
}

TEST_F(ReportWorkTest, CancelledWorkLeavesNoFile) {
  exchange_.Cancel();
  EXPECT_TRUE(absl::IsCancelled(ReportWork(order_, *store_, exchange_).Run().status()));
  EXPECT_TRUE(store_->List().empty());
  EXPECT_FALSE(std::filesystem::exists(store_->PathOf("report-h-1-test") + ".part"));
}

TEST_F(ReportWorkTest, WithoutFreeSpaceThereIsNone) {
  order_.settings.free_space_bytes = UINT64_MAX;
  exchange_.EndProfile(absl::OkStatus());
  EXPECT_TRUE(absl::IsResourceExhausted(ReportWork(order_, *store_, exchange_).Run().status()));
  EXPECT_TRUE(store_->List().empty());
}

}  // namespace
}  // namespace stackray
