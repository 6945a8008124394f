// The captures that the page offers: their list, and their files as histories.
#include "agent/daemon/page_captures.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "agent/captures/capture_store.h"
#include "agent/daemon/page_views.h"
#include "reporter/formats/gzip.h"
#include "tests/reporter/page/random_batches.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

using Json = nlohmann::json;

class PageCapturesTest : public testing::Test {
 protected:
  PageCapturesTest() {
    std::vector<std::string> warnings;
    auto opened = CaptureStore::Open(scratch_.path(), {}, {}, warnings);
    EXPECT_TRUE(opened.ok()) << opened.status();
    if (opened.ok()) store_ = *std::move(opened);
    captures_.SetStateDirectory(scratch_.path());
  }
  void Begin(const std::string& name, int64_t started_s) {
    CaptureSpec spec;
    spec.name = name;
    spec.targets.emplace_back();
    ASSERT_TRUE(
        store_->Begin(spec, started_s * 1'000'000'000, (started_s + 60) * 1'000'000'000).ok());
  }
  void Append(const std::string& name, int number) {
    ASSERT_TRUE(store_->Append(name, EncodeBatch(RandomBatch(number))).ok());
  }
  Json Ask(const std::string& name) {
    const absl::StatusOr<std::shared_ptr<History>> history = captures_.Open(name);
    EXPECT_TRUE(history.ok()) << history.status();
    const auto question = ParsePageQuestion(
        "from_ms=" + std::to_string(kRandomStartMs) +
        "&to_ms=" + std::to_string(kRandomStartMs + kRandomBatches * 1000) + "&capture=" + name);
    const auto gzip = views_.Answer(**history, *question, {}, {});
    EXPECT_TRUE(gzip.ok()) << gzip.status();
    return Json::parse(*GzipExpand(*gzip, 64 << 20));
  }
  static int64_t Samples(int batches) {
    std::vector<DecodedBatch> all;
    for (int i = 0; i < batches; ++i) all.push_back(RandomBatch(i));
    return Json::parse(AnswerTo(StoreOf(all, all.size()), ""))["passing"];
  }

  test::TemporaryDirectory scratch_;
  std::unique_ptr<CaptureStore> store_;
  PageCaptures captures_;
  PageViews views_;
};

TEST_F(PageCapturesTest, ListsRunningOnesFirstAndLeavesOutWhatIsNone) {
  Begin("old", 100);
  Begin("new", 200);
  Begin("runs", 50);
  ASSERT_TRUE(store_->Finish("old", kReasonFinished).ok());
  ASSERT_TRUE(store_->Finish("new", kReasonFinished).ok());
  std::ofstream(scratch_.path() + "/captures/bad.json") << "{";
  std::filesystem::create_symlink("/etc/passwd", scratch_.path() + "/captures/link.json");
  std::vector<std::string> names;
  for (const CaptureRecord& record : captures_.List()) names.push_back(record.spec.name);
  EXPECT_EQ(names, (std::vector<std::string>{"runs", "new", "old"}));
  captures_.SetStateDirectory("");
  EXPECT_TRUE(captures_.List().empty());
}

TEST_F(PageCapturesTest, AFileThatGrowsIsShownUpToItsLastWholeBatch) {
  Begin("slow", 100);
  Append("slow", 0);
  EXPECT_EQ(Ask("slow")["passing"], Samples(1));
  Append("slow", 1);
  Append("slow", 2);
  EXPECT_EQ(Ask("slow")["passing"], Samples(3));
  std::ofstream(scratch_.path() + "/captures/slow.otlp", std::ios::app | std::ios::binary)
      << std::string("\0\0\1\0torn", 8);
  EXPECT_EQ(Ask("slow")["passing"], Samples(3));
}

TEST_F(PageCapturesTest, NamesThatAreNoCapturesOpenNothing) {
  Begin("web", 100);
  for (const char* name : {"", "other", "../history/x", "web.otlp", "/etc/passwd", "web\n"})
    EXPECT_TRUE(absl::IsNotFound(captures_.Open(name).status())) << name;
  std::filesystem::remove(scratch_.path() + "/captures/web.otlp");
  std::filesystem::create_symlink("/etc/passwd", scratch_.path() + "/captures/web.otlp");
  EXPECT_FALSE(captures_.Open("web").ok());
}

}  // namespace
}  // namespace stackray
