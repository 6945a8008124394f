// Halves of batches: together they say what the whole one said, and each is a valid batch alone.
#include "reporter/export/split_batch.h"

#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "reporter/check.h"
#include "tests/reporter/batch_events.h"
#include "tests/reporter/export/sample_lines.h"

namespace stackray {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

Payload RandomBatch(uint32_t seed, bool keep_timestamps, int events) {
  return Payload::Of(BatchEvents(seed, keep_timestamps)
                         .Replay(0, events)
                         .Seal(1'700'000'000'000'000'000, 1'700'000'001'000'000'000));
}

std::vector<std::string> Lines(const Payload& batch) {
  absl::StatusOr<std::vector<std::string>> lines = SampleLines(std::string(batch.bytes));
  EXPECT_TRUE(lines.ok()) << lines.status();
  return lines.ok() ? *std::move(lines) : std::vector<std::string>();
}

void ExpectValid(const Payload& batch) {
  for (const RuleViolation& violation : CheckBatch(batch.bytes))
    ADD_FAILURE() << BatchRuleId(violation.rule) << ": " << violation.where;
}

class SplitBatchTest : public testing::TestWithParam<bool> {};

TEST_P(SplitBatchTest, TheHalvesSayWhatTheWholeSaid) {
  uint64_t markers = 0;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    const Payload whole = RandomBatch(seed, GetParam(), 400);
    const std::vector<Payload> halves = SplitBatch(whole);
    ASSERT_THAT(halves, SizeIs(2));
    std::vector<std::string> joined = Lines(halves[0]);
    const std::vector<std::string> second = Lines(halves[1]);
    EXPECT_LE(joined.size() > second.size() ? joined.size() - second.size()
                                            : second.size() - joined.size(),
              1u);
    joined.insert(joined.end(), second.begin(), second.end());
    EXPECT_EQ(joined, Lines(whole)) << "seed " << seed;
    EXPECT_EQ(halves[0].items + halves[1].items, whole.items);
    EXPECT_EQ(halves[0].markers + halves[1].markers, whole.markers);
    markers += whole.markers;
    for (const Payload& half : halves) {
      ExpectValid(half);
      EXPECT_LT(half.bytes.size(), whole.bytes.size());
      EXPECT_EQ(half.start_unix_ns, whole.start_unix_ns);
    }
  }
  EXPECT_GT(markers, 0u) << "no batch had a marker, so nothing was shown about them";
}

TEST_P(SplitBatchTest, DownToSingleSamples) {
  std::vector<Payload> open = {RandomBatch(7, GetParam(), 40)};
  const std::vector<std::string> expected = Lines(open.front());
  std::vector<std::string> single;
  while (!open.empty()) {
    const Payload batch = open.back();
    open.pop_back();
    ExpectValid(batch);
    const std::vector<Payload> halves = SplitBatch(batch);
    if (!halves.empty()) {
      open.push_back(halves[1]);
      open.push_back(halves[0]);
      continue;
    }
    const std::vector<std::string> lines = Lines(batch);
    ASSERT_THAT(lines, SizeIs(1));
    single.push_back(lines.front());
  }
  EXPECT_EQ(single, expected);
}

TEST_P(SplitBatchTest, PiecesByProfileSayWhatTheWholeSaid) {
  for (const size_t each : {1, 2, 7}) {
    const Payload whole = RandomBatch(9, GetParam(), 400);
    const size_t profiles = ProfilesIn(whole);
    ASSERT_GT(profiles, 20u);
    const std::vector<Payload> pieces = SplitByProfile(whole, each);
    // Of more than kMaxPieces times as many profiles each piece holds a multiple.
    const size_t step = each * ((profiles + each * kMaxPieces - 1) / (each * kMaxPieces));
    ASSERT_THAT(pieces, SizeIs((profiles + step - 1) / step));
    std::vector<std::string> joined;
    uint64_t samples = 0, markers = 0;
    for (const Payload& piece : pieces) {
      ExpectValid(piece);
      EXPECT_LE(ProfilesIn(piece), step);
      samples += piece.items;
      markers += piece.markers;
      for (const std::string& line : Lines(piece)) joined.push_back(line);
    }
    EXPECT_EQ(joined, Lines(whole));
    EXPECT_EQ(samples, whole.items);
    EXPECT_EQ(markers, whole.markers);
    EXPECT_THAT(SplitByProfile(pieces.front(), step), IsEmpty());
  }
}

TEST_P(SplitBatchTest, EqualInputGivesEqualOutput) {
  const Payload whole = RandomBatch(3, GetParam(), 300);
  const std::vector<Payload> once = SplitBatch(whole), again = SplitBatch(whole);
  ASSERT_THAT(once, SizeIs(2));
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(once[i].bytes, again[i].bytes);
}

TEST_P(SplitBatchTest, DamagedBytesGiveNothingOrReadableHalves) {
  const Payload whole = RandomBatch(5, GetParam(), 60);
  const google::protobuf::LogSilencer silence;  // It logs each one of them.
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 2'000; ++i) {
    std::string bytes(whole.bytes);
    for (int flips = 0; flips < 3; ++flips)
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    if (i % 10 == 0) bytes.resize(random() % bytes.size());
    const Payload damaged = Payload::Of(Signal::kProfiles, std::move(bytes), whole.items);
    const std::vector<Payload> halves = SplitBatch(damaged);
    refused += halves.empty();
    (void)ProfilesIn(damaged);
    for (const Payload& piece : SplitByProfile(damaged, 1))
      EXPECT_TRUE(SampleLines(std::string(piece.bytes)).ok());
    for (const Payload& half : halves) EXPECT_TRUE(SampleLines(std::string(half.bytes)).ok());
  }
  EXPECT_GT(refused, 100);
}

INSTANTIATE_TEST_SUITE_P(Shapes, SplitBatchTest, testing::Bool(), [](const auto& parameter) {
  return parameter.param ? "Timestamps" : "Counts";
});

}  // namespace
}  // namespace stackray
