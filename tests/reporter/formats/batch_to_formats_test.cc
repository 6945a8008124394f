// From the open batch to the formats: sealed bytes in, text out, with protobuf's own JSON as the
// oracle.
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "reporter/batch.h"
#include "reporter/formats/folded.h"
#include "reporter/formats/otlp_json.h"
#include "reporter/formats/profile_summary.h"
#include "reporter/proto/profiles.pb.h"

namespace stackray {
namespace {

using Json = nlohmann::json;

constexpr int64_t kStartNs = 1'790'000'000'000'000'000;
constexpr MappingKey kAppMapping = 1, kKernelMapping = 2;

int32_t Define(BatchBuilder* batch, FrameType type, MappingKey mapping, uint64_t address,
               std::vector<SourceLine> lines) {
  const FrameKey key = FrameKey::Make(type, mapping, address);
  return batch->DefineFrame(key, {type, mapping, address, std::move(lines)});
}

SealedBatchPtr Seal() {
  BatchBuilder batch({.frequency_hz = 99, .keep_timestamps = true, .host_name = "build-host"});
  const ProcessId app{.pid = 42, .exec_id = 1, .start_time_ns = 5};
  batch.DefineProcess(app, {.pid = 42, .command = "a;pp\xFF", .executable_path = "/usr/bin/app"});
  batch.DefineMapping(kAppMapping, {.start = 0x1000,
                                    .limit = 0x9000,
                                    .path = "/usr/bin/app",
                                    .gnu_build_id = "aa11",
                                    .htlhash = "00112233445566778899aabbccddeeff"});
  batch.DefineMapping(kKernelMapping, {.start = 0xffffffff81000000,
                                       .limit = 0xffffffff82000000,
                                       .path = "vmlinux",
                                       .gnu_build_id = "bb22"});
  const int32_t main = Define(&batch, FrameType::kNative, kAppMapping, 0x1100,
                              {{.function = "inner()", .file = "a.cc", .line = 3},
                               {.function = "main", .file = "a.cc", .line = 9}});
  const int32_t nameless = Define(&batch, FrameType::kNative, kAppMapping, 0x1200, {});
  const int32_t read = Define(&batch, FrameType::kKernel, kKernelMapping, 0xffffffff81000010,
                              {{.function = "vfs_read"}});
  const int32_t cut = Define(&batch, FrameType::kMarker, 0, 0, {{.function = "[truncated: x]"}});
  const std::vector<int32_t> whole = {read, main}, other = {nameless, cut};
  for (int i = 0; i < 5; ++i) {
    batch.AddSample({.process = app,
                     .frames = i < 3 ? whole : other,
                     .time_unix_ns = kStartNs + i * 1000,
                     .tid = 43,
                     .thread_name = "worker"});
  }
  return std::move(batch).Seal(kStartNs, kStartNs + 1'000'000'000);
}

TEST(BatchToFormats, FoldedAndSummary) {
  const SealedBatchPtr sealed = Seal();
  const absl::StatusOr<BatchWalk> batch = BatchWalk::Open(sealed->bytes);
  ASSERT_TRUE(batch.ok()) << batch.status();
  ProfileView view;
  view.Add(*batch);
  EXPECT_EQ(FoldedText(view),
            "a:pp\xEF\xBF\xBD;[truncated: x];[app+0x1200] 2\n"
            "a:pp\xEF\xBF\xBD;main;inner()_[i];vfs_read_[k] 3\n");
  SummaryCounter counter;
  counter.Add(*batch);
  EXPECT_EQ(FormatSummary(counter.summary()),
            "5 samples of 1 process in 1.0 s at 99 Hz, none lost\n"
            "user stacks: 3 of 5 complete (60.0 %)\n"
            "frames: 6 of 8 named (75.0 %); user 60.0 %, kernel 100.0 %\n"
            "Unnamed: 25.0 % of the frames are code of files without symbols, which debug symbols "
            "would name (`stackray explain PID` says how).\n");
}

// Turns base64 into hex where OTLP's JSON differs from protobuf's.
void IdsToHex(Json* json) {
  for (auto& [key, value] : json->items()) {
    if (value.is_string() && (key == "traceId" || key == "spanId" || key == "profileId")) {
      std::string bytes;
      ASSERT_TRUE(absl::Base64Unescape(value.get<std::string>(), &bytes));
      value = absl::BytesToHexString(bytes);
    } else if (value.is_structured()) {
      IdsToHex(&value);
    }
  }
}

TEST(BatchToFormats, OtlpJsonIsProtobufsJsonExceptForIds) {
  opentelemetry::proto::profiles::v1development::ProfilesData data;
  ASSERT_TRUE(data.ParseFromString(Seal()->bytes));
  auto* link = data.mutable_dictionary()->add_link_table();
  link->set_trace_id(
      std::string("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\xff", 16));
  link->set_span_id("\x11\x12\x13\x14\x15\x16\x17\xf8");
  auto* profile = data.mutable_resource_profiles(0)->mutable_scope_profiles(0)->mutable_profiles(0);
  profile->set_original_payload("\xff\xfe\xfd");
  profile->set_profile_id(std::string(16, '\x7f'));
  auto* array = data.mutable_resource_profiles(0)
                    ->mutable_resource()
                    ->add_attributes()
                    ->mutable_value()
                    ->mutable_array_value();
  array->add_values()->set_double_value(-2.5e300);
  array->add_values()->set_bool_value(true);
  array->add_values()->set_int_value(INT64_MIN);
  array->add_values()->set_bytes_value("\x01\xfb");
  std::string expected;
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(data, &expected).ok());
  Json expected_json = Json::parse(expected);
  IdsToHex(&expected_json);
  const auto ours = OtlpJson(data.SerializeAsString());
  ASSERT_TRUE(ours.ok()) << ours.status();
  EXPECT_EQ(Json::parse(*ours), expected_json);
}

}  // namespace
}  // namespace stackray
