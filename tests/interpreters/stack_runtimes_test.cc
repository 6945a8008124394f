// Processes with a runtime on the stack: asked until it has begun, told to BPF, forgotten.
#include "interpreters/stack_runtimes.h"

#include <gtest/gtest.h>

#include "tests/interpreters/fake_runtime.h"

namespace stackray::test {
namespace {

class NoMemory : public ProcessMemory {
 public:
  bool Read(uint64_t, std::span<uint8_t>) override { return false; }
  bool IsGone() const override { return false; }
};

class FakeInstance : public StackInstance {
 public:
  explicit FakeInstance(bool is_begun) : is_begun_(is_begun) {}
  bool is_begun() const override { return is_begun_; }
  stack_process ForBpf() const override { return {.kind = RUNTIME_HOTSPOT}; }
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadCode(ProcessMemory&,
                                                              const RuntimePlace&) const override {
    return absl::DataLossError("none");
  }

 private:
  const bool is_begun_;
};

class FakeData : public RuntimeData {
 public:
  FrameType type() const override { return FrameType::kHotSpot; }
  std::string name() const override { return "fake"; }
  bool supported() const override { return true; }
  absl::Status Publish(uint32_t, RuntimeMemory&) const override { return absl::OkStatus(); }
  const std::vector<FileRange>& loop_code() const override { return none_; }
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadCode(ProcessMemory&, uint64_t,
                                                              const RuntimePlace&) const override {
    return absl::DataLossError("none");
  }
  absl::StatusOr<std::shared_ptr<const StackInstance>> Attach(ProcessMemory&,
                                                              uint64_t) const override {
    ++asked;
    if (!answer.ok()) return answer;
    return std::make_shared<const FakeInstance>(is_begun);
  }
  absl::Status answer;
  bool is_begun = true;
  mutable int asked = 0;

 private:
  std::vector<FileRange> none_;
};

class StackRuntimesTest : public testing::Test {
 protected:
  static ProcessId Process(uint32_t pid) { return {.pid = pid, .exec_id = 1, .start_time_ns = 9}; }
  void Meet(uint32_t pid) { runtimes_.Meet(Process(pid), kRuntime, data_, 0x1000, now_); }

  static constexpr uint32_t kRuntime = STACK_RUNTIME | 4;
  FakeRuntimeMemory bpf_;
  std::shared_ptr<FakeData> data_ = std::make_shared<FakeData>();
  absl::Time now_ = absl::UnixEpoch();
  StackRuntimes runtimes_{bpf_, [](uint32_t) { return std::make_unique<NoMemory>(); }};
};

TEST_F(StackRuntimesTest, BpfIsToldOnce) {
  Meet(7);
  Meet(7);
  EXPECT_EQ(data_->asked, 1);
  ASSERT_TRUE(bpf_.processes_.contains(7));
  EXPECT_EQ(bpf_.processes_[7].runtime, kRuntime);
  EXPECT_NE(runtimes_.Of(Process(7)), nullptr);
  EXPECT_EQ(runtimes_.Of(Process(8)), nullptr);
}

TEST_F(StackRuntimesTest, ARuntimeThatHasNotBegunIsAskedEverMoreRarely) {
  data_->answer = absl::UnavailableError("not yet");
  for (int i = 0; i < 1000; ++i, now_ += absl::Milliseconds(10)) Meet(7);
  EXPECT_GT(data_->asked, 15);
  EXPECT_LT(data_->asked, 45);
  EXPECT_TRUE(runtimes_.IsExpected(Process(7)));
  EXPECT_EQ(runtimes_.Of(Process(7)), nullptr);
  data_->answer = absl::OkStatus();
  now_ += absl::Seconds(10);
  Meet(7);
  EXPECT_NE(runtimes_.Of(Process(7)), nullptr);
}

// A JVM runs code before its interpreter is there.
TEST_F(StackRuntimesTest, WhatIsMakingItsFirstCodeIsKnownButNotToldToBpf) {
  data_->is_begun = false;
  Meet(7);
  ASSERT_NE(runtimes_.Of(Process(7)), nullptr);
  EXPECT_EQ(runtimes_.ForBpf(Process(7))->runtime, kRuntime);
  EXPECT_FALSE(bpf_.processes_.contains(7));
  EXPECT_TRUE(runtimes_.IsExpected(Process(7)));
  data_->is_begun = true;
  now_ += absl::Milliseconds(10);
  Meet(7);
  EXPECT_TRUE(bpf_.processes_.contains(7));
  EXPECT_FALSE(runtimes_.IsExpected(Process(7)));
  data_->is_begun = false;
  for (int i = 0; i < 1000; ++i, now_ += absl::Milliseconds(10)) Meet(7);
  EXPECT_TRUE(runtimes_.Of(Process(7))->is_begun()) << "what was known once";
}

TEST_F(StackRuntimesTest, ASampleInNewCodeDoesNotWait) {
  data_->answer = absl::UnavailableError("not yet");
  Meet(7);
  const auto sampled = [&] {
    runtimes_.MeetAtOnce(Process(7), now_, now_ + absl::Microseconds(10));
    return data_->asked;
  };
  EXPECT_EQ(sampled(), 1) << "it was read at the sample's own time";
  now_ += absl::Microseconds(100);
  EXPECT_EQ(sampled(), 2);
  for (int i = 0; i < 1000; ++i, now_ += absl::Microseconds(100)) sampled();
  EXPECT_LT(data_->asked, 100) << "a process without end";
  const int asked = data_->asked;
  data_->answer = absl::OkStatus();
  now_ += absl::Seconds(10);
  Meet(7);
  now_ += absl::Microseconds(100);
  EXPECT_EQ(sampled(), asked + 1) << "one that has begun";
}

TEST_F(StackRuntimesTest, WhatMakesNoSenseIsNotAskedAgain) {
  data_->answer = absl::DataLossError("no JVM");
  Meet(7);
  now_ += absl::Hours(1);
  Meet(7);
  EXPECT_EQ(data_->asked, 1);
  EXPECT_FALSE(runtimes_.IsExpected(Process(7)));
  EXPECT_FALSE(runtimes_.ForBpf(Process(7)));
}

TEST_F(StackRuntimesTest, OneThatHasJustBegunIsReadAFewTimesMore) {
  for (int i = 0; i < 1000; ++i, now_ += absl::Milliseconds(10)) Meet(7);
  EXPECT_EQ(data_->asked, 4);
  data_->answer = absl::DataLossError("no JVM");
  EXPECT_NE(runtimes_.Of(Process(7)), nullptr);
}

TEST_F(StackRuntimesTest, OneThatIsMetAgainIsAskedAsBefore) {
  data_->answer = absl::UnavailableError("not yet");
  Meet(7);
  now_ += absl::Milliseconds(10);
  runtimes_.MeetAgain(Process(7), now_);
  EXPECT_EQ(data_->asked, 2);
  runtimes_.MeetAgain(Process(8), now_);
  EXPECT_EQ(data_->asked, 2) << "one that was never met";
  runtimes_.SayNone(Process(8));
  EXPECT_TRUE(bpf_.none_.contains(8));
}

TEST_F(StackRuntimesTest, TheLeastRecentlyMetGoesFirst) {
  for (uint32_t pid = 1; pid <= MAX_STACK_PROCESSES; ++pid) Meet(pid);
  Meet(1);
  Meet(5000);
  EXPECT_EQ(runtimes_.size(), size_t{MAX_STACK_PROCESSES});
  EXPECT_TRUE(bpf_.processes_.contains(1));
  EXPECT_FALSE(bpf_.processes_.contains(2));
  EXPECT_TRUE(bpf_.processes_.contains(5000));
}

TEST_F(StackRuntimesTest, AProcessIsLookedAtOnce) {
  EXPECT_TRUE(runtimes_.ShouldLook(Process(7)));
  EXPECT_FALSE(runtimes_.ShouldLook(Process(7)));
  runtimes_.Wipe();
  EXPECT_TRUE(runtimes_.ShouldLook(Process(7)));
}

TEST_F(StackRuntimesTest, AfterAWipeAProcessIsReadAnew) {
  Meet(7);
  runtimes_.Wipe();
  EXPECT_EQ(runtimes_.Of(Process(7)), nullptr);
  Meet(7);
  EXPECT_NE(runtimes_.Of(Process(7)), nullptr);
}

}  // namespace
}  // namespace stackray::test
