// Walks that end in user space, of samples put together by hand.
#include "symbolizer/unwind/sample_walk.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "tests/recorder/memory_rows.h"

namespace stackray {
namespace {

constexpr size_t kTableBytes = 1 << 20;
constexpr uint32_t kNobody = 0x7ffffffe;  // No process: above what a pid can be.
const size_t kPageBytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));

// Memory of this process that holds code of no file.
class MadeCode {
 public:
  explicit MadeCode(int protection)
      : at_(mmap(nullptr, kPageBytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~MadeCode() {
    if (is_there()) munmap(at_, kPageBytes);
  }
  MadeCode(const MadeCode&) = delete;
  bool is_there() const { return at_ != MAP_FAILED; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(at_); }

 private:
  void* const at_;
};

// A function of `leaf`, called by one that the sample's ranges do not name.
class OlderRanges : public testing::Test {
 protected:
  // The sample names the leaf's mapping, and the `others`.
  WalkResult Finish(uint8_t flags, const std::vector<code_range>& others = {},
                    uint32_t pid = static_cast<uint32_t>(getpid())) {
    constexpr size_t kBelowWords = RED_ZONE_BYTES / sizeof(uint64_t);
    std::array<uint64_t, kBelowWords + 4> stack = {};
    stack[kBelowWords + 1] = return_address_;
    sample_record record = {.flags = flags};
    record.process.pid = pid;
    record.resume.pc = leaf_.address() + 16;
    record.resume.r[UNWIND_SP] = record.resume.r[UNWIND_FP] = kStack;
    record.resume.known = 1u << UNWIND_SP | 1u << UNWIND_FP;
    record.resume.exact_pc = 1;
#ifdef STACKRAY_ARM64
    record.resume.address_mask = ~uint64_t{0};
#endif
    std::vector<code_range> ranges = {RangeOf(leaf_.address())};
    ranges.insert(ranges.end(), others.begin(), others.end());
    const uint64_t word =
        uint64_t{FRAME_EXACT} << FRAME_KIND_SHIFT | (record.resume.pc & FRAME_OFFSET_MASK);
    return walk_.Finish(
        {.record = &record,
         .kernel = {},
         .user = {&word, 1},
         .ranges = ranges,
         .probed_returns = probed_,
         .raw_stack = {reinterpret_cast<const uint8_t*>(stack.data()), sizeof(stack)}},
        {});
  }
  static code_range RangeOf(uint64_t address) {
    return {
        .start = address, .end = address + kPageBytes, .file_offset = address, .kind = RANGE_ANON};
  }
  // As many as a record can name beside the leaf's: where nothing is mapped.
  static std::vector<code_range> AllOthers() {
    std::vector<code_range> others;
    for (uint64_t i = 1; i < SAMPLE_MAX_RANGES; ++i) others.push_back(RangeOf(i * kPageBytes));
    return others;
  }
  void ExpectCallerIsFound(const WalkResult& result) const {
    EXPECT_EQ(result.end, END_NULL_RECORD);
    ASSERT_EQ(result.words.size(), 2u);
    ASSERT_EQ(result.ranges.size(), 2u);
    EXPECT_EQ(result.ranges[1].start, caller_.address());
    EXPECT_EQ(result.words[1] & FRAME_OFFSET_MASK, caller_.address() + 8);
  }
  void SetUp() override {
    if (!leaf_.is_there() || !caller_.is_there())
      GTEST_SKIP() << "memory that can be run may not be had here";
  }

  static constexpr uint64_t kStack = 0x7ffc00001000;
  static constexpr uint64_t kReturnSlot = kStack + 16 - RETURN_SLOT_BYTES;
  const MadeCode leaf_{PROT_READ | PROT_EXEC}, caller_{PROT_READ | PROT_WRITE | PROT_EXEC};
  uint64_t return_address_ = caller_.address() + 8;  // On the stack.
  std::vector<probed_return> probed_;
  ExecutableFiles files_{10};
  MemoryRows rows_;
  RowStore store_{rows_, 8 << 20};
  TableLoader loader_{files_, store_, kTableBytes};
  SampleWalk walk_{loader_, rows_};
};

TEST_F(OlderRanges, CodeThatIsNewIsLookedForInTheProcess) {
  ExpectCallerIsFound(Finish(SAMPLE_HAS_RAW | SAMPLE_OLDER_RANGES));
}

TEST_F(OlderRanges, ASampleThatNamesAllOfThemIsBelieved) {
  const WalkResult result = Finish(SAMPLE_HAS_RAW);
  EXPECT_EQ(result.end, END_NO_MAPPING);
  EXPECT_EQ(result.words.size(), 1u);
}

// BPF does not know whether the process has a runtime whose frames are on the stack.
class AskingSample : public OlderRanges {
 protected:
  WalkResult FinishAsked(SampleWalk& walk, uint8_t end) {
    const uint64_t words[] = {uint64_t{FRAME_EXACT} << FRAME_KIND_SHIFT | leaf_.address(),
                              uint64_t{FRAME_RETURN} << FRAME_KIND_SHIFT | (leaf_.address() + 4)};
    const std::vector<code_range> ranges = {RangeOf(leaf_.address())};
    const std::array<uint64_t, 32> stack = {};
    sample_record record = {.end = end, .flags = SAMPLE_HAS_RAW | SAMPLE_ASKS};
    asked_walk asked = {.regs = {}, .user_words = 1, .reserved = 0};
    asked.regs.pc = leaf_.address();
    asked.regs.exact_pc = 1;
    asked.regs.r[UNWIND_SP] = record.resume.r[UNWIND_SP] = kStack;
    return walk.Finish(
        {.record = &record,
         .kernel = {},
         .user = words,
         .ranges = ranges,
         .probed_returns = {},
         .asked = &asked,
         .raw_stack = {reinterpret_cast<const uint8_t*>(stack.data()), sizeof(stack)}},
        {});
  }
};

TEST_F(AskingSample, BpfsResultStaysWhereThereIsNone) {
  int asked = 0;
  SampleWalk walk(loader_, rows_, {}, [&asked](const process_key&, std::span<const code_range>) {
    ++asked;
    return std::nullopt;
  });
  const WalkResult result = FinishAsked(walk, END_NULL_FP);
  EXPECT_EQ(result.end, END_NULL_FP);
  EXPECT_EQ(result.words.size(), 2u);
  EXPECT_FALSE(result.is_anew);
  EXPECT_EQ(asked, 1);
}

#ifndef STACKRAY_ARM64
TEST_F(AskingSample, TheWalkIsTakenUpWhereItWasAsked) {
  const StackRuntimeOfProcess jvm{.process = {.kind = RUNTIME_HOTSPOT},
                                  .read = [](uint64_t, std::span<uint8_t>) { return false; }};
  SampleWalk walk(loader_, rows_, {},
                  [&jvm](const process_key&, std::span<const code_range>) { return jvm; });
  const WalkResult result = FinishAsked(walk, END_NULL_RA);
  EXPECT_TRUE(result.is_anew);
  EXPECT_EQ(result.end, END_NULL_FP) << "a JVM without code leaves no frame";
  EXPECT_EQ(result.words.size(), 1u);
}
#endif

// On the stack lies the kernel's trampoline, and the record tells what was there.
class ProbedReturns : public OlderRanges {
 protected:
  static constexpr uint64_t kTrampoline = 0x7fffffffe000;
  void SetUp() override {
    OlderRanges::SetUp();
    return_address_ = kTrampoline;
  }
  WalkResult FinishWithCaller() { return Finish(SAMPLE_HAS_RAW, {RangeOf(caller_.address())}); }
};

TEST_F(ProbedReturns, AreTakenFromTheRecord) {
  probed_ = {{kReturnSlot - 64, 1}, {kReturnSlot, caller_.address() + 8}, {kReturnSlot + 64, 2}};
  ExpectCallerIsFound(FinishWithCaller());
}

TEST_F(ProbedReturns, OfOtherFramesHelpNobody) {
  probed_ = {{kReturnSlot - 64, caller_.address() + 8}, {kReturnSlot - 8, caller_.address() + 8}};
  EXPECT_EQ(FinishWithCaller().end, END_NO_MAPPING);
}

TEST_F(ProbedReturns, ThatLeadNowhereEndTheStack) {
  probed_ = {{kReturnSlot, kTrampoline}};
  EXPECT_EQ(FinishWithCaller().end, END_NO_MAPPING);
}

// A full list: the process may have more.
class FullList : public OlderRanges {};

TEST_F(FullList, WhatItDoesNotNameIsLookedForInTheProcess) {
  ExpectCallerIsFound(Finish(SAMPLE_HAS_RAW, AllOthers()));
}

TEST_F(FullList, ItsLastIsFoundWithoutTheProcess) {
  std::vector<code_range> others = AllOthers();
  others.back() = RangeOf(caller_.address());
  ExpectCallerIsFound(Finish(SAMPLE_HAS_RAW, others, kNobody));
}

TEST_F(FullList, OfAProcessThatIsGoneIsTheReason) {
  const WalkResult result = Finish(SAMPLE_HAS_RAW, AllOthers(), kNobody);
  EXPECT_EQ(result.end, END_TOO_MANY_RANGES);
  EXPECT_EQ(result.words.size(), 1u);
}

TEST_F(FullList, ListOneShorterIsBelieved) {
  std::vector<code_range> others = AllOthers();
  others.pop_back();
  EXPECT_EQ(Finish(SAMPLE_HAS_RAW, others).end, END_NO_MAPPING);
}

}  // namespace
}  // namespace stackray
