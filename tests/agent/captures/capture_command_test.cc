// The client asks, waits, stops, and writes what the agent keeps. A CaptureStore is the agent here.
#include "agent/captures/capture_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "agent/captures/capture_store.h"
#include "agent/captures/capture_table.h"
#include "tests/reporter/golden_batch.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class CaptureCommand : public testing::Test {
 protected:
  CaptureCommand() {
    auto store = CaptureStore::Open(scratch_.File("state"), {}, {}, warnings_);
    EXPECT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    settings_.state_dir = scratch_.File("state");
    settings_.targets.emplace_back();
    settings_.name = "web";
    settings_.outputs = {{scratch_.File("a.folded"), OutputFormat::kFolded},
                         {scratch_.File("a.otlp"), OutputFormat::kOtlp}};
  }

  // What the agent does at a request.
  ControlAnswer Answer(std::string_view request, const Json& arguments) {
    asked_.emplace_back(request);
    if (!fails_with_.ok()) return fails_with_;
    if (request == kCaptureStartRequest) {
      absl::StatusOr<CaptureSpec> spec = CaptureFromJson(arguments["capture"]);
      if (!spec.ok()) return spec.status();
      if (spec->name.empty()) spec->name = "picked-1";
      name_ = spec->name;
      if (absl::Status status = store_->Begin(*spec, 1'000'000'000, 61'000'000'000); !status.ok())
        return status;
      return nlohmann::ordered_json{{"name", name_}, {"ends_unix_ns", 61'000'000'000}};
    }
    if (request == kCaptureStopRequest) {
      if (ended_already_) {
        EXPECT_TRUE(store_->Append(name_, GoldenBatch()).ok());
        EXPECT_TRUE(store_->Finish(name_, kReasonFinished, {.samples = 1}).ok());
        return absl::FailedPreconditionError("capture web has ended already");
      }
      if (absl::Status status = store_->Finish(name_, kReasonStopped, {.samples = 1}); !status.ok())
        return status;
      return nlohmann::ordered_json{{"name", name_}, {"file", ""}};
    }
    if (before_list_) before_list_();
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const CaptureRecord& record : store_->List()) list.push_back(ToJson(record));
    return nlohmann::ordered_json{{"captures", list}};
  }

  int Run() {
    return RunCapture(settings_,
                      {.ask = [this](std::string_view request,
                                     const Json& arguments) { return Answer(request, arguments); },
                       .stop_requested = [this] { return stop_; },
                       .sleep = [this](int ms) { slept_ms_ += ms; }});
  }
  // What it says on standard error.
  std::string Said(const std::function<void()>& run) {
    testing::internal::CaptureStderr();
    run();
    return testing::internal::GetCapturedStderr();
  }
  void ExpectWritten() {
    EXPECT_THAT(ReadText(scratch_.File("a.folded")), HasSubstr(";"));
    EXPECT_GT(fs::file_size(scratch_.File("a.otlp")), GoldenBatch().size());
  }

  test::TemporaryDirectory scratch_;
  std::vector<std::string> warnings_, asked_;
  std::unique_ptr<CaptureStore> store_;
  CaptureSettings settings_;
  std::string name_;
  std::function<void()> before_list_;  // What happens to the capture meanwhile.
  absl::Status fails_with_;
  bool stop_ = false, ended_already_ = false;
  int slept_ms_ = 0;
};

TEST_F(CaptureCommand, WaitsAndWritesTheFiles) {
  int asks = 0;
  before_list_ = [&] {
    if (++asks < 3) return;
    ASSERT_TRUE(store_->Append("web", GoldenBatch()).ok());
    ASSERT_TRUE(store_->Finish("web", kReasonFinished, {.samples = 1}).ok());
  };
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(slept_ms_, 3000) << "it asks once a second";
  EXPECT_THAT(asked_, ElementsAre("capture-start", "capture-list", "capture-list", "capture-list"));
  ExpectWritten();
}

TEST_F(CaptureCommand, SendsWhatItWasTold) {
  settings_.types = {SampleOrigin::kOffCpu};
  settings_.frequency_hz = 997;
  settings_.duration_ms = 5000;
  settings_.send = true;
  settings_.wait = false;
  settings_.name.clear();
  const std::string said = Said([&] { EXPECT_EQ(Run(), 0); });
  EXPECT_THAT(said, HasSubstr("capture get picked-1 -o FILE"));
  const CaptureSpec& spec = store_->Find("picked-1")->spec;
  EXPECT_EQ(spec.types, settings_.types);
  EXPECT_EQ(spec.targets, settings_.targets);
  EXPECT_EQ(spec.frequency_hz, 997u);
  EXPECT_EQ(spec.duration_ms, 5000);
  EXPECT_TRUE(spec.send);
  EXPECT_FALSE(fs::exists(scratch_.File("a.folded")));
}

TEST_F(CaptureCommand, CtrlCStopsItAndStillWrites) {
  before_list_ = [&] {
    stop_ = true;
    if (store_->Find("web")->is_running()) {
      ASSERT_TRUE(store_->Append("web", GoldenBatch()).ok());
    }
  };
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(asked_, ElementsAre("capture-start", "capture-list", "capture-stop", "capture-list"));
  ExpectWritten();
}

TEST_F(CaptureCommand, CtrlCBesideItsOwnEndStillWrites) {
  stop_ = true;
  ended_already_ = true;
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(asked_, ElementsAre("capture-start", "capture-stop", "capture-list"));
  ExpectWritten();
}

TEST_F(CaptureCommand, AnAgentThatRestartsIsWaitedForAndOneThatIsGoneIsNot) {
  int asks = 0;
  before_list_ = [&] {
    ++asks;
    fails_with_ = absl::UnavailableError("the agent ended before it answered");
  };
  const std::string said = Said([&] { EXPECT_EQ(Run(), 1); });
  EXPECT_THAT(said, HasSubstr("\"stackray capture get web -o FILE\" writes what there is"));
  EXPECT_EQ(slept_ms_, 32'000);
  EXPECT_FALSE(fs::exists(scratch_.File("a.folded"))) << "nothing is left of it";
}

TEST_F(CaptureCommand, ARefusalIsSaidAndLeavesNoFile) {
  fails_with_ = absl::ResourceExhaustedError("15 captures run: a, b, c");
  EXPECT_THAT(Said([&] { EXPECT_EQ(Run(), 1); }), HasSubstr("15 captures run: a, b, c"));
  EXPECT_FALSE(fs::exists(scratch_.File("a.folded")));
}

TEST_F(CaptureCommand, AFileThatCannotBeWrittenCostsNothing) {
  settings_.outputs = {{"/nonexistent/a.html", OutputFormat::kHtml}};
  EXPECT_THAT(Said([&] { EXPECT_EQ(Run(), 1); }), HasSubstr("/nonexistent/a.html"));
  EXPECT_THAT(asked_, testing::IsEmpty());
}

TEST_F(CaptureCommand, WithoutAnAgentItSaysWhatNeedsNone) {
  settings_.state_dir = scratch_.File("nowhere");
  settings_.action = CaptureAction::kList;
  EXPECT_THAT(Said([&] { EXPECT_EQ(RunCapture(settings_), 1); }),
              testing::AllOf(HasSubstr("start one with \"stackray agent\""),
                             HasSubstr("stackray record needs no agent")));
}

TEST_F(CaptureCommand, GetNeedsNoAgentAndTakesWhatRuns) {
  ASSERT_EQ(Answer(kCaptureStartRequest, {{"capture", Json(ToJson([] {
                                             CaptureSpec spec;
                                             spec.name = "web";
                                             spec.targets.emplace_back();
                                             return spec;
                                           }()))}})
                .status(),
            absl::OkStatus());
  ASSERT_TRUE(store_->Append("web", GoldenBatch()).ok());
  settings_.action = CaptureAction::kGet;
  // As if the agent were writing a second batch.
  std::ofstream(scratch_.File("state/captures/web.otlp"), std::ios::app) << std::string(3, '\0');
  std::string said = Said([&] { EXPECT_EQ(RunCapture(settings_), 0); });
  EXPECT_THAT(said, HasSubstr("still runs; this is what it has so far"));
  ExpectWritten();
  ASSERT_TRUE(store_->Finish("web", kReasonFull, {.samples = 1, .lost = {{"x", 7}}}).ok());
  said = Said([&] { EXPECT_EQ(RunCapture(settings_), 1); });
  EXPECT_THAT(said, testing::AllOf(HasSubstr("torn"), HasSubstr("ended early: full"),
                                   HasSubstr("lost: 7 samples (x)")));
  settings_.name = "api";
  said = Said([&] { EXPECT_EQ(RunCapture(settings_), 1); });
  EXPECT_THAT(said, HasSubstr("there is no capture api"));
}

TEST_F(CaptureCommand, StopAsksAndSaysHowToGetIt) {
  settings_.action = CaptureAction::kStop;
  name_ = "web";
  EXPECT_THAT(Said([&] { EXPECT_EQ(Run(), 1); }), HasSubstr("no capture web runs"));
  CaptureSpec spec;
  spec.name = "web";
  spec.targets.emplace_back();
  ASSERT_TRUE(store_->Begin(spec, 1, 2).ok());
  EXPECT_THAT(Said([&] { EXPECT_EQ(Run(), 0); }), HasSubstr("capture get web -o FILE"));
}

TEST_F(CaptureCommand, TheDefaultFileOverwritesNothing) {
  const fs::path before = fs::current_path();
  fs::current_path(scratch_.path());
  settings_.outputs.clear();
  before_list_ = [&] {
    if (store_->Find(name_)->is_running()) {
      ASSERT_TRUE(store_->Finish(name_, kReasonFinished).ok());
    }
  };
  for (const char* name : {"a", "b", "c"}) {
    settings_.name = name;
    EXPECT_EQ(Run(), 0);
  }
  int pages = 0;
  for (const auto& entry : fs::directory_iterator(scratch_.path()))
    pages += entry.path().extension() == ".html";
  EXPECT_EQ(pages, 3);
  fs::current_path(before);
}

TEST(CaptureTable, HasALineForEach) {
  EXPECT_EQ(CaptureTable({}, 0), "no captures\n");
  CaptureRecord web;
  web.spec.name = "web";
  web.spec.targets.emplace_back();
  web.spec.targets[0].kind = TargetKind::kCommandName;
  web.spec.targets[0].command_name = "a\x1b[2J";
  web.ends_unix_ns = 95'000'000'000;
  web.samples = 12;
  web.lost = {{"x", 1}, {"y", 2}};
  CaptureRecord api = web;
  api.spec.name = "a-longer-name";
  api.spec.targets = {TargetSettings()};
  api.reason = "stopped";
  const std::string table = CaptureTable({web, api}, 0);
  EXPECT_THAT(table, Not(HasSubstr("\x1b")));
  EXPECT_EQ(table.substr(0, table.find('\n')),
            "NAME           STATE    HZ   LEFT   SAMPLES  LOST  TARGET");
  EXPECT_THAT(table, HasSubstr("\nweb            running  499  1m35s  12       3     processes "));
  EXPECT_THAT(table, HasSubstr("\na-longer-name  stopped  499         12       3     all "));
}

}  // namespace
}  // namespace stackray
