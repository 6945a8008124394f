// Disks that are full or turn read-only, on a small file system of the test's own. It is mounted in
// a mount namespace of this process, so that nothing is left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>

#include "tests/reporter/export/test_batches.h"
#include "tests/reporter/spool/spool_fixture.h"

namespace stackray {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::chrono::seconds kLong{20};

class SpoolDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", scratch_.path().c_str(), "tmpfs", 0, "size=1m") != 0)
      GTEST_SKIP() << "cannot mount a tmpfs: " << std::strerror(errno);
    mounted_ = true;
  }
  void TearDown() override {
    queue_.reset();
    if (mounted_) umount2(scratch_.path().c_str(), MNT_DETACH);
  }
  void Remount(bool read_only) const {
    const unsigned long flags = MS_REMOUNT | (read_only ? MS_RDONLY : 0);
    ASSERT_EQ(mount("none", scratch_.path().c_str(), "tmpfs", flags, "size=1m"), 0)
        << std::strerror(errno);
  }
  void Start() {
    queue_ = ExportQueue::Start(std::make_unique<FakeTransport>(receiver_), {}, told_.Hooks(),
                                MustOpen(SpoolIn(scratch_.path())));
  }
  // 100,000 bytes each, of 7 samples.
  void Add(uint32_t first, uint32_t last) {
    for (uint32_t i = first; i <= last; ++i) queue_->Add(MakeBatch(NoiseBytes(100'000, i), 7));
  }
  void ExpectSent(const std::vector<uint32_t>& numbers) const {
    const std::vector<std::string> sent = receiver_->Sent();
    ASSERT_THAT(sent, SizeIs(numbers.size()));
    for (size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(sent[i], NoiseBytes(100'000, numbers[i]));
  }

  ScratchDirectory scratch_;
  bool mounted_ = false;
  std::shared_ptr<FakeReceiver> receiver_ = std::make_shared<FakeReceiver>();
  Told told_;
  std::unique_ptr<ExportQueue> queue_;
};

TEST_F(SpoolDisk, FullDiskFallsBackToMemoryAndRecovers) {
  receiver_->Hold();
  Start();
  Add(1, 20);
  DeliveryCounts counts = queue_->Counts();
  EXPECT_GE(counts.spooled_batches, 8u);  // Of a mebibyte.
  EXPECT_LE(counts.spooled_batches, 10u);
  EXPECT_EQ(counts.queued_batches, 20u);
  EXPECT_EQ(counts.spool_write_failures, 20 - counts.spooled_batches);
  EXPECT_THAT(counts.spool_failing_with, HasSubstr("No space left"));
  EXPECT_THAT(SpoolFiles(scratch_.path()), SizeIs(counts.spooled_batches));  // No half ones.
  EXPECT_TRUE(AddsUp(counts));
  receiver_->Release();
  ASSERT_TRUE(queue_->Flush(kLong));
  Add(21, 21);
  ASSERT_TRUE(queue_->Flush(kLong));
  counts = queue_->Counts();
  EXPECT_EQ(counts.delivered.items, 21u * 7);
  EXPECT_EQ(counts.spool_failing_with, "");
  EXPECT_TRUE(AddsUp(counts));
  std::vector<uint32_t> all;
  for (uint32_t i = 1; i <= 21; ++i) all.push_back(i);
  ExpectSent(all);
  queue_->Stop();
  EXPECT_THAT(told_.notes(), testing::ElementsAre(HasSubstr("No space left"), HasSubstr("again")));
}

TEST_F(SpoolDisk, WhatOnlyMemoryHoldsIsWrittenAtTheEndWhereThereIsRoom) {
  receiver_->Hold();
  Start();
  Add(1, 3);
  Remount(true);
  Add(4, 4);
  EXPECT_EQ(queue_->Counts().spooled.items, 21u);
  Remount(false);
  queue_->Stop();
  EXPECT_EQ(queue_->Counts().spooled.items, 28u);
  EXPECT_EQ(queue_->Counts().LostInAll(), ItemCount{});
  EXPECT_TRUE(AddsUp(queue_->Counts()));
}

TEST_F(SpoolDisk, ReadOnlyDiskLosesNothing) {
  receiver_->Hold();
  Start();
  Add(1, 2);
  Remount(true);
  Add(3, 5);
  EXPECT_EQ(queue_->Counts().spool_write_failures, 3u);
  receiver_->Release();
  ASSERT_TRUE(queue_->Flush(kLong));
  EXPECT_EQ(queue_->Counts().delivered.items, 35u);
  ExpectSent({1, 2, 3, 4, 5});
  EXPECT_THAT(queue_->Counts().spool_failing_with, HasSubstr("Read-only"));
  queue_->Stop();
  EXPECT_THAT(told_.notes(), Contains(HasSubstr("Read-only")));
}

TEST_F(SpoolDisk, ReadOnlyFromTheStartIsSaidAndWorksInMemory) {
  Remount(true);
  const absl::StatusOr<OpenedSpool> opened = Spool::Open(SpoolIn(scratch_.path()));
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->spool, nullptr);
  ASSERT_THAT(opened->warnings, SizeIs(1));
  EXPECT_THAT(opened->warnings[0], HasSubstr("Read-only"));
  Start();
  Add(1, 2);
  ASSERT_TRUE(queue_->Flush(kLong));
  ExpectSent({1, 2});
}

// The disk is so full that the parts of a split batch have no room beside it.
TEST_F(SpoolDisk, ASplitOnAFullDiskLosesNothing) {
  receiver_->judge = [](const Payload& batch) -> SendResult {
    if (batch.bytes.size() <= 200'000) return {.kind = SendResult::Kind::kDelivered};
    return {.kind = SendResult::Kind::kTooLarge, .message = "too large"};
  };
  receiver_->Hold();
  const SignalTraits traits = SplitBy(HalveItems);
  queue_ = ExportQueue::Start(std::make_unique<FakeTransport>(receiver_), {.traits = &traits},
                              told_.Hooks(), MustOpen(SpoolIn(scratch_.path())));
  queue_->Add(MakeBatch(NoiseBytes(700'000, 1), 64));
  ASSERT_TRUE(Eventually([&] { return receiver_->Sent().size() == 1; }));
  receiver_->Release();
  ASSERT_TRUE(queue_->Flush(kLong));
  EXPECT_EQ(queue_->Counts().delivered.items, 64u);
  EXPECT_TRUE(AddsUp(queue_->Counts()));
  EXPECT_THAT(SpoolFiles(scratch_.path()), IsEmpty());
}

}  // namespace
}  // namespace stackray
