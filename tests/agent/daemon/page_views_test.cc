// The page's answers from a history, as it grows, is indexed and loses what is old.
#include "agent/daemon/page_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "reporter/formats/batch_walk.h"
#include "reporter/formats/gzip.h"
#include "reporter/page/page_index_builder.h"
#include "tests/reporter/batch_events.h"
#include "tests/reporter/page/random_batches.h"

namespace stackray {
namespace {

using Json = nlohmann::json;

SealedBatchPtr Sealed(int number) {
  const DecodedBatch batch = RandomBatch(number);
  auto sealed = std::make_shared<SealedBatch>();
  sealed->bytes = EncodeBatch(batch);
  sealed->start_unix_ns = batch.start_unix_ns;
  sealed->duration_ns = batch.duration_ns;
  return sealed;
}

class Views : public testing::Test {
 protected:
  static HistorySettings Settings(const std::string& state_dir) {
    return {.state_dir = state_dir,
            .max_bytes = 2 << 20,  // Segments of 64 KiB: a few batches each.
            .max_age_ms = 86'400'000,
            .now_ms = [] { return kRandomStartMs + 1'000'000; },
            .steady_ms = {}};
  }
  void Open(const std::string& state_dir) {
    auto opened = OpenHistory(Settings(state_dir));
    ASSERT_TRUE(opened.ok()) << opened.status();
    history_ = std::move(opened->history);
  }
  static std::string FreshDirectory() {
    std::string path = testing::TempDir() + "/page_views_XXXXXX";
    return mkdtemp(path.data());
  }
  Json Ask(const std::string& words = "", std::stop_token stop = {}) {
    const absl::StatusOr<PageQuestion> question =
        ParsePageQuestion("from_ms=" + std::to_string(kRandomStartMs) + "&to_ms=" +
                          std::to_string(kRandomStartMs + kRandomBatches * 1000) + words);
    const absl::StatusOr<std::string> gzip = views_.Answer(*history_, *question, {}, stop);
    EXPECT_TRUE(gzip.ok()) << gzip.status();
    return gzip.ok() ? Json::parse(*GzipExpand(*gzip, 64 << 20)) : Json();
  }
  static Json Expected(int batches, const std::string& words = "") {
    std::vector<DecodedBatch> all;
    for (int i = 0; i < batches; ++i) all.push_back(RandomBatch(i));
    return Json::parse(AnswerTo(StoreOf(all, all.size()), words));
  }
  // All but the order in which names were met.
  static void ExpectEqual(const Json& answer, const Json& expected) {
    for (const char* part : {"total", "self"}) {
      EXPECT_EQ(answer["table"][part], expected["table"][part]);
      EXPECT_EQ(answer["tree"][part], expected["tree"][part]);
    }
    for (const char* part : {"timeline", "passing", "shares", "types"})
      EXPECT_EQ(answer[part], expected[part]) << part;
  }

  std::unique_ptr<History> history_;
  PageViews views_;
  std::set<std::string> several_;
};

TEST_F(Views, AHistoryThatGrowsIsShownAsItIs) {
  for (const std::string& directory : {FreshDirectory(), std::string("/proc/no-directory")}) {
    Open(directory);
    views_.Forget();
    for (int i = 0; i < kRandomBatches; ++i) {
      ASSERT_TRUE(history_->Append(Sealed(i)).ok());
      SCOPED_TRACE(i);
      ExpectEqual(Ask("&width=0"), Expected(i + 1, "&width=0"));
    }
    ExpectEqual(Ask("&width=0"), Ask("&width=0"));  // Kept, and the same.
  }
}

// Of a history of many segments, all of whose indexes are made.
constexpr int kManyBatches = 160;

Json AskAll(PageViews* views, History* history, const std::string& words) {
  const absl::StatusOr<PageQuestion> question =
      ParsePageQuestion("from_ms=" + std::to_string(kRandomStartMs) + "&to_ms=" +
                        std::to_string(kRandomStartMs + kManyBatches * 1000) + "&width=0" + words);
  const absl::StatusOr<std::string> gzip = views->Answer(*history, *question, {}, {});
  EXPECT_TRUE(gzip.ok()) << gzip.status();
  return gzip.ok() ? Json::parse(*GzipExpand(*gzip, 64 << 20)) : Json();
}

constexpr std::string_view kDeleted = " (deleted)", kIndex = ".index";

// Files of one directory that this process maps.
int Mappings(const std::string& directory, std::string_view ending) {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);)
    count += line.find(directory) != line.npos && line.ends_with(ending) ? 1 : 0;
  return count;
}

// A history that is full deletes as much as comes: a page that is open all the time keeps none of
// it, and neither does one that is not asked again.
TEST_F(Views, NoDeletedIndexStaysMapped) {
  const std::string directory = std::filesystem::canonical(FreshDirectory()).string();
  HistorySettings settings = Settings(directory);
  settings.max_bytes = 768 << 10;
  auto opened = OpenHistory(settings);
  ASSERT_TRUE(opened.ok()) << opened.status();
  history_ = std::move(opened->history);
  for (int i = 0; i < kManyBatches; ++i) {
    ASSERT_TRUE(history_->Append(Sealed(i)).ok());
    while (IndexOneRun(*history_, {}, &several_)) {
    }
    if (i % 4 != 0) continue;
    AskAll(&views_, history_.get(), "");
    ASSERT_EQ(Mappings(directory, kDeleted), 0) << i;
  }
  EXPECT_GT(history_->statistics().evicted_batches, 0u);
  ASSERT_GT(Mappings(directory, kIndex), 0);
  for (int i = 0; i < kManyBatches; ++i) ASSERT_TRUE(history_->Append(Sealed(i)).ok());
  ASSERT_GT(Mappings(directory, kDeleted), 0);
  views_.DropGone(*history_);
  EXPECT_EQ(Mappings(directory, kDeleted), 0);
}

TEST_F(Views, AKeptAnswerIsOfThatQuestionAlone) {
  Open(FreshDirectory());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(history_->Append(Sealed(i)).ok());
  EXPECT_FALSE(Ask("&width=0")["table"].contains("lines"));
  EXPECT_TRUE(Ask("&width=0&lines=1")["table"].contains("lines"));
  EXPECT_FALSE(Ask("&width=0")["table"].contains("lines"));
}

TEST_F(Views, IndexesAreMadeOnceAndReadAfterARestart) {
  const std::string directory = FreshDirectory();
  Open(directory);
  for (int i = 0; i < kRandomBatches; ++i) ASSERT_TRUE(history_->Append(Sealed(i)).ok());
  int made = 0, whole = 0;
  while (IndexOneRun(*history_, {}, &several_)) ++made;
  for (const HistoryRun& run : history_->Runs(0, INT64_MAX)) {
    whole += run.whole ? 1 : 0;
    EXPECT_EQ(run.indexed, run.whole);
  }
  EXPECT_EQ(made, whole);
  EXPECT_GT(whole, 0);
  ExpectEqual(Ask(), Expected(kRandomBatches));
  history_.reset();
  Open(directory);
  views_.Forget();
  ExpectEqual(Ask(), Expected(kRandomBatches));
  EXPECT_FALSE(IndexOneRun(*history_, {}, &several_));
}

// A question makes what is missing, and what is damaged.
TEST_F(Views, ADamagedIndexIsMadeAgain) {
  Open(FreshDirectory());
  for (int i = 0; i < kRandomBatches; ++i) ASSERT_TRUE(history_->Append(Sealed(i)).ok());
  const HistoryRun run = history_->Runs(0, INT64_MAX)[0];
  ASSERT_TRUE(run.whole);
  ASSERT_TRUE(history_->KeepIndex(run, "no index at all").ok());
  ExpectEqual(Ask(), Expected(kRandomBatches));
  EXPECT_GT((*history_->Index(run))->bytes().size(), 100u);
}

// Total and own value of each node of the tree, by the names on its way: of equally wide siblings
// the order in which names were met says which is first.
std::map<std::string, std::pair<int64_t, int64_t>> NodesByWay(const Json& answer) {
  std::map<std::string, std::pair<int64_t, int64_t>> nodes;
  const Json &tree = answer["tree"], &functions = answer["functions"];
  std::vector<std::string> ways;
  for (size_t i = 0; i < tree["item"].size(); ++i) {
    const int64_t item = tree["item"][i], parent = tree["parent"][i];
    std::string name;
    if (item >= 0)
      for (const char* part : {"name", "type", "file"})
        name += functions[part][static_cast<size_t>(item)].get<std::string>() + " ";
    if (item < -1) name = answer["groups"][static_cast<size_t>(-2 - item)];
    ways.push_back(parent < 0 ? name : ways[static_cast<size_t>(parent)] + ";" + name);
    nodes[ways.back()] = {tree["total"][i], tree["self"][i]};
  }
  return nodes;
}

void ExpectSame(const Json& answer, const Json& expected) {
  EXPECT_TRUE(NodesByWay(answer) == NodesByWay(expected));
  for (const char* part : {"total", "self"})
    EXPECT_TRUE(answer["table"][part] == expected["table"][part]) << part;
  for (const char* part : {"timeline", "passing", "types"})
    EXPECT_EQ(answer[part], expected[part]) << part;
}

TEST_F(Views, GroupsOfSegmentsGiveTheAnswersOfTheirSegments) {
  const std::string directory = FreshDirectory();
  Open(directory);
  const std::string in_between = "&chosen_from_ms=" + std::to_string(kRandomStartMs + 5000) +
                                 "&chosen_to_ms=" + std::to_string(kRandomStartMs + 50'000);
  const std::vector<std::string> asked = {"",           "&processes=101+db",
                                          "&by=thread", "&inverted=1",
                                          in_between,   "&hidden=native&hidden=native%2Binline"};
  for (int i = 0; i < kManyBatches; ++i) ASSERT_TRUE(history_->Append(Sealed(i)).ok());
  std::vector<Json> before;
  before.reserve(asked.size());
  for (const std::string& words : asked) before.push_back(AskAll(&views_, history_.get(), words));
  while (IndexOneRun(*history_, {}, &several_)) {
  }
  std::set<std::string> groups;
  for (const HistoryRun& run : history_->Runs(0, INT64_MAX))
    if (run.group_indexed) groups.insert(run.group);
  ASSERT_GE(groups.size(), 1u);
  for (const bool reopened : {false, true}) {
    if (reopened) {
      history_.reset();
      Open(directory);
    }
    views_.Forget();
    for (size_t i = 0; i < asked.size(); ++i) {
      SCOPED_TRACE(asked[i]);
      ExpectSame(AskAll(&views_, history_.get(), asked[i]), before[i]);
    }
  }
  // One that cannot be read is left alone, and one that can be is what is read.
  ASSERT_TRUE(history_->KeepGroupIndex(*groups.begin(), "no index at all").ok());
  views_.Forget();
  ExpectSame(AskAll(&views_, history_.get(), ""), before[0]);
  PageIndexBuilder builder;
  AddTo(&builder, RandomBatch(0));
  ASSERT_TRUE(history_->KeepGroupIndex(*groups.begin(), builder.Finish()).ok());
  views_.Forget();
  EXPECT_LT(AskAll(&views_, history_.get(), "")["passing"], before[0]["passing"]);
}

TEST_F(Views, AGroupGoesWithItsFirstSegment) {
  const std::string directory = FreshDirectory();
  Open(directory);
  bool had_groups = false;
  for (int i = 0; i < 3 * kManyBatches; ++i) {
    ASSERT_TRUE(history_->Append(Sealed(i)).ok());
    while (i % 16 == 0 && IndexOneRun(*history_, {}, &several_)) {
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator(directory + "/history")) {
    std::filesystem::path segment = entry.path();
    if (segment.extension() != ".group") continue;
    had_groups = true;
    EXPECT_TRUE(std::filesystem::exists(segment.replace_extension(".otlp")));
  }
  EXPECT_TRUE(had_groups);
  EXPECT_LE(history_->statistics().bytes, uint64_t{2} << 20);
  EXPECT_GT(history_->statistics().evicted_batches, 0u);
}

std::string Hex(std::string_view bytes) {
  return absl::BytesToHexString(absl::string_view(bytes.data(), bytes.size()));
}

// Values of one type by the name of their trace's block.
std::map<std::string, int64_t> TotalsByTrace(const BatchWalk& batch, const std::string& type) {
  std::map<std::string, int64_t> totals;
  std::string_view of;
  batch.Visit([](const WalkedResource&) {},
              [&](const WalkedProfile& profile) { of = profile.type; },
              [&](const WalkedSample& sample) {
                if (of != type || sample.total <= 0) return;
                totals[sample.trace_id.empty() ? "[no trace]" : "trace=" + Hex(sample.trace_id)] +=
                    sample.total;
              });
  return totals;
}

// A question for a trace has all its samples, and no other one's.
TEST_F(Views, ARequestsSamplesAreShownAlone) {
  Open(FreshDirectory());
  // The second that the events are of.
  constexpr int64_t kStartNs = 1'700'000'000'000'000'000;
  const SealedBatchPtr sealed =
      BatchEvents(11, true).Replay(0, 400).Seal(kStartNs, kStartNs + 1'000'000'000);
  ASSERT_TRUE(history_->Append(sealed).ok());
  std::map<std::string, int64_t> expected;
  const absl::StatusOr<BatchWalk> batch = BatchWalk::Open(sealed->bytes);
  ASSERT_TRUE(batch.ok()) << batch.status();
  batch->Visit([](const WalkedResource&) {}, [](const WalkedProfile&) {},
               [&](const WalkedSample& sample) {
                 if (!sample.trace_id.empty()) expected[Hex(sample.trace_id)] += sample.total;
               });
  ASSERT_GT(expected.size(), 2u);
  const auto passing = [&](const std::string& request) {
    const absl::StatusOr<PageQuestion> question = ParsePageQuestion(
        "from_ms=0&to_ms=" + std::to_string(kRandomStartMs * 4) + "&requests=" + request);
    EXPECT_TRUE(question.ok()) << question.status();
    const absl::StatusOr<std::string> gzip = views_.Answer(*history_, *question, {}, {});
    EXPECT_TRUE(gzip.ok()) << gzip.status();
    const Json answer = Json::parse(*GzipExpand(*gzip, 64 << 20));
    int64_t sum = 0;
    for (const Json& type : answer["types"]) sum += type["sum"].get<int64_t>();
    return sum;
  };
  int asked = 0;
  for (const auto& [trace, value] : expected)
    if (++asked <= 8) EXPECT_EQ(passing("trace_id%3D" + trace), value);
  EXPECT_EQ(passing("trace_id%3Dffffffffffffffffffffffffffffffff"), 0);
  EXPECT_EQ(passing("no.such.label%3D1"), 0);

  // One block for each trace, which a block's key then zooms to as any frame's does.
  const absl::StatusOr<PageQuestion> question =
      ParsePageQuestion("from_ms=0&width=0&by=trace&to_ms=" + std::to_string(kRandomStartMs * 4));
  ASSERT_TRUE(question.ok()) << question.status();
  const absl::StatusOr<std::string> gzip = views_.Answer(*history_, *question, {}, {});
  ASSERT_TRUE(gzip.ok()) << gzip.status();
  const Json answer = Json::parse(*GzipExpand(*gzip, 64 << 20));
  const auto of_type = TotalsByTrace(*batch, answer["types"][0]["type"]);
  std::map<std::string, int64_t> blocks;
  for (size_t i = 0; i < answer["tree"]["item"].size(); ++i) {
    if (answer["tree"]["parent"][i] != 0) continue;
    const size_t function = answer["tree"]["item"][i];
    EXPECT_EQ(answer["functions"]["type"][function], "group");
    blocks[answer["functions"]["name"][function]] = answer["tree"]["total"][i];
  }
  EXPECT_EQ(blocks, of_type);
  EXPECT_THAT(answer["labels"].get<std::vector<std::string>>(),
              testing::IsSupersetOf({"span_id", "trace_id"}));
}

// What is made in memory has a bound, and what was made for a refused question goes.
TEST_F(Views, AQuestionThatNeedsTooMuchIsRefused) {
  Open(FreshDirectory());
  for (int i = 0; i < kRandomBatches; ++i) ASSERT_TRUE(history_->Append(Sealed(i)).ok());
  const Json whole = Ask("&by=trace");
  PageViews small(1 << 10);
  const auto ask = [&](const std::string& words) {
    const absl::StatusOr<PageQuestion> question =
        ParsePageQuestion("from_ms=0&to_ms=" + std::to_string(kRandomStartMs * 4) + words);
    return small.Answer(*history_, *question, {}, {}).status();
  };
  EXPECT_TRUE(absl::IsResourceExhausted(ask("&by=trace"))) << ask("&by=trace");
  EXPECT_EQ(small.progress().all, 0u);
  ExpectEqual(Ask("&by=trace"), whole);
}

TEST_F(Views, AStoppedQuestionIsCancelledAndTheNextIsWhole) {
  Open(FreshDirectory());
  for (int i = 0; i < kRandomBatches; ++i) ASSERT_TRUE(history_->Append(Sealed(i)).ok());
  std::stop_source stop;
  stop.request_stop();
  const absl::StatusOr<PageQuestion> question = ParsePageQuestion("from_ms=0&to_ms=9000000000000");
  EXPECT_TRUE(
      absl::IsCancelled(views_.Answer(*history_, *question, {}, stop.get_token()).status()));
  EXPECT_FALSE(IndexOneRun(*history_, stop.get_token(), &several_));
  ExpectEqual(Ask(), Expected(kRandomBatches));
}

}  // namespace
}  // namespace stackray
