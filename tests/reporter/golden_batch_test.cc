// The golden batch, read by us and, as far as the open batch can say the same, written by us.
#include "tests/reporter/golden_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "reporter/batch.h"
#include "reporter/check.h"
#include "reporter/proto/profiles_service.pb.h"
#include "tests/reporter/decoded_batch.h"

namespace stackray {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

// What the golden batch says, apart from its scope and its link.
BatchBuilder SameBatch() {
  BatchBuilder batch({.frequency_hz = 20, .keep_timestamps = true, .os_type = ""});
  const ProcessId process{.pid = 42};
  batch.DefineProcess(process, {.pid = 42, .service_name = "svc"});
  batch.DefineMapping(1, {.start = 0x1000,
                          .limit = 0x2000,
                          .path = "/bin/a",
                          .htlhash = "00112233445566778899aabbccddeeff"});
  const int32_t native = batch.DefineFrame(FrameKey::Make(FrameType::kNative, 1, 0x1234),
                                           {FrameType::kNative, 1, 0x1234, {}});
  const int32_t python = batch.DefineFrame(
      FrameKey::Make(FrameType::kPython, 1, 7),
      {FrameType::kPython, 0, 0, {{.function = "main", .file = "/bin/a", .line = 7}}});
  const int32_t frames[] = {native, python};
  for (const int64_t time : {1500, 1000}) {
    batch.AddSample({.process = process,
                     .frames = frames,
                     .time_unix_ns = time,
                     .tid = 43,
                     .thread_name = "t"});
  }
  return batch;
}

TEST(GoldenBatch, IsWhatItsDescriptionSays) {
  EXPECT_EQ(GoldenBatch().size(), 421u);
  const DecodedBatch batch = DecodeBatch(GoldenBatch()).value();
  EXPECT_EQ(batch.start_unix_ns, 1000);
  EXPECT_EQ(batch.duration_ns, 1000);
  EXPECT_EQ(batch.period_ns, 5e7);
  ASSERT_EQ(batch.resources.size(), 1u);
  EXPECT_EQ(batch.resources[0].Find("service.name"), "svc");
  EXPECT_EQ(batch.resources[0].Find("process.pid"), "42");
  ASSERT_EQ(batch.frames.size(), 3u);
  EXPECT_EQ(batch.frames[1].type, "native");
  EXPECT_EQ(batch.frames[1].mapping_path, "/bin/a");
  EXPECT_EQ(batch.frames[1].address, 0x1234u);
  EXPECT_EQ(batch.frames[1].build_id.size(), 32u);
  EXPECT_EQ(batch.frames[2].type, "cpython");
  EXPECT_EQ(batch.frames[2].lines.at(0).function, "main");
  EXPECT_EQ(batch.frames[2].lines.at(0).line, 7);
  ASSERT_EQ(batch.samples.size(), 1u);
  EXPECT_THAT(batch.samples[0].frames, ElementsAre(1, 2));
  EXPECT_THAT(batch.samples[0].timestamps_unix_ns, ElementsAre(1000, 1500));
  EXPECT_EQ(batch.samples[0].count, 2);
}

TEST(GoldenBatch, ObeysEveryRule) { EXPECT_THAT(CheckBatch(GoldenBatch()), IsEmpty()); }

TEST(GoldenBatch, TheProtoFilesReadAndWriteItByteForByte) {
  opentelemetry::proto::profiles::v1development::ProfilesData data;
  ASSERT_TRUE(data.ParseFromString(GoldenBatch()));
  EXPECT_EQ(data.SerializeAsString(), GoldenBatch());
  opentelemetry::proto::collector::profiles::v1development::ExportProfilesServiceRequest request;
  ASSERT_TRUE(request.ParseFromString(GoldenBatch()));
  EXPECT_EQ(request.SerializeAsString(), GoldenBatch());
  EXPECT_TRUE(request.GetReflection()->GetUnknownFields(request).empty());
}

TEST(GoldenBatch, TheOpenBatchSaysTheSame) {
  const SealedBatchPtr sealed = SameBatch().Seal(1000, 2000);
  EXPECT_THAT(CheckBatch(sealed->bytes), IsEmpty());
  const DecodedBatch ours = DecodeBatch(sealed->bytes).value();
  const DecodedBatch golden = DecodeBatch(GoldenBatch()).value();
  EXPECT_EQ(ours.start_unix_ns, golden.start_unix_ns);
  EXPECT_EQ(ours.duration_ns, golden.duration_ns);
  EXPECT_EQ(ours.period_ns, golden.period_ns);
  EXPECT_THAT(ours.resources.at(0).attributes,
              UnorderedElementsAreArray(golden.resources.at(0).attributes));
  ASSERT_EQ(ours.frames.size(), golden.frames.size());
  for (size_t i = 0; i < golden.frames.size(); ++i) {
    EXPECT_EQ(ours.frames[i].type, golden.frames[i].type);
    EXPECT_EQ(ours.frames[i].mapping_path, golden.frames[i].mapping_path);
    EXPECT_EQ(ours.frames[i].address, golden.frames[i].address);
    ASSERT_EQ(ours.frames[i].lines.size(), golden.frames[i].lines.size());
    for (size_t line = 0; line < golden.frames[i].lines.size(); ++line) {
      EXPECT_EQ(ours.frames[i].lines[line].function, golden.frames[i].lines[line].function);
      EXPECT_EQ(ours.frames[i].lines[line].line, golden.frames[i].lines[line].line);
    }
  }
  ASSERT_EQ(ours.samples.size(), 1u);
  EXPECT_EQ(ours.samples[0].frames, golden.samples.at(0).frames);
  EXPECT_EQ(ours.samples[0].timestamps_unix_ns, golden.samples[0].timestamps_unix_ns);
  EXPECT_EQ(ours.samples[0].tid, golden.samples[0].tid);
  EXPECT_EQ(ours.samples[0].thread_name, golden.samples[0].thread_name);
}

// Our own bytes are, but for the width of the duration, what the generated classes write.
TEST(GoldenBatch, OurWireIsTheGeneratedClassesWire) {
  std::string bytes = SameBatch().Seal(1000, 2000)->bytes;
  opentelemetry::proto::profiles::v1development::ProfilesData data;
  ASSERT_TRUE(data.ParseFromString(bytes));
  constexpr size_t kDurationPadding = 7;  // 1000 needs two bytes of the nine.
  EXPECT_EQ(data.SerializeAsString().size() + kDurationPadding, bytes.size());
  auto* profile = data.mutable_resource_profiles(0)->mutable_scope_profiles(0)->mutable_profiles(0);
  profile->set_duration_nano(int64_t{1} << 62);  // Needs all nine.
  EXPECT_EQ(data.SerializeAsString(), SameBatch().Seal(1000, 1000 + (int64_t{1} << 62))->bytes);
}

}  // namespace
}  // namespace stackray
