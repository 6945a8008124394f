#include "reporter/formats/otlp_json.h"

#include <gtest/gtest.h>

#include <bit>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "reporter/wire/writer.h"
#include "tests/reporter/golden_batch.h"

namespace stackray {
namespace {

TEST(OtlpJson, WholeRequest) {
  const auto json = OtlpJson(GoldenBatch());
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(
      *json,
      R"({"resourceProfiles":[{"resource":{"attributes":[)"
      R"({"key":"service.name","value":{"stringValue":"svc"}},)"
      R"({"key":"process.pid","value":{"intValue":"42"}}]},)"
      R"("scopeProfiles":[{"scope":{"name":"p","version":"1"},"profiles":[{)"
      R"("sampleType":{"typeStrindex":1,"unitStrindex":2},)"
      R"("samples":[{"stackIndex":1,"attributeIndices":[2,3],"linkIndex":1,)"
      R"("timestampsUnixNano":["1000","1500"]}],)"
      R"("timeUnixNano":"1000","durationNano":"1000",)"
      R"("periodType":{"typeStrindex":3,"unitStrindex":4},"period":"50000000"}]}]}],)"
      R"("dictionary":{"mappingTable":[{},{"memoryStart":"4096","memoryLimit":"8192",)"
      R"("filenameStrindex":6,"attributeIndices":[4]}],)"
      R"("locationTable":[{},{"mappingIndex":1,"address":"4660","attributeIndices":[1]},)"
      R"({"lines":[{"functionIndex":1,"line":"7"}],"attributeIndices":[5]}],)"
      R"("functionTable":[{},{"nameStrindex":5}],)"
      R"("linkTable":[{},{"traceId":"01010101010101010101010101010101","spanId":"0202020202020202"}],)"
      R"("stringTable":["","samples","count","cpu","nanoseconds","main","/bin/a",)"
      R"("profile.frame.type","thread.id","thread.name","process.executable.build_id.htlhash"],)"
      R"("attributeTable":[{},{"keyStrindex":7,"value":{"stringValue":"native"}},)"
      R"({"keyStrindex":8,"value":{"intValue":"43"}},{"keyStrindex":9,"value":{"stringValue":"t"}},)"
      R"({"keyStrindex":10,"value":{"stringValue":"00112233445566778899aabbccddeeff"}},)"
      R"({"keyStrindex":7,"value":{"stringValue":"cpython"}}],)"
      R"("stackTable":[{},{"locationIndices":[1,2]}]}})");
}

std::string Field(int number, std::string_view bytes) {
  std::string field;
  wire::AppendBytes(number, bytes, &field);
  return field;
}

// A request whose only content is one resource attribute with this AnyValue.
std::string WithValue(const std::string& any_value) {
  return Field(1, Field(1, Field(1, Field(1, "k") + Field(2, any_value))));
}

std::string JsonOfValue(const std::string& any_value) {
  const auto json = OtlpJson(WithValue(any_value));
  if (!json.ok()) return json.status().ToString();
  return nlohmann::json::parse(*json)["resourceProfiles"][0]["resource"]["attributes"][0]["value"]
      .dump();
}

std::string Fixed64(uint64_t value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));  // Little endian here.
}

TEST(OtlpJson, ValuesOfEveryKind) {
  EXPECT_EQ(JsonOfValue(absl::HexStringToBytes("0a00")), R"({"stringValue":""})");
  EXPECT_EQ(JsonOfValue(absl::HexStringToBytes("1000")), R"({"boolValue":false})");
  EXPECT_EQ(JsonOfValue(absl::HexStringToBytes("1001")), R"({"boolValue":true})");
  EXPECT_EQ(JsonOfValue(absl::HexStringToBytes("1800")), R"({"intValue":"0"})");
  EXPECT_EQ(JsonOfValue(absl::HexStringToBytes("18ffffffffffffffffff01")), R"({"intValue":"-1"})");
  EXPECT_EQ(JsonOfValue("\x21" + Fixed64(std::bit_cast<uint64_t>(0.1))), R"({"doubleValue":0.1})");
  EXPECT_EQ(JsonOfValue("\x21" + Fixed64(0x7ff0000000000000)), R"({"doubleValue":"Infinity"})");
  EXPECT_EQ(JsonOfValue("\x21" + Fixed64(0xfff0000000000000)), R"({"doubleValue":"-Infinity"})");
  EXPECT_EQ(JsonOfValue("\x21" + Fixed64(0x7ff8000000000000)), R"({"doubleValue":"NaN"})");
  EXPECT_EQ(JsonOfValue(absl::HexStringToBytes("2a060a0218010a00")),
            R"({"arrayValue":{"values":[{"intValue":"1"},{}]}})");
  EXPECT_EQ(JsonOfValue(absl::HexStringToBytes("32090a070a016b12021802")),
            R"({"kvlistValue":{"values":[{"key":"k","value":{"intValue":"2"}}]}})");
  EXPECT_EQ(JsonOfValue(absl::HexStringToBytes("3a03fffefd")), R"({"bytesValue":"//79"})");
  EXPECT_EQ(JsonOfValue(absl::HexStringToBytes("4003")), R"({"stringValueStrindex":3})");
}

TEST(OtlpJson, RepeatedFieldsMayBeUnpackedAndApartAndUnknownOnesAreLeftOut) {
  // Dictionary with one stack: location_indices 1 (unpacked), unknown field 9, then 2 and 3
  // (packed).
  const auto json =
      OtlpJson(absl::HexStringToBytes("120b3a09"
                                      "0801"
                                      "4807"
                                      "0a03020304"));
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(*json, R"({"dictionary":{"stackTable":[{"locationIndices":[1,2,3,4]}]}})");
}

TEST(OtlpJson, EmptyRequestIsAnEmptyObject) { EXPECT_EQ(*OtlpJson(""), "{}"); }

TEST(OtlpJson, CutBatchesAreRefusedOrStillJson) {
  const std::string good = GoldenBatch();
  int refused = 0;
  for (size_t length = 0; length < good.size(); ++length) {
    const auto json = OtlpJson(std::string_view(good).substr(0, length));
    if (!json.ok()) {
      EXPECT_TRUE(absl::IsDataLoss(json.status()));
      ++refused;
    } else {
      EXPECT_FALSE(nlohmann::json::parse(*json, nullptr, false).is_discarded());
    }
  }
  EXPECT_EQ(refused, 419);  // All but "" and the end of the first of its two fields.
}

TEST(OtlpJson, DamagedBatchesAreRefusedOrStillJson) {
  const std::string good = GoldenBatch();
  for (size_t at = 0; at < good.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xff, 0x07}) {
      std::string damaged = good;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      const auto json = OtlpJson(damaged);
      if (json.ok()) {
        EXPECT_FALSE(nlohmann::json::parse(*json, nullptr, false).is_discarded()) << at;
      }
    }
  }
}

TEST(OtlpJson, NestingIsBounded) {
  std::string value = absl::HexStringToBytes("1801");
  const auto nest = [&value](int levels) {
    for (; levels > 0; --levels) {
      value = Field(5, Field(1, value));
    }
  };
  nest(40);
  EXPECT_TRUE(OtlpJson(WithValue(value)).ok());
  nest(10'000);
  EXPECT_TRUE(absl::IsDataLoss(OtlpJson(WithValue(value)).status()));
}

}  // namespace
}  // namespace stackray
