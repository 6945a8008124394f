// The open batch: what it writes, the size it promises, and what a rollback restores.
#include "reporter/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reporter/check.h"
#include "reporter/proto/profiles.pb.h"
#include "tests/reporter/batch_events.h"
#include "tests/reporter/decoded_batch.h"

namespace stackray {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kStart = 1'700'000'000'000'000'000;
constexpr int64_t kEnd = kStart + 1'000'000'000;

const ProcessId kProcess{.pid = 42, .exec_id = 1, .start_time_ns = 7};

FrameSymbols Python(const char* function, int64_t line = 0) {
  return {FrameType::kPython, 0, 0, {{.function = function, .line = line}}};
}
FrameSymbols Lost() {
  FrameSymbols symbols{.type = FrameType::kMarker, .marker = {MarkerKind::kLost, "ring full"}};
  symbols.lines.push_back({.function = "[lost: ring full]"});
  return symbols;
}
FrameKey Key(uint64_t word, FrameType type = FrameType::kPython) {
  return FrameKey::Make(type, 1, word);
}

DecodedBatch SealAndDecode(BatchBuilder batch) {
  const SealedBatchPtr sealed = std::move(batch).Seal(kStart, kEnd);
  if (sealed == nullptr) {
    ADD_FAILURE() << "empty batch";
    return {};
  }
  absl::StatusOr<DecodedBatch> decoded = DecodeBatch(sealed->bytes);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  return decoded.ok() ? *std::move(decoded) : DecodedBatch{};
}

void AddOne(BatchBuilder* batch, std::vector<int32_t> frames, int64_t count = 1,
            int64_t time = kStart) {
  if (batch->NeedsProcess(kProcess)) batch->DefineProcess(kProcess, {.pid = 42, .command = "cmd"});
  batch->AddSample({.process = kProcess,
                    .frames = frames,
                    .time_unix_ns = time,
                    .count = count,
                    .tid = 43,
                    .thread_name = "worker"});
}

TEST(BatchBuilder, AsksOncePerFrameAndAgainInTheNextBatch) {
  for (int round = 0; round < 2; ++round) {
    BatchBuilder batch({});
    EXPECT_EQ(batch.FindFrame(Key(1)), BatchBuilder::kNeeded);
    const int32_t location = batch.DefineFrame(Key(1), Python("main"));
    EXPECT_GT(location, 0);
    EXPECT_EQ(batch.FindFrame(Key(1)), location);
    EXPECT_TRUE(batch.NeedsMapping(5));
    batch.DefineMapping(5, {});
    EXPECT_FALSE(batch.NeedsMapping(5));
    EXPECT_TRUE(batch.NeedsProcess(kProcess));
    batch.DefineProcess(kProcess, {});
    EXPECT_FALSE(batch.NeedsProcess(kProcess));
  }
}

TEST(BatchBuilder, WithoutSamplesThereIsNoBatch) {
  BatchBuilder batch({});
  batch.DefineProcess(kProcess, {.pid = 42});
  EXPECT_EQ(std::move(batch).Seal(kStart, kEnd), nullptr);
}

TEST(BatchBuilder, ManyKeysOfOneContentShareALocation) {
  BatchBuilder batch({});
  const int32_t first = batch.DefineFrame(Key(1), Python("main", 3));
  EXPECT_EQ(batch.DefineFrame(Key(2), Python("main", 3)), first);
  EXPECT_NE(batch.DefineFrame(Key(3), Python("main", 4)), first);
  EXPECT_EQ(batch.DefineFrame(Key(1), Python("another")), first) << "the first definition stays";
}

TEST(BatchBuilder, AddsUpSamplesOfOneIdentityOnly) {
  BatchBuilder batch({});
  const int32_t a = batch.DefineFrame(Key(1), Python("a"));
  const int32_t b = batch.DefineFrame(Key(2), Python("b"));
  AddOne(&batch, {a, b});
  AddOne(&batch, {b, a});
  AddOne(&batch, {a, b}, 5);
  EXPECT_EQ(batch.samples(), 7u);
  const DecodedBatch decoded = SealAndDecode(std::move(batch));
  ASSERT_EQ(decoded.samples.size(), 2u);
  EXPECT_EQ(decoded.samples[0].count, 6);
  EXPECT_THAT(decoded.samples[0].frames, ElementsAre(a, b));
  EXPECT_EQ(decoded.samples[1].count, 1);
  EXPECT_EQ(decoded.samples[0].tid, 43);
  EXPECT_EQ(decoded.samples[0].thread_name, "worker");
  EXPECT_EQ(decoded.period_ns, 5e7);
  EXPECT_EQ(decoded.resources.at(0).Find("process.command"), "cmd");
}

TEST(BatchBuilder, KeepsTimestampsSortedAndCountsApart) {
  BatchBuilder batch({.keep_timestamps = true});
  const int32_t frame = batch.DefineFrame(Key(1), Python("a"));
  const int32_t marker = batch.DefineFrame(Key(0, FrameType::kMarker), Lost());
  AddOne(&batch, {frame}, 1, kStart + 20);
  AddOne(&batch, {frame}, 1, kEnd + 10);
  AddOne(&batch, {frame}, 1, kStart - 5);
  AddOne(&batch, {marker}, 1'000'000);
  const SealedBatchPtr sealed = std::move(batch).Seal(kStart, kEnd);
  EXPECT_EQ(sealed->samples, 1'000'003u);
  EXPECT_EQ(sealed->lost_samples, 1'000'000u);
  EXPECT_EQ(sealed->start_unix_ns, kStart - 5) << "widened to the earliest sample";
  EXPECT_EQ(sealed->start_unix_ns + sealed->duration_ns, kEnd + 11) << "past the latest";
  const DecodedBatch decoded = DecodeBatch(sealed->bytes).value();
  ASSERT_EQ(decoded.samples.size(), 2u);
  EXPECT_THAT(decoded.samples[0].timestamps_unix_ns,
              ElementsAre(kStart - 5, kStart + 20, kEnd + 10));
  EXPECT_EQ(decoded.samples[1].count, 1'000'000);
  EXPECT_THAT(decoded.samples[1].timestamps_unix_ns, IsEmpty());
}

// Who reads the batch by its attribute and who reads it by its text learn one thing.
TEST(BatchBuilder, AMarkerIsItsTextAndOneAttributeMore) {
  const auto sealed = [](bool marked) {
    BatchBuilder batch({});
    FrameSymbols lost = Lost(), cut{.type = FrameType::kMarker};
    cut.lines.push_back({.function = "[truncated: too deep]"});
    cut.marker = {MarkerKind::kTruncated, "too deep"};
    if (!marked) lost.marker = cut.marker = {};
    AddOne(&batch, {batch.DefineFrame(Key(0, FrameType::kMarker), lost)}, 7);
    AddOne(&batch, {batch.DefineFrame(Key(2), Python("main")),
                    batch.DefineFrame(Key(1, FrameType::kMarker), cut)});
    return std::move(batch).Seal(kStart, kEnd);
  };
  const SealedBatchPtr with = sealed(true), without = sealed(false);
  EXPECT_EQ(with->lost_samples, 7u);
  EXPECT_THAT(CheckBatch(with->bytes), IsEmpty());
  const DecodedBatch a = DecodeBatch(with->bytes).value(), b = DecodeBatch(without->bytes).value();
  ASSERT_EQ(a.frames.size(), b.frames.size());
  for (size_t i = 0; i < a.frames.size(); ++i) {
    EXPECT_EQ(a.frames[i].marker, b.frames[i].marker);
    EXPECT_EQ(a.frames[i].type, b.frames[i].type);
    EXPECT_EQ(a.frames[i].lines.size(), b.frames[i].lines.size());
  }
  EXPECT_EQ(a.frames[1].marker, MarkerKind::kLost);
  EXPECT_EQ(a.frames[1].marker_reason, "ring full");
  EXPECT_EQ(a.frames[3].marker, MarkerKind::kTruncated);
  EXPECT_EQ(a.frames[3].marker_reason, "too deep");
  EXPECT_EQ(b.frames[3].marker_reason, "") << "a text has no reason";
  for (size_t i = 0; i < a.samples.size(); ++i) EXPECT_EQ(a.samples[i].frames, b.samples[i].frames);
  opentelemetry::proto::profiles::v1development::ProfilesData data;
  ASSERT_TRUE(data.ParseFromString(with->bytes));
  EXPECT_EQ(data.dictionary().attribute_table(2).value().string_value(), "lost/ring full");
}

TEST(BatchBuilder, AFrameOutsideItsMappingLosesItAndKeepsAName) {
  BatchBuilder batch({});
  batch.DefineMapping(1, {.start = 0x1000,
                          .limit = 0x2000,
                          .path = "/usr/bin/a",
                          .gnu_build_id = "aa",
                          .htlhash = "bb"});
  batch.DefineMapping(2, {.start = 0x1000, .limit = 0x2000, .path = "/no/id"});
  const auto native = [](uint64_t mapping, uint64_t address) {
    return FrameSymbols{FrameType::kNative, mapping, address, {}};
  };
  std::vector<int32_t> frames;
  for (const FrameSymbols& symbols :
       {native(1, 0x1fff), native(1, 0x2000), native(2, 0x1500), native(9, 0x10)})
    frames.push_back(batch.DefineFrame(Key(frames.size(), FrameType::kNative), symbols));
  AddOne(&batch, frames);
  const DecodedBatch decoded = SealAndDecode(std::move(batch));
  ASSERT_EQ(decoded.frames.size(), 5u);
  EXPECT_EQ(decoded.frames[1].mapping_path, "/usr/bin/a");
  EXPECT_EQ(decoded.frames[1].build_id, "aa");
  EXPECT_EQ(decoded.frames[1].address, 0x1fffu);
  EXPECT_THAT(decoded.frames[1].lines, IsEmpty());
  EXPECT_EQ(decoded.frames[2].lines.at(0).function, "[a+0x2000]");
  EXPECT_EQ(decoded.frames[3].lines.at(0).function, "[id+0x1500]");
  EXPECT_EQ(decoded.frames[4].lines.at(0).function, "[unknown+0x10]");
  for (const int i : {2, 3, 4}) {
    EXPECT_EQ(decoded.frames[i].mapping_path, "");
    EXPECT_EQ(decoded.frames[i].address, 0u);
  }
}

TEST(BatchBuilder, WritesTheResourceOfAProcess) {
  BatchBuilder batch({.host_name = "host-a", .os_version = "6.18"});
  batch.DefineProcess(kProcess, {.pid = 42,
                                 .command = "bad\xff",
                                 .executable_path = "/opt/x/run",
                                 .creation_time_unix_ns = 1'700'563'894'853'000'000,
                                 .cgroup_path = "/system.slice",
                                 .service_name = "shop",
                                 .extra = {{"service.version", "2"}, {"host.name", "forged"}}});
  AddOne(&batch, {batch.DefineFrame(Key(1), Python("a"))});
  const DecodedBatch decoded = SealAndDecode(std::move(batch));
  using Pair = std::pair<std::string, std::string>;
  EXPECT_THAT(
      decoded.resources.at(0).attributes,
      ElementsAre(Pair("process.pid", "42"), Pair("process.command", "bad\xEF\xBF\xBD"),
                  Pair("process.executable.path", "/opt/x/run"),
                  Pair("process.executable.name", "run"),
                  Pair("process.creation.time", "2023-11-21T10:51:34.853Z"),
                  Pair("process.linux.cgroup", "/system.slice"), Pair("service.name", "shop"),
                  Pair("host.name", "host-a"), Pair("os.type", "linux"), Pair("os.version", "6.18"),
                  Pair("service.version", "2")));
}

TEST(BatchBuilder, LeavesOutWhatItIsToldAndJoinsWhatIsAlikeThen) {
  BatchBuilder batch({.left_out = {"process.pid", "thread.id", "service.version"}});
  const int32_t frame = batch.DefineFrame(Key(1), Python("a"));
  const std::vector<int32_t> frames = {frame};
  for (const uint32_t pid : {1u, 2u, 3u}) {
    const ProcessId id{.pid = pid, .exec_id = 1, .start_time_ns = 7};
    EXPECT_TRUE(batch.NeedsProcess(id));
    batch.DefineProcess(id, {.pid = pid,
                             .command = pid == 3 ? "other" : "same",
                             .extra = {{"service.version", std::to_string(pid)}}});
    EXPECT_FALSE(batch.NeedsProcess(id));
    batch.AddSample({.process = id,
                     .frames = frames,
                     .time_unix_ns = kStart,
                     .count = 1,
                     .tid = 10 + pid,
                     .thread_name = "worker"});
  }
  const DecodedBatch decoded = SealAndDecode(std::move(batch));
  ASSERT_EQ(decoded.resources.size(), 2u);
  EXPECT_EQ(decoded.resources[0].Find("process.command"), "same");
  EXPECT_EQ(decoded.resources[0].Find("process.pid"), "");
  EXPECT_EQ(decoded.resources[0].Find("service.version"), "");
  ASSERT_EQ(decoded.samples.size(), 2u);
  EXPECT_EQ(decoded.samples[0].count, 2);
  EXPECT_EQ(decoded.samples[0].tid, 0);
  EXPECT_EQ(decoded.samples[0].thread_name, "worker");
}

TEST(BatchBuilder, NamesTheUnnamedOnlyWhereThatIsWanted) {
  for (const bool wanted : {false, true}) {
    BatchBuilder batch({.name_unnamed = wanted});
    batch.DefineMapping(
        7, {.start = 0x1000, .limit = 0x9000, .path = "/usr/bin/redis-check-rdb", .htlhash = "00"});
    const FrameKey key = FrameKey::Make(FrameType::kNative, 7, 0x1234);
    const FrameKey late = FrameKey::Make(FrameType::kNative, 7, 0x5678);
    const FrameKey begun = FrameKey::Make(FrameType::kNative, 7, 0x3456);
    const FrameKey named = FrameKey::Make(FrameType::kNative, 7, 0x2000);
    const std::vector<int32_t> frames = {
        batch.DefineFrame(key, {FrameType::kNative, 7, 0x1234, {}}),
        batch.DeferFrame(late, {FrameType::kNative, 7, 0x5678, {}}),
        batch.DefineFrame(named, {FrameType::kNative, 7, 0x2000, {{.function = "main"}}}),
        batch.DefineFrame(begun, {FrameType::kNative, 7, 0x3456, {}, 0x3400})};
    batch.CompleteFrame(frames[1], {}, 1 << 20);
    AddOne(&batch, frames);
    const DecodedBatch decoded = SealAndDecode(std::move(batch));
    const std::vector<int32_t>& stack = decoded.samples.at(0).frames;
    const auto name = [&](size_t i) {
      const auto& lines = decoded.frames.at(static_cast<size_t>(stack.at(i))).lines;
      return lines.empty() ? std::string() : lines[0].function;
    };
    EXPECT_EQ(name(0), wanted ? "redis-check-rdb+0x1234" : "");
    EXPECT_EQ(name(1), wanted ? "redis-check-rdb+0x5678" : "");
    EXPECT_EQ(name(2), "main");
    EXPECT_EQ(name(3), wanted ? "redis-check-rdb·fn_3400" : "");
    EXPECT_EQ(decoded.frames.at(static_cast<size_t>(stack[0])).address, 0x1234u);
  }
}

TEST(BatchBuilder, ARollbackTakesAJoinedProcessBack) {
  const ProcessId one{.pid = 1}, two{.pid = 2};
  BatchBuilder batch({.left_out = {"process.pid"}});
  const std::vector<int32_t> frames = {batch.DefineFrame(Key(1), Python("a"))};
  const auto add = [&](const ProcessId& id) {
    batch.DefineProcess(id, {.pid = id.pid, .command = "same"});
    batch.AddSample({.process = id, .frames = frames, .time_unix_ns = kStart, .count = 1});
  };
  add(one);
  batch.Mark();
  const size_t bytes = batch.encoded_bytes();
  add(two);
  batch.Rollback();
  EXPECT_EQ(batch.encoded_bytes(), bytes);
  EXPECT_FALSE(batch.NeedsProcess(one));
  EXPECT_TRUE(batch.NeedsProcess(two));
  add(two);
  EXPECT_EQ(SealAndDecode(std::move(batch)).samples.at(0).count, 2);
}

class EventReplay : public testing::TestWithParam<bool> {};

// A batch ends with its seal, so each length that is sealed is built again from the same events.
TEST_P(EventReplay, SizeIsExactAfterEachOf10000Events) {
  const BatchEvents events(1, GetParam());
  constexpr int kLives = 1000, kEvents = 10;
  for (int life = 0; life < kLives; ++life) {
    for (int length = 1; length <= kEvents; ++length) {
      BatchBuilder batch = events.Replay(life * kEvents, length);
      const size_t promised = batch.encoded_bytes();
      const int64_t duration = int64_t{1}
                               << (life % 62);  // Any duration, any length of its varint.
      ASSERT_EQ(std::move(batch).Seal(kStart, kStart + duration)->bytes.size(), promised)
          << "life " << life << " length " << length;
    }
  }
}

TEST_P(EventReplay, SizeIsExactForLongLives) {
  for (const uint32_t seed : {2u, 3u}) {
    const BatchEvents events(seed, GetParam());
    for (const int length : {127, 128, 129, 400, 2500, 6000}) {
      BatchBuilder batch = events.Replay(0, length);
      const size_t promised = batch.encoded_bytes();
      EXPECT_EQ(std::move(batch).Seal(kStart, kEnd)->bytes.size(), promised) << length;
    }
  }
}

TEST_P(EventReplay, EventsInOrderGiveEqualBytes) {
  BatchEvents events(7, GetParam());
  EXPECT_EQ(events.Replay(0, 3000).Seal(kStart, kEnd)->bytes,
            events.Replay(0, 3000).Seal(kStart, kEnd)->bytes);
}

// One batch lives through 12,000 samples of which a third is taken back; its twin never sees those.
TEST_P(EventReplay, RollbackRestoresTheExactState) {
  BatchEvents events(11, GetParam());
  BatchBuilder batch = events.NewBatch(), twin = events.NewBatch();
  int taken_back = 0;
  for (int i = 0; i < 12'000; ++i) {
    batch.Mark();
    const size_t before = batch.encoded_bytes();
    events.Add(i, &batch);
    if (i % 3 == 1) {
      if (i % 2 == 0) events.Add(i + 50'000, &batch);
      batch.Rollback();
      ++taken_back;
      ASSERT_EQ(batch.encoded_bytes(), before);
      continue;
    }
    events.Add(i, &twin);
    ASSERT_EQ(batch.encoded_bytes(), twin.encoded_bytes()) << "event " << i;
    ASSERT_EQ(batch.samples(), twin.samples());
  }
  EXPECT_EQ(taken_back, 4000);
  const size_t promised = batch.encoded_bytes();
  const SealedBatchPtr sealed = std::move(batch).Seal(kStart, kEnd);
  EXPECT_EQ(sealed->bytes.size(), promised);
  const SealedBatchPtr expected = std::move(twin).Seal(kStart, kEnd);
  EXPECT_EQ(sealed->bytes, expected->bytes);
  EXPECT_EQ(sealed->lost_samples, expected->lost_samples);
  EXPECT_GT(sealed->lost_samples, 0u);
  EXPECT_EQ(sealed->start_unix_ns, expected->start_unix_ns);
}

INSTANTIATE_TEST_SUITE_P(Modes, EventReplay, testing::Bool(),
                         [](const auto& mode) { return mode.param ? "timestamps" : "counts"; });

}  // namespace
}  // namespace stackray
