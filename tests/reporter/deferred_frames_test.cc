// Frames whose lines come later: what the batch holds whether they come, do not come or do not fit.
#include "reporter/deferred_frames.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "reporter/batch.h"
#include "reporter/check.h"
#include "tests/reporter/decoded_batch.h"

namespace stackray {
namespace {

constexpr int64_t kStart = 1'700'000'000'000'000'000;
constexpr int64_t kEnd = kStart + 1'000'000'000;
constexpr size_t kNoLimit = 1 << 30;
constexpr MappingKey kMapping = 7;
const ProcessId kProcess{.pid = 42, .exec_id = 1, .start_time_ns = 7};

FrameKey Key(uint64_t address) { return FrameKey::Make(FrameType::kNative, 1, address); }

FrameSymbols Symbols(uint64_t address, const std::string& function) {
  FrameSymbols symbols{.type = FrameType::kNative, .mapping = kMapping, .address = address};
  if (!function.empty()) symbols.lines.push_back({.function = function});
  return symbols;
}

std::vector<SourceLine> Inlined(const std::string& outer) {
  return {{.function = "inner", .file = "/src/inner.h", .line = 3, .column = 5},
          {.function = outer, .file = "/src/outer.cc", .line = 70}};
}

void Prepare(BatchBuilder& batch) {
  batch.DefineMapping(
      kMapping,
      {.start = 0x1000, .limit = 0x9000, .path = "/bin/a", .htlhash = std::string(32, '1')});
  batch.DefineProcess(kProcess, {.pid = 42, .command = "cmd"});
}

void AddOne(BatchBuilder& batch, std::vector<int32_t> frames) {
  batch.AddSample({.process = kProcess, .frames = frames, .time_unix_ns = kStart});
}

std::string Violations(const std::string& bytes) {
  std::string text;
  for (const RuleViolation& violation : CheckBatch(bytes))
    text += std::string(BatchRuleId(violation.rule)) + " " + violation.where + "\n";
  return text;
}

// Sealed, valid by every rule, as long as was promised.
DecodedBatch SealAndCheck(BatchBuilder batch) {
  const SealedBatchPtr sealed = std::move(batch).Seal(kStart, kEnd);
  EXPECT_NE(sealed, nullptr);
  if (sealed == nullptr) return {};
  EXPECT_EQ(Violations(sealed->bytes), "");
  absl::StatusOr<DecodedBatch> decoded = DecodeBatch(sealed->bytes);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  return decoded.ok() ? *std::move(decoded) : DecodedBatch{};
}

// The start of its function holds the addresses of one function together that has no name.
TEST(DeferredFrames, OneWithoutLinesSaysWhereItsFunctionBegins) {
  for (const bool is_named_late : {false, true}) {
    BatchBuilder batch({});
    Prepare(batch);
    FrameSymbols symbols = Symbols(0x1234, "");
    symbols.function_start = 0x1200;
    const int32_t frame = batch.DeferFrame(Key(0x1234), symbols);
    AddOne(batch, {frame});
    const size_t reserved = batch.encoded_bytes();
    batch.CompleteFrame(frame, is_named_late ? Inlined("outer") : std::vector<SourceLine>(),
                        kNoLimit);
    const size_t promised = batch.encoded_bytes();
    EXPECT_TRUE(is_named_late || promised <= reserved);
    const SealedBatchPtr sealed = std::move(batch).Seal(kStart, kEnd);
    ASSERT_NE(sealed, nullptr);
    EXPECT_EQ(sealed->bytes.size(), promised);
    EXPECT_EQ(Violations(sealed->bytes), "");
    const DecodedFrame decoded = DecodeBatch(sealed->bytes).value().frames.at(frame);
    EXPECT_EQ(decoded.function_start.has_value(), !is_named_late);
    if (!is_named_late) EXPECT_EQ(*decoded.function_start, 0x1200u);
  }
}

TEST(DeferredFrames, TheStartOfAFunctionComesWithoutAnAnswerToo) {
  BatchBuilder batch({});
  Prepare(batch);
  FrameSymbols symbols = Symbols(0x1234, "");
  symbols.function_start = 0x1200;
  const int32_t late = batch.DeferFrame(Key(0x1234), symbols);
  symbols.address = 0x1238;
  const int32_t now = batch.DefineFrame(Key(0x1238), symbols);
  symbols.address = 0x123c;
  symbols.lines.push_back({.function = "named"});
  const int32_t named = batch.DefineFrame(Key(0x123c), symbols);
  AddOne(batch, {late, now, named});
  const DecodedBatch decoded = SealAndCheck(std::move(batch));
  EXPECT_EQ(decoded.frames.at(late).function_start, 0x1200u);
  EXPECT_EQ(decoded.frames.at(now).function_start, 0x1200u);
  EXPECT_EQ(decoded.frames.at(named).function_start, std::nullopt);
}

TEST(DeferredFrames, LinesThatCameAreInTheBatch) {
  BatchBuilder batch({});
  Prepare(batch);
  const int32_t frame = batch.DeferFrame(Key(0x1234), Symbols(0x1234, "outer"));
  AddOne(batch, {frame});
  EXPECT_TRUE(batch.AwaitsLines(frame));
  EXPECT_EQ(batch.FindFrame(Key(0x1234)), frame);
  EXPECT_TRUE(batch.CompleteFrame(frame, Inlined("outer"), kNoLimit));
  EXPECT_FALSE(batch.AwaitsLines(frame));
  EXPECT_TRUE(batch.CompleteFrame(frame, {}, kNoLimit)) << "the first answer counts";
  const size_t promised = batch.encoded_bytes();
  const SealedBatchPtr sealed = std::move(batch).Seal(kStart, kEnd);
  ASSERT_NE(sealed, nullptr);
  EXPECT_EQ(sealed->bytes.size(), promised);
  const absl::StatusOr<DecodedBatch> decoded = DecodeBatch(sealed->bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  const std::vector<DecodedLine>& lines = decoded->frames[static_cast<size_t>(frame)].lines;
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].function, "inner");
  EXPECT_EQ(lines[0].file, "/src/inner.h");
  EXPECT_EQ(lines[1].function, "outer");
  EXPECT_EQ(lines[1].line, 70);
  EXPECT_EQ(Violations(sealed->bytes), "");
}

TEST(DeferredFrames, LinesThatDidNotComeLeaveTheFunction) {
  BatchBuilder late({}), plain({});
  for (BatchBuilder* batch : {&late, &plain}) Prepare(*batch);
  AddOne(late, {late.DeferFrame(Key(0x1234), Symbols(0x1234, "outer")),
                late.DeferFrame(Key(0x1240), Symbols(0x1240, ""))});
  AddOne(plain, {plain.DefineFrame(Key(0x1234), Symbols(0x1234, "outer")),
                 plain.DefineFrame(Key(0x1240), Symbols(0x1240, ""))});
  EXPECT_GE(late.encoded_bytes(), plain.encoded_bytes()) << "room for its lines is reserved";
  const size_t promised = plain.encoded_bytes();
  const SealedBatchPtr a = std::move(late).Seal(kStart, kEnd),
                       b = std::move(plain).Seal(kStart, kEnd);
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_EQ(a->bytes.size(), promised);
  EXPECT_EQ(Violations(a->bytes), "");
  EXPECT_EQ(a->bytes.size(), b->bytes.size());
}

TEST(DeferredFrames, OnePlaceIsOneLocationWhoeverAsks) {
  BatchBuilder batch({});
  Prepare(batch);
  const int32_t first = batch.DeferFrame(Key(0x1234), Symbols(0x1234, "outer"));
  const FrameKey other = FrameKey::Make(FrameType::kNative, 2, 0x1234);
  EXPECT_EQ(batch.DeferFrame(other, Symbols(0x1234, "outer")), first);
  batch.CompleteFrame(first, Inlined("outer"), kNoLimit);
  AddOne(batch, {first});
  SealAndCheck(std::move(batch));
}

TEST(DeferredFrames, LinesThatDoNotFitAreLeftOut) {
  BatchBuilder batch({});
  Prepare(batch);
  const int32_t frame = batch.DeferFrame(Key(0x1234), Symbols(0x1234, "outer"));
  AddOne(batch, {frame});
  const size_t limit = batch.encoded_bytes();
  EXPECT_FALSE(batch.CompleteFrame(
      frame, {{.function = std::string(500, 'x')}, {.function = "outer"}}, limit));
  EXPECT_FALSE(batch.AwaitsLines(frame));
  EXPECT_LE(batch.encoded_bytes(), limit);
  SealAndCheck(std::move(batch));
}

TEST(DeferredFrames, AFrameWithoutAMappingIsDefinedAtOnce) {
  BatchBuilder batch({});
  batch.DefineProcess(kProcess, {.pid = 42, .command = "cmd"});
  const int32_t frame = batch.DeferFrame(Key(0x1234), {.address = 0x1234});
  EXPECT_FALSE(batch.AwaitsLines(frame));
  AddOne(batch, {frame});
  SealAndCheck(std::move(batch));
}

// Two batches get the same calls; one of them also samples that are taken back, in which older and
// newer frames get their lines. They have to end as the same bytes.
TEST(DeferredFrames, RollbackRestoresTheState) {
  std::mt19937 random(7);
  BatchBuilder plain({}), rolled({});
  Prepare(plain);
  Prepare(rolled);
  std::vector<int32_t> frames;
  for (uint64_t i = 0; i < 300; ++i) {
    const uint64_t address = 0x1000 + i * 8;
    const std::string name = "f" + std::to_string(i % 17);
    if (!frames.empty() && random() % 2 == 0) {
      rolled.Mark();
      const size_t before = rolled.encoded_bytes();
      const int32_t fresh = rolled.DeferFrame(Key(0x8000 + i), Symbols(0x8000 + i, "fresh"));
      rolled.CompleteFrame(fresh, Inlined("fresh"), kNoLimit);
      const int32_t waiting = rolled.DeferFrame(Key(0x8800 + i), Symbols(0x8800 + i, "waiting"));
      rolled.CompleteFrame(frames[random() % frames.size()], Inlined("elsewhere"), kNoLimit);
      AddOne(rolled, {fresh, waiting, frames.back()});
      rolled.Rollback();
      EXPECT_EQ(rolled.encoded_bytes(), before);
    }
    const bool complete = random() % 3 != 0;
    const size_t older = random() % (frames.size() + 1);
    for (BatchBuilder* batch : {&plain, &rolled}) {
      const int32_t frame = batch->DeferFrame(Key(address), Symbols(address, name));
      if (batch == &plain) frames.push_back(frame);
      EXPECT_EQ(frame, frames.back());
      AddOne(*batch, {frame});
      if (complete) batch->CompleteFrame(frames[older], Inlined(name), kNoLimit);
    }
    EXPECT_EQ(plain.encoded_bytes(), rolled.encoded_bytes());
  }
  const SealedBatchPtr a = std::move(plain).Seal(kStart, kEnd),
                       b = std::move(rolled).Seal(kStart, kEnd);
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_EQ(a->bytes, b->bytes);
  EXPECT_EQ(Violations(a->bytes), "");
}

}  // namespace
}  // namespace stackray
