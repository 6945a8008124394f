#include "agent/record/record_outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reporter/batch.h"
#include "tests/reporter/golden_batch.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class RecordOutputsTest : public testing::Test {
 protected:
  RecordOutputs Create(const std::vector<OutputFile>& files) {
    absl::StatusOr<RecordOutputs> outputs = RecordOutputs::Create(files, std::nullopt, "title");
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return *std::move(outputs);
  }
  const test::TemporaryDirectory directory_;
  const std::string folded_ = directory_.Write("a.folded", "old");
  const std::string otlp_ = directory_.Write("b.otlp", "old");
  const std::string fresh_ = directory_.File("c.folded");
  const std::vector<OutputFile> files_ = {{folded_, OutputFormat::kFolded},
                                          {otlp_, OutputFormat::kOtlp},
                                          {fresh_, OutputFormat::kFolded}};
};

TEST_F(RecordOutputsTest, ReplaceWhatWasThereWhenTheyAreWhole) {
  RecordOutputs outputs = Create(files_);
  ASSERT_TRUE(outputs.Add(GoldenBatch()).ok());
  EXPECT_EQ(Read(folded_), "old");
  EXPECT_EQ(Read(otlp_), "old");
  ASSERT_TRUE(outputs.Finish().ok());
  EXPECT_THAT(outputs.written(), ElementsAre(folded_, otlp_, fresh_));
  EXPECT_EQ(Read(folded_), Read(fresh_));
  EXPECT_GT(Read(otlp_).size(), GoldenBatch().size());
}

TEST_F(RecordOutputsTest, GroupsStandOutsideOfWholeStacksAlone) {
  RecordOutputs outputs = Create(files_);
  outputs.GroupBy(*SampleGrouping::Parse("span"));
  ASSERT_TRUE(outputs.Add(GoldenBatch()).ok());
  ASSERT_TRUE(outputs.Finish().ok());
  EXPECT_EQ(Read(folded_), "[pid 42];span=0202020202020202;main;[a+0x1234] 2\n");
  EXPECT_EQ(Read(otlp_).substr(Read(otlp_).size() - GoldenBatch().size()), GoldenBatch());
  EXPECT_EQ(outputs.GroupLine(), "by span: span=0202020202020202 2 (100.0 %)\n");
  EXPECT_EQ(outputs.summary().user_frames, 4);
}

TEST_F(RecordOutputsTest, WithoutAnEndNothingHappens) {
  {
    RecordOutputs outputs = Create(files_);
    ASSERT_TRUE(outputs.Add(GoldenBatch()).ok());
  }
  EXPECT_EQ(Read(folded_), "old");
  EXPECT_EQ(Read(otlp_), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_.path()), fs::directory_iterator()), 2);
}

TEST_F(RecordOutputsTest, OfABrokenInputOnlyNewFilesAreMade) {
  RecordOutputs outputs = Create(files_);
  ASSERT_TRUE(outputs.Add(GoldenBatch()).ok());
  const absl::Status status = outputs.Finish(RecordOutputs::OldFiles::kKept);
  EXPECT_THAT(std::string(status.message()), HasSubstr(folded_ + " stays as it was"));
  EXPECT_THAT(outputs.written(), ElementsAre(fresh_));
  EXPECT_EQ(Read(folded_), "old");
  EXPECT_EQ(Read(otlp_), "old");
}

TEST_F(RecordOutputsTest, ATypeWithoutSamplesIsAnErrorWhereItWasAskedFor) {
  using MissingType = RecordOutputs::MissingType;
  const OutputFile scope{directory_.File("d.speedscope.json"), OutputFormat::kSpeedscope};
  RecordOutputs strict = Create({files_[0], scope, files_[1]});
  strict.SetType("off-cpu", MissingType::kIsAnError);
  ASSERT_TRUE(strict.Add(GoldenBatch()).ok());
  const std::string errors(strict.Finish().message());
  EXPECT_THAT(errors, HasSubstr(folded_ + ": no samples of off-cpu; there are of cpu"));
  EXPECT_THAT(errors, HasSubstr(scope.path + ": no samples of off-cpu; there are of cpu"));
  EXPECT_THAT(strict.written(), ElementsAre(otlp_));
  EXPECT_EQ(Read(folded_), "old");

  RecordOutputs lenient = Create(files_);
  lenient.SetType("off-cpu", MissingType::kIsEmpty);
  ASSERT_TRUE(lenient.Add(GoldenBatch()).ok());
  ASSERT_TRUE(lenient.Finish().ok());
  EXPECT_EQ(Read(folded_), "") << "never another type's samples";
}

// One on-CPU sample, and a wait of 2 ms.
std::string TwoTypes() {
  BatchBuilder batch({});
  const ProcessId process{.pid = 42};
  batch.DefineProcess(process, {.pid = 42, .command = "app"});
  const std::vector<int32_t> frames = {
      batch.DefineFrame(FrameKey::Make(FrameType::kPython, 1, 1),
                        {FrameType::kPython, 0, 0, {{.function = "main"}}})};
  for (const SampleOrigin origin : {SampleOrigin::kCpuClock, SampleOrigin::kOffCpu})
    batch.AddSample({.process = process,
                     .origin = origin,
                     .frames = frames,
                     .time_unix_ns = 1000,
                     .value = 2'000'000});
  return std::move(batch).Seal(1000, 2000)->bytes;
}

TEST_F(RecordOutputsTest, AFileOfOneTypeHoldsTheOneThatIsNamed) {
  const std::vector<std::pair<std::optional<std::string>, std::string>> expected = {
      {std::nullopt, "app;main 1\n"},
      {"cpu", "app;main 1\n"},
      {"off-cpu", "app;main 2000\n"},
      {"page-faults", ""}};
  for (const auto& [type, text] : expected) {
    RecordOutputs outputs = Create({{folded_, OutputFormat::kFolded}});
    if (type) outputs.SetType(*type, RecordOutputs::MissingType::kIsEmpty);
    ASSERT_TRUE(outputs.Add(TwoTypes()).ok());
    ASSERT_TRUE(outputs.Finish().ok());
    EXPECT_EQ(Read(folded_), text);
  }
}

TEST_F(RecordOutputsTest, ATypeOfAnotherWriterIsFoundByItsName) {
  std::string bytes = TwoTypes();
  bytes.replace(bytes.find("off_cpu"), 7, "offload");
  for (const auto& [type, text] : std::vector<std::pair<std::string, std::string>>{
           {"offload", "app;main 2000\n"}, {"cpu", "app;main 1\n"}}) {
    RecordOutputs outputs = Create({{folded_, OutputFormat::kFolded}});
    outputs.SetType(type, RecordOutputs::MissingType::kIsAnError);
    ASSERT_TRUE(outputs.Add(bytes).ok());
    ASSERT_TRUE(outputs.Finish().ok());
    EXPECT_EQ(Read(folded_), text);
  }
}

TEST_F(RecordOutputsTest, OneFilesFailureCostsThatFileAlone) {
  const std::string full = directory_.File("full.html");
  fs::create_symlink("/dev/full", full);
  RecordOutputs outputs = Create({{full, OutputFormat::kHtml}, {fresh_, OutputFormat::kFolded}});
  ASSERT_TRUE(outputs.Add(GoldenBatch()).ok());
  EXPECT_THAT(std::string(outputs.Finish().message()), HasSubstr(full + ": the disk is full"));
  EXPECT_THAT(outputs.written(), ElementsAre(fresh_));
}

}  // namespace
}  // namespace stackray
