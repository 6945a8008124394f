// What may lie in the captures' directory, and a disk that takes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "tests/agent/captures/store_fixture.h"

namespace stackray {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(CaptureStoreTest, ATornEndIsCutOffAndAppendedTo) {
  ASSERT_TRUE(Begin("web").ok());
  for (const uint64_t number : {1, 2, 3}) ASSERT_TRUE(Append("web", number).ok());
  const std::string whole = ReadFile(PathOf("web.otlp"));
  for (size_t cut = 1; cut < whole.size() / 3; cut += 7) {
    store_.reset();
    WriteFile(PathOf("web.otlp"), whole.substr(0, whole.size() - cut));
    Open();
    ASSERT_TRUE(store_->Resume("web").ok());
    EXPECT_EQ(store_->Find("web")->batches, 2u);
    ASSERT_TRUE(Append("web", 4).ok());
    EXPECT_THAT(Numbers("web"), ElementsAre(1, 2, 4));
  }
}

TEST_F(CaptureStoreTest, WhatIsNoCaptureIsSaidAndLeftAlone) {
  ASSERT_TRUE(Begin("good").ok());
  ASSERT_TRUE(store_->Finish("good", kReasonStopped).ok());
  const std::string record = ReadFile(PathOf("good.json"));
  WriteFile(PathOf("notes.txt"), "mine");
  WriteFile(PathOf("alone.otlp"), "batches");
  WriteFile(PathOf("torn.json"), record.substr(0, record.size() / 2));
  WriteFile(PathOf("torn.otlp"), "batches");
  WriteFile(PathOf("other.json"), record);
  WriteFile(PathOf("large.json"), std::string(300 * 1024, ' '));
  ASSERT_EQ(symlink("good.json", PathOf("link.json").c_str()), 0);
  ASSERT_EQ(mkfifo(PathOf("pipe.json").c_str(), 0600), 0);
  ASSERT_EQ(mkdir(PathOf("folder.json").c_str(), 0700), 0);
  const std::set<std::string> before = Files();
  Open();
  EXPECT_EQ(Files(), before);
  EXPECT_THAT(store_->List(), testing::SizeIs(1));
  std::string said;
  for (const std::string& warning : warnings_) said += warning + "\n";
  EXPECT_THAT(said, AllOf(HasSubstr("notes.txt"), HasSubstr("alone.otlp"), HasSubstr("torn.json"),
                          HasSubstr("other.json is the record of the capture good"),
                          HasSubstr("large.json"), HasSubstr("link.json"), HasSubstr("pipe.json"),
                          HasSubstr("folder.json")));
  for (const char* name : {"alone", "torn", "other", "large", "link", "pipe", "folder"})
    EXPECT_TRUE(absl::IsAlreadyExists(Begin(name))) << name;
  EXPECT_EQ(ReadFile(PathOf("alone.otlp")), "batches");
}

TEST_F(CaptureStoreTest, ManyForeignFilesAreSaidInFewLines) {
  for (int i = 0; i < 100; ++i) WriteFile(PathOf("x" + std::to_string(i)), "");
  Open();
  EXPECT_EQ(warnings_.size(), 11u);
  EXPECT_THAT(warnings_.back(), HasSubstr("90 more"));
}

TEST_F(CaptureStoreTest, BatchesThatAreNoFileAreSkipped) {
  ASSERT_TRUE(Begin("web").ok());
  store_.reset();
  std::filesystem::remove(PathOf("web.otlp"));
  ASSERT_EQ(mkfifo(PathOf("web.otlp").c_str(), 0600), 0);
  Open();
  EXPECT_THAT(store_->List(), IsEmpty());
  EXPECT_THAT(warnings_, testing::Contains(HasSubstr("web.otlp is not a regular file")));
}

TEST_F(CaptureStoreTest, WhatAKillLeavesOfAnEvictionGoes) {
  ASSERT_TRUE(Begin("web").ok());
  ASSERT_TRUE(store_->Finish("web", kReasonStopped).ok());
  store_.reset();
  std::filesystem::remove(PathOf("web.otlp"));
  WriteFile(PathOf(".web.json"), "half");
  Open();
  EXPECT_THAT(Files(), IsEmpty());
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(CaptureStoreTest, WhatAKillLeavesOfABeginningIsResumed) {
  ASSERT_TRUE(Begin("web").ok());
  store_.reset();
  std::filesystem::remove(PathOf("web.otlp"));
  Open();
  ASSERT_TRUE(store_->Resume("web").ok());
  ASSERT_TRUE(Append("web", 1).ok());
  EXPECT_THAT(Numbers("web"), ElementsAre(1));
}

// The disk is full at a file's size limit, as write(2) sees it: a part is taken, then no more.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    old_ = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, old_);
  }

 private:
  rlimit before_ = {};
  void (*old_)(int);
};

TEST_F(CaptureStoreTest, AnEndThatHadNoRoomIsWrittenWhenThereIsSome) {
  ASSERT_TRUE(Begin("web").ok());
  {
    const FileSizeLimit full(100);
    EXPECT_TRUE(absl::IsUnavailable(store_->Finish("web", "the disk is full")));
    EXPECT_TRUE(absl::IsUnavailable(store_->WriteLateRecords()));
  }
  EXPECT_TRUE(store_->WriteLateRecords().ok());
  Open();
  EXPECT_THAT(store_->Unfinished(), IsEmpty());
  ASSERT_NE(store_->Find("web"), nullptr);
  EXPECT_EQ(store_->Find("web")->reason, "the disk is full");
}

TEST_F(CaptureStoreTest, ARecordSaysWhichFlagAskedForIt) {
  ASSERT_TRUE(store_->Begin(Spec("web"), 1, 2, {}, "{\"name\":\"web\"}\n0").ok());
  Open();
  ASSERT_EQ(store_->Unfinished().size(), 1u);
  EXPECT_EQ(store_->Unfinished().front().flag, "{\"name\":\"web\"}\n0");
}

TEST_F(CaptureStoreTest, AFullDiskLeavesNothingHalf) {
  ASSERT_TRUE(Begin("web").ok());
  ASSERT_TRUE(Append("web", 1, 3000).ok());
  const std::set<std::string> before = Files();
  {
    const FileSizeLimit full(4000);
    const absl::Status refused = Append("web", 2, 3000);
    EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
    EXPECT_THAT(Numbers("web"), ElementsAre(1));
    const FileSizeLimit fuller(100);
    const absl::Status not_begun = Begin("api");
    EXPECT_TRUE(absl::IsUnavailable(not_begun)) << not_begun;
    EXPECT_EQ(Files(), before);
    EXPECT_EQ(store_->Find("api"), nullptr);
    EXPECT_TRUE(absl::IsUnavailable(store_->Finish("web", kReasonStopped)));
  }
  const auto record = ParseCaptureRecord(ReadFile(PathOf("web.json")));
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_TRUE(record->is_running()) << "the old record is whole";
  Open();
  EXPECT_THAT(store_->Unfinished(), testing::SizeIs(1));
  EXPECT_THAT(Numbers("web"), ElementsAre(1));
}

}  // namespace
}  // namespace stackray
