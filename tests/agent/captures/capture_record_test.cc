// A capture's record as JSON.
#include "agent/captures/capture_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace stackray {
namespace {

using testing::HasSubstr;

CaptureRecord Finished() {
  CaptureRecord record;
  record.spec.name = "web";
  record.spec.targets.emplace_back();
  record.reason = "stopped";
  record.started_unix_ns = 1'790'000'000'000'000'001;
  record.ends_unix_ns = record.started_unix_ns + 60'000'000'000;
  record.updated_unix_ns = record.ended_unix_ns = record.started_unix_ns + 5;
  record.gaps = {{1, 2}, {3, 4}};
  record.samples = 12;
  record.lost = {{"capture budget", 3}, {"ring full", 4}};
  record.batches = 2;
  record.bytes = 300;
  return record;
}

TEST(CaptureRecord, ComesBackFromItsJson) {
  CaptureRecord record = Finished();
  auto again = ParseCaptureRecord(ToJson(record).dump());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, record);
  EXPECT_EQ(ToJson(record)["state"], "finished");
  record.reason.clear();
  record.ended_unix_ns = 0;
  again = ParseCaptureRecord(ToJson(record).dump());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, record);
  EXPECT_EQ(ToJson(record)["state"], "running");
}

TEST(CaptureRecord, DamagedOnesAreRefused) {
  const auto error_with = [](const char* key, const nlohmann::json& value) {
    nlohmann::json json = ToJson(Finished());
    json[key] = value;
    const absl::Status status = CaptureRecordFromJson(json).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << key << ": " << status;
    return std::string(status.message());
  };
  EXPECT_THAT(error_with("state", "running"), HasSubstr("state")) << "but there is a reason";
  EXPECT_THAT(error_with("reason", ""), HasSubstr("state"));
  EXPECT_THAT(error_with("reason", 1), HasSubstr("reason"));
  EXPECT_THAT(error_with("started_unix_ns", -1), HasSubstr("started_unix_ns"));
  EXPECT_THAT(error_with("gaps", {{{"from", "x"}}}), HasSubstr("from"));
  EXPECT_THAT(error_with("gaps", nlohmann::json(std::vector<int>(101))), HasSubstr("gaps"));
  EXPECT_THAT(error_with("lost", {{"ring full", -1}}), HasSubstr("lost"));
  EXPECT_THAT(error_with("lost", 1), HasSubstr("lost"));
  EXPECT_THAT(error_with("bytes", 1.5), HasSubstr("bytes"));
  EXPECT_THAT(error_with("more", 1), HasSubstr("more"));
  nlohmann::json capture = ToJson(Finished().spec);
  capture["name"] = "../web";
  EXPECT_THAT(error_with("capture", capture), HasSubstr("name"));
}

TEST(CaptureRecord, KeepsItsSpanAndLosesADamagedOneAlone) {
  CaptureRecord record = Finished();
  EXPECT_FALSE(ToJson(record).contains("traceparent"));
  record.span = {.trace = {1, 2}, .span = {3}, .sampled = true};
  nlohmann::json json = ToJson(record);
  EXPECT_EQ(CaptureRecordFromJson(json)->span, record.span);
  json["traceparent"] = "00-zz";
  ASSERT_TRUE(CaptureRecordFromJson(json).ok());
  EXPECT_FALSE(CaptureRecordFromJson(json)->span.valid());
}

// Another user's process may call itself by the same name.
TEST(CaptureRecord, SaysThatATargetIsTheProcessesOwnWord) {
  for (const auto& [kind, is_claimed] : {std::pair{TargetKind::kService, true},
                                         {TargetKind::kCommandName, true},
                                         {TargetKind::kUser, false},
                                         {TargetKind::kWholeHost, false}}) {
    CaptureRecord record = Finished();
    record.spec.targets = {{.kind = kind}};
    record.spec.targets[0].service_name = record.spec.targets[0].command_name = "shop";
    const nlohmann::json json = ToJson(record);
    EXPECT_EQ(json.value("target_is_claimed", false), is_claimed);
    EXPECT_TRUE(CaptureRecordFromJson(json).ok());
  }
}

TEST(CaptureRecord, TextThatIsNoJsonIsRefused) {
  for (const std::string& text :
       {std::string(), std::string("{"), std::string(100'000, '['), std::string("\xff")})
    EXPECT_TRUE(absl::IsInvalidArgument(ParseCaptureRecord(text).status()));
}

}  // namespace
}  // namespace stackray
