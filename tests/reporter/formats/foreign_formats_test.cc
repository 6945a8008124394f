#include "reporter/formats/foreign_formats.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "reporter/formats/batch_walk.h"
#include "reporter/formats/folded.h"
#include "reporter/formats/gzip.h"
#include "reporter/formats/text.h"
#include "reporter/proto/profiles.pb.h"

namespace stackray {
namespace {

using testing::HasSubstr;

std::string Folded(const absl::StatusOr<std::string>& batch) {
  if (!batch.ok()) return std::string(batch.status().message());
  const absl::StatusOr<BatchWalk> walk = BatchWalk::Open(*batch);
  if (!walk.ok()) return std::string(walk.status().message());
  ProfileView view;
  view.Add(*walk);
  return FoldedText(view);
}

// The batches of a reader, as folded stacks; an error's text.
template <typename Read>
std::string FoldedBy(Read&& read) {
  ProfileView view;
  const absl::Status status = read([&](std::string_view batch) {
    const absl::StatusOr<BatchWalk> walk = BatchWalk::Open(batch);
    if (walk.ok()) view.Add(*walk);
    return walk.status();
  });
  return status.ok() ? FoldedText(view) : std::string(status.message());
}

std::string OfFolded(std::string_view text) {
  return FoldedBy([&](ForeignBatchSink sink) { return BatchesOfFolded(text, "file", sink); });
}

absl::Status ReadPprof(std::string_view bytes) {
  return BatchesOfPprof(bytes, "app", [](std::string_view) { return absl::OkStatus(); });
}

std::string FoldedPprof(std::string_view bytes) {
  return FoldedBy([&](ForeignBatchSink sink) { return BatchesOfPprof(bytes, "app", sink); });
}

std::string Seed(const std::string& name) {
  std::ifstream file(std::string(STACKRAY_SOURCE_DIR) + "/tests/fuzz/seeds/foreign_formats_fuzz/" +
                     name);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(ForeignFormats, FoldedStacksAreThoseOfTheFile) {
  EXPECT_EQ(OfFolded("a;b 2\na;c_[k] 3\r\n\nno count\n"), "file;a;b 2\nfile;a;c_[k] 3\n");
  EXPECT_THAT(OfFolded("hello\nworld\n"), HasSubstr("no line is a stack"));
}

TEST(ForeignFormats, PprofsStacksAreRootFirst) {
  EXPECT_EQ(FoldedPprof(Seed("profile.pb")), "app;root;leaf 3\n");
  EXPECT_EQ(FoldedPprof(*GzipCompress(Seed("profile.pb"))), "app;root;leaf 3\n");
  for (const char* none : {"\x1f\x8b\x08", "", "hello"})
    EXPECT_TRUE(absl::IsDataLoss(ReadPprof(none))) << none;
}

TEST(ForeignFormats, ADocumentOfJson) {
  EXPECT_EQ(Folded(BatchOfOtlpJson(Seed("document.json"))), "app;main 3\n");
  EXPECT_FALSE(BatchOfOtlpJson("{}").ok());
  EXPECT_FALSE(BatchOfOtlpJson("[1, 2").ok());
}

// Every kind of value, each in the ways that protobuf's JSON allows, and what is not known.
constexpr char kDocument[] =
    R"({"x":[[1,{"y":null}],{}],"resourceProfiles":[{"resource":{"attributes":[
  {"key":"a","value":{"stringValue":""}},{"key":"b\u00e9\ud83d\ude00","value":{"boolValue":true}},
  {"key":"c","value":{"intValue":"-7"}},{"key":"d","value":{"intValue":8}},
  {"key":"e","value":{"doubleValue":-0.5}},{"key":"f","value":{"doubleValue":3}},
  {"key":"g","value":{"doubleValue":"NaN"}},{"key":"h","value":{"doubleValue":"-Infinity"}},
  {"key":"i","value":{"arrayValue":{"values":[{"stringValue":"x"},{"kvlistValue":{"values":[
    {"key":"y","value":{"bytesValue":"AAEC/w=="}}]}}]}}}],"droppedAttributesCount":4294967295},
  "scope_profiles":[{"profiles":[{"sampleType":{"typeStrindex":1,"unitStrindex":"2"},
    "samples":[{"stackIndex":1,"values":[1,"2",-3],"timestampsUnixNano":["18446744073709551615",5],
                "attributeIndices":[],"linkIndex":0},{}],
    "timeUnixNano":"1790000000000000000","durationNano":1e9,"period":"-1",
    "originalPayload":"-_-_"}]}],"schemaUrl":null}],
  "dictionary":{"string_table":["","a","b"],"stackTable":[{},{"locationIndices":[0,1,2147483647]}],
    "locationTable":[{"address":"123456789012345678","lines":[{"line":"-1","functionIndex":2}]}]}})";

// Protobuf's own reader is the oracle.
TEST(ForeignFormats, JsonMeansWhatProtobufSays) {
  namespace util = google::protobuf::util;
  opentelemetry::proto::profiles::v1development::ProfilesData right, made;
  util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto parsed = util::JsonStringToMessage(kDocument, &right, options);
  ASSERT_TRUE(parsed.ok()) << parsed.ToString();
  const absl::StatusOr<std::string> batch = BatchOfOtlpJson(kDocument);
  ASSERT_TRUE(batch.ok()) << batch.status();
  ASSERT_TRUE(made.ParseFromString(*batch));
  // Of equal messages, whatever NaN is equal to.
  EXPECT_EQ(made.DebugString(), right.DebugString());
  EXPECT_EQ(made.SerializeAsString(), right.SerializeAsString());
}

TEST(ForeignFormats, JsonThatIsNoDocument) {
  const auto with = [](std::string_view dictionary) {
    return BatchOfOtlpJson(Concat(R"({"resourceProfiles":[{}],"dictionary":)", dictionary, "}"));
  };
  EXPECT_TRUE(with("{}").ok());
  for (const char* bad :
       {"[]", "1", "\"\"", "[{}]", R"({"stringTable":"a"})", R"({"stringTable":[1]})",
        R"({"stringTable":["a"})", R"({"stringTable":["\xff"]})", R"({"stackTable":[1]})",
        R"({"stackTable":[{"locationIndices":1}]})",
        R"({"stackTable":[{"locationIndices":["x"]}]})",
        R"({"stackTable":[{"locationIndices":[1.5]}]})", R"({"stackTable":[[{}]]})",
        R"({"stackTable":[{"locationIndices":[[1]]}]})"})
    EXPECT_TRUE(absl::IsDataLoss(with(bad).status())) << bad;
  for (const char* bad : {"", " ", "[]", "{}x", "{\"a\":1}{}", "null", "\"a\"", "1"})
    EXPECT_TRUE(absl::IsDataLoss(BatchOfOtlpJson(bad).status())) << bad;
  EXPECT_TRUE(absl::IsDataLoss(BatchOfOtlpJson(std::string(1'000'000, '[')).status()));
}

// What does not fit into one batch is in the next one.
TEST(ForeignFormats, ManyFramesAreManyBatches) {
  std::string text;
  for (int i = 0; i < 60'000; ++i) text += Concat("root;frame number ", std::to_string(i), " 2\n");
  int batches = 0;
  int64_t sum = 0;
  const absl::Status status = BatchesOfFolded(text, "file", [&](std::string_view batch) {
    ++batches;
    const absl::StatusOr<BatchWalk> walk = BatchWalk::Open(batch);
    if (!walk.ok()) return walk.status();
    walk->Visit([](const WalkedResource&) {}, [](const WalkedProfile&) {},
                [&](const WalkedSample& sample) { sum += sample.total; });
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_GT(batches, 2);
  EXPECT_EQ(sum, 120'000);
}

TEST(ForeignFormats, ASinksErrorEndsTheReading) {
  int batches = 0;
  const auto refuse = [&](std::string_view) {
    ++batches;
    return absl::InternalError("full");
  };
  EXPECT_TRUE(absl::IsInternal(BatchesOfFolded("a;b 1\n", "file", refuse)));
  EXPECT_TRUE(absl::IsInternal(BatchesOfPprof(Seed("profile.pb"), "app", refuse)));
  EXPECT_EQ(batches, 2);
}

}  // namespace
}  // namespace stackray
