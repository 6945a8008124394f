// Every rule of a valid batch, each with a batch that was damaged so that the check names it.
#include "reporter/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "reporter/decoded_batch.h"
#include "reporter/proto/profiles.pb.h"
#include "tests/reporter/batch_damages.h"
#include "tests/reporter/batch_events.h"
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
