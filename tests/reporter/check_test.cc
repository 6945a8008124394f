// Every rule of a valid batch, each with a batch that was damaged so that the check names it.
#include "reporter/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "reporter/proto/profiles.pb.h"
#include "tests/reporter/batch_damages.h"
#include "tests/reporter/batch_events.h"
#include "tests/reporter/decoded_batch.h"
#include "tests/reporter/golden_batch.h"

namespace stackray {
namespace {

using opentelemetry::proto::profiles::v1development::ProfilesData;
using testing::Contains;
using testing::IsEmpty;
using testing::SizeIs;

std::set<std::string> BrokenRules(std::string_view bytes) {
  std::set<std::string> ids;
  for (const RuleViolation& violation : CheckBatch(bytes)) {
    EXPECT_NE(violation.where, "");
    ids.insert(std::string(BatchRuleId(violation.rule)));
  }
  return ids;
}

class DamagedBatch : public testing::TestWithParam<Damage> {};

TEST_P(DamagedBatch, IsNamedByItsRule) {
  ProfilesData data;
  ASSERT_TRUE(data.ParseFromString(GoldenBatch()));
  GetParam().apply(data);
  EXPECT_EQ(BrokenRules(data.SerializeAsString()), GetParam().rules);
}

INSTANTIATE_TEST_SUITE_P(Rules, DamagedBatch, testing::ValuesIn(BatchDamages()),
                         [](const auto& damage) { return damage.param.name; });

TEST(CheckBatch, BytesThatAreNoMessageBreakTheWireRule) {
  EXPECT_EQ(BrokenRules("\xff\xff\xff"), std::set<std::string>{"wire"});
  EXPECT_EQ(BrokenRules(GoldenBatch().substr(0, 300)), std::set<std::string>{"wire"});
}

TEST(CheckBatch, BrokenUtf8IsNamedWithItsFieldAndTheRestIsStillChecked) {
  for (const std::string text : {"svc", "main", "/bin/a", "native"}) {
    std::string bytes = GoldenBatch();
    bytes[bytes.find(text) + 1] = '\xff';
    EXPECT_THAT(BrokenRules(bytes), Contains("utf8")) << text;
    EXPECT_THAT(BrokenRules(bytes), testing::Not(Contains("wire"))) << text;
  }
}

// What is wrong with types and shapes in the golden batch when its profile is of another type,
// whose samples have so many values and timestamps. Strings that nobody refers to any more are
// another rule's.
std::set<std::string> WrongWithType(const char* type, const char* unit, bool has_period, int values,
                                    int times) {
  ProfilesData data;
  EXPECT_TRUE(data.ParseFromString(GoldenBatch()));
  auto* profile = data.mutable_resource_profiles(0)->mutable_scope_profiles(0)->mutable_profiles(0);
  auto* strings = data.mutable_dictionary()->mutable_string_table();
  *strings->Add() = type;
  *strings->Add() = unit;
  profile->mutable_sample_type()->set_type_strindex(strings->size() - 2);
  profile->mutable_sample_type()->set_unit_strindex(strings->size() - 1);
  if (!has_period) {
    profile->clear_period_type();
    profile->clear_period();
  }
  auto* sample = profile->mutable_samples(0);
  sample->clear_values();
  sample->clear_timestamps_unix_nano();
  for (int i = 0; i < values; ++i) sample->add_values(7);
  for (int i = 0; i < times; ++i) sample->add_timestamps_unix_nano(1000 + static_cast<uint64_t>(i));
  std::set<std::string> rules = BrokenRules(data.SerializeAsString());
  for (const char* other : {"orphan", "duplicate"}) rules.erase(other);
  return rules;
}

TEST(CheckBatch, EachTypeHasItsPeriodAndItsShape) {
  using Rules = std::set<std::string>;
  const Rules none, shape = {"sample-shape"}, period = {"period-type"};
  EXPECT_EQ(WrongWithType("off_cpu", "nanoseconds", false, 2, 2), none);
  EXPECT_EQ(WrongWithType("off_cpu", "nanoseconds", false, 0, 2), shape);
  EXPECT_EQ(WrongWithType("off_cpu", "nanoseconds", false, 1, 0), shape);
  EXPECT_EQ(WrongWithType("off_cpu", "nanoseconds", false, 1, 2), shape);
  EXPECT_EQ(WrongWithType("off_cpu", "nanoseconds", true, 2, 2), period);
  EXPECT_EQ(WrongWithType("page_faults", "count", true, 2, 2), none);
  EXPECT_EQ(WrongWithType("page_faults", "count", false, 2, 2), period);
  EXPECT_EQ(WrongWithType("samples", "count", true, 0, 2), none);
  EXPECT_EQ(WrongWithType("samples", "count", false, 0, 2), period);
  // Other writers' types.
  EXPECT_EQ(WrongWithType("alloc_space", "bytes", false, 1, 0), none);
  EXPECT_EQ(WrongWithType("alloc_space", "bytes", true, 0, 2), none);
  EXPECT_EQ(WrongWithType("alloc_space", "bytes", true, 1, 2), shape);
}

TEST(CheckBatch, EveryRuleHasADamageThatShowsIt) {
  std::set<std::string> shown = {"wire", "utf8"};
  for (const Damage& damage : BatchDamages())
    shown.insert(damage.rules.begin(), damage.rules.end());
  std::set<std::string> all;
  for (int rule = 0; rule < kBatchRules; ++rule) {
    all.insert(std::string(BatchRuleId(static_cast<BatchRule>(rule))));
    EXPECT_NE(BatchRuleSentence(static_cast<BatchRule>(rule)), "");
  }
  EXPECT_EQ(all, shown);
  EXPECT_THAT(all, SizeIs(kBatchRules));
}

// The largest that a sample may have.
TEST(CheckBatch, LabelsWithinTheirBoundsAreRight) {
  for (const auto& [labels, bytes] : {std::pair(1, 255), std::pair(32, 20), std::pair(32, 0)}) {
    ProfilesData data;
    ASSERT_TRUE(data.ParseFromString(GoldenBatch()));
    auto* tables = data.mutable_dictionary();
    auto* sample = data.mutable_resource_profiles(0)
                       ->mutable_scope_profiles(0)
                       ->mutable_profiles(0)
                       ->mutable_samples(0);
    for (int i = 0; i < labels; ++i) {
      tables->add_string_table("process.context.label.k" + std::to_string(i));
      auto* attribute = tables->add_attribute_table();
      attribute->set_key_strindex(tables->string_table_size() - 1);
      attribute->mutable_value()->set_string_value(std::string(static_cast<size_t>(bytes), 'v'));
      sample->add_attribute_indices(tables->attribute_table_size() - 1);
    }
    EXPECT_EQ(BrokenRules(data.SerializeAsString()), std::set<std::string>{});
  }
}

TEST(CheckBatch, ViolationsAreBounded) {
  ProfilesData data;
  ASSERT_TRUE(data.ParseFromString(GoldenBatch()));
  for (int i = 0; i < 1000; ++i) data.mutable_dictionary()->add_string_table("x");
  EXPECT_THAT(CheckBatch(data.SerializeAsString()), SizeIs(kMaxViolations));
}

// What the open batch writes is valid, whatever names and addresses it was given.
TEST(CheckBatch, RandomBatchesObeyEveryRule) {
  for (const bool timestamps : {false, true}) {
    for (const int length : {1, 2, 10, 100, 1000, 5000}) {
      const BatchEvents events(static_cast<uint32_t>(length), timestamps);
      const SealedBatchPtr sealed = events.Replay(0, length).Seal(1, 2);
      for (const RuleViolation& violation : CheckBatch(sealed->bytes))
        ADD_FAILURE() << BatchRuleId(violation.rule) << " " << violation.where;
    }
  }
}

// Neither reader may crash, hang or blow up on damaged bytes; run under the sanitizers too.
TEST(CheckBatch, DamagedBytesAreReadWithoutHarm) {
  std::mt19937 random(5);
  const std::string seeds[] = {GoldenBatch(), BatchEvents(4, true).Replay(0, 60).Seal(1, 2)->bytes};
  int decoded = 0, refused = 0;
  for (int i = 0; i < 8'000; ++i) {
    std::string bytes = seeds[i % 2];
    for (uint32_t hits = 1 + random() % 4; hits > 0; --hits)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 8 == 0) bytes.resize(random() % bytes.size());
    const bool ok = DecodeBatch(bytes).ok();
    ++(ok ? decoded : refused);
    if (i % 4 < 2) CheckBatch(bytes);
  }
  EXPECT_GT(decoded, 100);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace stackray
