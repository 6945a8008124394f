// The captures' files while all is well: begun, appended to, finished, resumed, gone.
#include "agent/captures/capture_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "agent/captures/record_file.h"
#include "tests/agent/captures/store_fixture.h"

namespace stackray {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> NamesOf(const std::vector<CaptureRecord>& records) {
  std::vector<std::string> names;
  for (const CaptureRecord& record : records) names.push_back(record.spec.name);
  return names;
}

TEST_F(CaptureStoreTest, ACaptureIsAFileOfBatchesAndARecord) {
  ASSERT_TRUE(Begin("web").ok());
  ASSERT_TRUE(Append("web", 1).ok());
  ASSERT_TRUE(Append("web", 2).ok());
  Pass(60);
  ASSERT_TRUE(store_->Finish("web", kReasonFinished, {.samples = 5, .lost = {{"x", 1}}}).ok());
  EXPECT_THAT(Numbers("web"), ElementsAre(1, 2));
  EXPECT_EQ(Files(), (std::set<std::string>{"web.json", "web.otlp"}));
  const auto record = ParseCaptureRecord(ReadFile(PathOf("web.json")));
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->spec, Spec("web"));
  EXPECT_EQ(record->reason, "finished");
  EXPECT_EQ(record->started_unix_ns, 1'790'000'000 * kSecondNs);
  EXPECT_EQ(record->ended_unix_ns, 1'790'000'060 * kSecondNs);
  EXPECT_EQ(record->samples, 5u);
  EXPECT_EQ(record->lost.at("x"), 1u);
  EXPECT_EQ(record->batches, 2u);
  EXPECT_EQ(record->bytes, std::filesystem::file_size(PathOf("web.otlp")));
  EXPECT_EQ(store_->bytes(), record->bytes);
  EXPECT_EQ(*store_->Find("web"), *record);
}

TEST_F(CaptureStoreTest, TheFilesAreTheirOwnersAlone) {
  ASSERT_TRUE(Begin("web").ok());
  const auto mode_of = [](const std::string& path) {
    struct stat facts = {};
    stat(path.c_str(), &facts);
    return facts.st_mode & 07777;
  };
  EXPECT_EQ(mode_of(scratch_.path() + "/captures"), 0700u);
  EXPECT_EQ(mode_of(PathOf("web.json")), 0600u);
  EXPECT_EQ(mode_of(PathOf("web.otlp")), 0600u);
}

TEST_F(CaptureStoreTest, OneAgentHasTheDirectory) {
  std::vector<std::string> warnings;
  EXPECT_TRUE(
      absl::IsFailedPrecondition(CaptureStore::Open(scratch_.path(), {}, {}, warnings).status()));
}

TEST_F(CaptureStoreTest, AKeptCaptureIsNeverOverwritten) {
  ASSERT_TRUE(Begin("web").ok());
  EXPECT_TRUE(absl::IsAlreadyExists(Begin("web")));
  ASSERT_TRUE(Append("web", 1).ok());
  ASSERT_TRUE(store_->Finish("web", kReasonStopped).ok());
  EXPECT_THAT(std::string(Begin("web").message()), HasSubstr("stackray capture get web -o FILE"));
  Open();
  EXPECT_TRUE(absl::IsAlreadyExists(Begin("web")));
  EXPECT_THAT(Numbers("web"), ElementsAre(1));
  EXPECT_EQ(store_->FreeName("web"), "web-2");
  EXPECT_EQ(store_->FreeName("api"), "api");
  ASSERT_TRUE(store_->Remove("web").ok());
  EXPECT_THAT(Files(), IsEmpty());
  EXPECT_TRUE(Begin("web").ok());
}

TEST_F(CaptureStoreTest, WhatDoesNotRunTakesNothing) {
  EXPECT_TRUE(absl::IsInvalidArgument(Begin("../web")));
  EXPECT_TRUE(absl::IsNotFound(Append("web", 1)));
  EXPECT_TRUE(absl::IsNotFound(store_->Update("web", {})));
  EXPECT_TRUE(absl::IsNotFound(store_->Finish("web", kReasonStopped)));
  EXPECT_TRUE(absl::IsNotFound(store_->Resume("web").status()));
  EXPECT_TRUE(absl::IsNotFound(store_->Remove("web")));
  ASSERT_TRUE(Begin("web").ok());
  EXPECT_TRUE(absl::IsNotFound(store_->Resume("web").status())) << "nobody left it";
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->Remove("web")));
  ASSERT_TRUE(store_->Finish("web", kReasonStopped).ok());
  EXPECT_TRUE(absl::IsNotFound(Append("web", 1)));
}

TEST_F(CaptureStoreTest, TheRecordIsWrittenOnceASecond) {
  ASSERT_TRUE(Begin("web").ok());
  const auto written = [&] { return ParseCaptureRecord(ReadFile(PathOf("web.json")))->samples; };
  ASSERT_TRUE(store_->Update("web", {.samples = 1}).ok());
  EXPECT_EQ(written(), 0u);
  EXPECT_EQ(store_->Find("web")->samples, 1u);
  Pass(1);
  ASSERT_TRUE(store_->Update("web", {.samples = 2}).ok());
  EXPECT_EQ(written(), 2u);
  ASSERT_TRUE(store_->Update("web", {.samples = 3}).ok());
  EXPECT_EQ(written(), 2u);
}

TEST_F(CaptureStoreTest, ARunningOneIsResumedByTheNextAgent) {
  ASSERT_TRUE(Begin("web").ok());
  ASSERT_TRUE(Append("web", 1).ok());
  Pass(10);
  ASSERT_TRUE(store_->Update("web", {.samples = 7, .lost = {{"x", 1}}}).ok());
  Pass(20);
  Open();
  EXPECT_THAT(warnings_, IsEmpty());
  ASSERT_THAT(NamesOf(store_->Unfinished()), ElementsAre("web"));
  EXPECT_TRUE(absl::IsNotFound(Append("web", 2))) << "nobody resumed it";
  const auto gap = store_->Resume("web");
  ASSERT_TRUE(gap.ok()) << gap.status();
  EXPECT_EQ(gap->to_unix_ns - gap->from_unix_ns, 20 * kSecondNs);
  EXPECT_THAT(store_->Unfinished(), IsEmpty());
  ASSERT_TRUE(Append("web", 2).ok());
  ASSERT_TRUE(store_->Finish("web", kReasonFinished, {.samples = 3, .lost = {{"x", 1}}}).ok());
  EXPECT_THAT(Numbers("web"), ElementsAre(1, 2));
  const CaptureRecord& record = *store_->Find("web");
  EXPECT_EQ(record.samples, 10u);
  EXPECT_EQ(record.lost.at("x"), 2u);
  EXPECT_THAT(record.gaps, ElementsAre(*gap));
}

TEST_F(CaptureStoreTest, OneThatNobodyResumesEndedWithItsAgent) {
  ASSERT_TRUE(Begin("web").ok());
  ASSERT_TRUE(store_->Update("web", {.samples = 7}).ok());
  Pass(10);
  ASSERT_TRUE(store_->Update("web", {.samples = 7}).ok());
  Pass(100);
  Open();
  ASSERT_TRUE(store_->Finish("web", kReasonAgentEnded).ok());
  EXPECT_EQ(store_->Find("web")->ended_unix_ns, 1'790'000'010 * kSecondNs);
  EXPECT_EQ(store_->Find("web")->samples, 7u);
  Open();
  EXPECT_THAT(store_->Unfinished(), IsEmpty());
  EXPECT_EQ(store_->Find("web")->reason, "agent ended");
}

TEST_F(CaptureStoreTest, GapsAreBounded) {
  ASSERT_TRUE(Begin("web").ok());
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(store_->NoteGap("web", {2 * i, 2 * i + 1}).ok());
  EXPECT_EQ(store_->Find("web")->gaps.size(), kMostCaptureGaps);
  EXPECT_EQ(store_->Find("web")->gaps.back(), (CaptureGap{198, 399}));
  Pass(2);
  ASSERT_TRUE(store_->Update("web", {}).ok());
  Open();
  EXPECT_THAT(NamesOf(store_->Unfinished()), ElementsAre("web"));
}

TEST_F(CaptureStoreTest, RunningOnesAreListedFirstThenTheNewest) {
  for (const char* name : {"a", "b", "c", "d"}) {
    ASSERT_TRUE(Begin(name).ok());
    Pass(1);
  }
  ASSERT_TRUE(store_->Finish("c", kReasonStopped).ok());
  ASSERT_TRUE(store_->Finish("b", kReasonStopped).ok());
  EXPECT_THAT(NamesOf(store_->List()), ElementsAre("d", "a", "c", "b"));
}

TEST_F(CaptureStoreTest, TheOldestFinishedGoWhenBytesAreNeeded) {
  limits_.bytes = 10'000;
  Open();
  for (const char* name : {"b", "a", "c"}) {
    ASSERT_TRUE(Begin(name).ok());
    ASSERT_TRUE(Append(name, 1, 3000).ok());
    Pass(1);
  }
  ASSERT_TRUE(store_->Finish("b", kReasonStopped).ok());
  Pass(1);
  ASSERT_TRUE(store_->Finish("a", kReasonStopped).ok());
  ASSERT_TRUE(Append("c", 2, 3000).ok());
  EXPECT_THAT(NamesOf(store_->List()), ElementsAre("c", "a")) << "b ended first";
  ASSERT_TRUE(Append("c", 3, 3000).ok());
  EXPECT_THAT(NamesOf(store_->List()), ElementsAre("c"));
  const absl::Status full = Append("c", 4, 3000);
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_TRUE(Append("c", 5, 100).ok()) << "a small one has room";
  EXPECT_THAT(Numbers("c"), ElementsAre(1, 2, 3, 5));
  EXPECT_EQ(Files(), (std::set<std::string>{"c.json", "c.otlp"}));
}

TEST_F(CaptureStoreTest, FinishedOnesGoWithTheirAge) {
  ASSERT_TRUE(Begin("old").ok());
  ASSERT_TRUE(Begin("runs").ok());
  ASSERT_TRUE(store_->Finish("old", kReasonStopped).ok());
  Pass(24 * 3600);
  store_->Trim();
  EXPECT_THAT(NamesOf(store_->List()), ElementsAre("runs", "old"));
  Pass(1);
  store_->Trim();
  EXPECT_THAT(NamesOf(store_->List()), ElementsAre("runs"));
}

TEST_F(CaptureStoreTest, SettingTheWallClockDropsNothing) {
  ASSERT_TRUE(Begin("web").ok());
  ASSERT_TRUE(store_->Finish("web", kReasonStopped).ok());
  unix_ns_ += 48 * 3600 * kSecondNs;
  store_->Trim();
  EXPECT_NE(store_->Find("web"), nullptr);
  unix_ns_ -= 100 * 3600 * kSecondNs;
  Open();
  EXPECT_NE(store_->Find("web"), nullptr) << "a time in the future is now";
}

TEST_F(CaptureStoreTest, AgeGoesOnWhileNoAgentRuns) {
  ASSERT_TRUE(Begin("web").ok());
  ASSERT_TRUE(store_->Finish("web", kReasonStopped).ok());
  unix_ns_ += 25 * 3600 * kSecondNs;
  Open();
  EXPECT_EQ(store_->Find("web"), nullptr);
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(CaptureStoreTest, ManySmallOnesAreBounded) {
  for (size_t i = 0; i < kMostKeptCaptures + 5; ++i) {
    const std::string name = "c" + std::to_string(i);
    ASSERT_TRUE(Begin(name).ok());
    ASSERT_TRUE(store_->Finish(name, kReasonStopped).ok());
    Pass(1);
  }
  EXPECT_EQ(store_->List().size(), kMostKeptCaptures);
  EXPECT_EQ(store_->Find("c4"), nullptr);
  EXPECT_NE(store_->Find("c5"), nullptr);
}

}  // namespace
}  // namespace stackray
