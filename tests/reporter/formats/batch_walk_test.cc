// A batch read where it lies says what DecodeBatch() says.
#include "reporter/formats/batch_walk.h"

#include <gtest/gtest.h>

#include <random>

#include "reporter/formats/resource_keys.h"
#include "tests/reporter/batch_damages.h"
#include "tests/reporter/batch_events.h"
#include "tests/reporter/decoded_batch.h"
#include "tests/reporter/golden_batch.h"

namespace stackray {
namespace {

using opentelemetry::proto::profiles::v1development::ProfilesData;

std::string EventBytes(uint32_t seed, bool timestamps) {
  return std::move(BatchEvents(seed, timestamps).Replay(0, 3000)).Seal(0, 1)->bytes;
}

void ExpectSameFrames(const BatchWalk& walk, const DecodedBatch& batch) {
  ASSERT_EQ(walk.frames(), batch.frames.size());
  WalkedFrame frame;  // One frame for all, as callers use it.
  for (uint32_t i = 0; i < walk.frames(); ++i) {
    walk.ReadFrame(i, &frame);
    const DecodedFrame& other = batch.frames[i];
    ASSERT_EQ(frame.type, other.type);
    ASSERT_EQ(frame.mapping_path, other.mapping_path);
    ASSERT_EQ(frame.address, other.address);
    ASSERT_EQ(frame.build_id, other.build_id);
    ASSERT_EQ(frame.function_start, other.function_start);
    ASSERT_EQ(frame.marker, other.marker);
    ASSERT_EQ(frame.marker_reason, other.marker_reason);
    ASSERT_EQ(frame.lines.size(), other.lines.size());
    for (size_t k = 0; k < frame.lines.size(); ++k) {
      ASSERT_EQ(frame.lines[k].function, other.lines[k].function);
      ASSERT_EQ(frame.lines[k].system_name, other.lines[k].system_name);
      ASSERT_EQ(frame.lines[k].file, other.lines[k].file);
      ASSERT_EQ(frame.lines[k].line, other.lines[k].line);
    }
  }
}

void ExpectSame(const BatchWalk& walk, const DecodedBatch& batch) {
  EXPECT_EQ(walk.start_unix_ns(), batch.start_unix_ns);
  EXPECT_EQ(walk.end_unix_ns() - walk.start_unix_ns(), batch.duration_ns);
  EXPECT_EQ(walk.samples(), batch.samples.size());
  ExpectSameFrames(walk, batch);
  size_t resources = 0, samples = 0;
  double period_ns = 0;
  std::vector<uint32_t> stack;
  walk.Visit(
      [&](const WalkedResource& resource) {
        ASSERT_LT(resources, batch.resources.size());
        const DecodedResource& other = batch.resources[resources++];
        EXPECT_EQ(resource.command, FindAttribute(other, kProcessCommand));
        EXPECT_EQ(resource.host_name, FindAttribute(other, kHostName));
        EXPECT_EQ(resource.creation_time, FindAttribute(other, kProcessCreationTime));
        const std::string_view pid = FindAttribute(other, kProcessPid);
        EXPECT_EQ(std::to_string(resource.pid), pid.empty() ? "0" : pid);
      },
      [&](const WalkedProfile& profile) {
        if (period_ns == 0 && profile.period_type == "cpu")
          period_ns = static_cast<double>(profile.period);
      },
      [&](const WalkedSample& sample) {
        ASSERT_LT(samples, batch.samples.size());
        const DecodedSample& other = batch.samples[samples++];
        ASSERT_EQ(static_cast<int32_t>(resources) - 1, other.resource);
        ASSERT_EQ(sample.total, other.count);
        ASSERT_EQ(sample.cpu, other.cpu);
        ASSERT_EQ(sample.tid, other.tid);
        ASSERT_EQ(sample.thread_name, other.thread_name);
        ASSERT_EQ(sample.timestamps_unix_ns, other.timestamps_unix_ns);
        walk.ReadStack(sample.stack, &stack);
        ASSERT_EQ(std::vector<int32_t>(stack.begin(), stack.end()), other.frames);
      });
  EXPECT_EQ(period_ns, batch.period_ns);
  EXPECT_EQ(resources, batch.resources.size());
  EXPECT_EQ(samples, batch.samples.size());
}

TEST(BatchWalk, SaysWhatTheDecodedBatchSays) {
  std::vector<std::string> batches = {GoldenBatch(), ""};
  for (const uint32_t seed : {1u, 2u, 3u}) {
    batches.push_back(EventBytes(seed, false));
    batches.push_back(EventBytes(seed, true));
  }
  for (const std::string& bytes : batches) {
    const absl::StatusOr<BatchWalk> walk = BatchWalk::Open(bytes);
    ASSERT_TRUE(walk.ok()) << walk.status();
    ExpectSame(*walk, *DecodeBatch(bytes));
  }
}

TEST(BatchWalk, AnIndexOutsideItsTableIsDataLoss) {
  int damages = 0;
  for (const Damage& damage : BatchDamages()) {
    ProfilesData data;
    ASSERT_TRUE(data.ParseFromString(GoldenBatch()));
    damage.apply(data);
    const std::string bytes = data.SerializeAsString();  // The walk points into it.
    const absl::StatusOr<BatchWalk> walk = BatchWalk::Open(bytes);
    const absl::StatusOr<DecodedBatch> batch = DecodeBatch(bytes);
    if (!batch.ok()) {
      EXPECT_TRUE(absl::IsDataLoss(walk.status())) << damage.name;
      ++damages;
    } else if (walk.ok()) {
      ExpectSame(*walk, *batch);
    }
  }
  EXPECT_GE(damages, 8);
}

// Whatever the bytes are: an error, or a batch whose every part can be read.
TEST(BatchWalk, DamagedBytesAreReadSafely) {
  const std::string whole = EventBytes(4, true).substr(0, 60'000);
  std::mt19937 random(7);
  int opened = 0;
  for (int i = 0; i < 400; ++i) {
    std::string bytes = i % 2 == 0 ? EventBytes(4, true) : whole.substr(0, random() % whole.size());
    for (int k = 0; k < 1 + i % 5; ++k)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    const absl::StatusOr<BatchWalk> walk = BatchWalk::Open(bytes);
    if (!walk.ok()) continue;
    ++opened;
    WalkedFrame frame;
    for (uint32_t f = 0; f < walk->frames(); ++f) walk->ReadFrame(f, &frame);
    std::vector<uint32_t> stack;
    walk->Visit([](const WalkedResource&) {}, [](const WalkedProfile&) {},
                [&](const WalkedSample& sample) {
                  walk->ReadStack(sample.stack, &stack);
                  for (const uint32_t index : stack) ASSERT_LT(index, walk->frames());
                });
  }
  EXPECT_GT(opened, 10) << "or nothing was shown";
}

}  // namespace
}  // namespace stackray
