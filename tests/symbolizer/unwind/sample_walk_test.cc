// Walks that end in user space, of samples put together by hand.
#include "symbolizer/unwind/sample_walk.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>

#include "tests/recorder/memory_rows.h"

namespace stackray {
namespace {

constexpr size_t kTableBytes = 1 << 20;
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
  WalkResult Finish(uint8_t flags) {
    constexpr uint64_t kStack = 0x7ffc00001000;
    constexpr size_t kBelowWords = RED_ZONE_BYTES / sizeof(uint64_t);
    std::array<uint64_t, kBelowWords + 4> stack = {};
    stack[kBelowWords + 1] = caller_.address() + 8;
    sample_record record = {.flags = flags};
    record.process.pid = static_cast<uint32_t>(getpid());
    record.resume.pc = leaf_.address() + 16;
    record.resume.r[UNWIND_SP] = record.resume.r[UNWIND_FP] = kStack;
    record.resume.known = 1u << UNWIND_SP | 1u << UNWIND_FP;
    record.resume.exact_pc = 1;
#ifdef STACKRAY_ARM64
    record.resume.address_mask = ~uint64_t{0};
#endif
    const code_range leaf = {.start = leaf_.address(),
                             .end = leaf_.address() + kPageBytes,
                             .file_offset = leaf_.address(),
                             .kind = RANGE_ANON};
    const uint64_t word =
        uint64_t{FRAME_EXACT} << FRAME_KIND_SHIFT | (record.resume.pc & FRAME_OFFSET_MASK);
    return walk_.Finish(
        {.record = &record,
         .kernel = {},
         .user = {&word, 1},
         .ranges = {&leaf, 1},
         .raw_stack = {reinterpret_cast<const uint8_t*>(stack.data()), sizeof(stack)}},
        {});
  }
  void SetUp() override {
    if (!leaf_.is_there() || !caller_.is_there())
      GTEST_SKIP() << "memory that can be run may not be had here";
  }

  const MadeCode leaf_{PROT_READ | PROT_EXEC}, caller_{PROT_READ | PROT_WRITE | PROT_EXEC};
  ExecutableFiles files_{10};
  MemoryRows rows_;
  RowStore store_{rows_, 8 << 20};
  TableLoader loader_{files_, store_, kTableBytes};
  SampleWalk walk_{loader_, rows_};
};

TEST_F(OlderRanges, CodeThatIsNewIsLookedForInTheProcess) {
  const WalkResult result = Finish(SAMPLE_HAS_RAW | SAMPLE_OLDER_RANGES);
  EXPECT_EQ(result.end, END_NULL_FP);
  ASSERT_EQ(result.words.size(), 2u);
  ASSERT_EQ(result.ranges.size(), 2u);
  EXPECT_EQ(result.ranges[1].start, caller_.address());
  EXPECT_EQ(result.words[1] & FRAME_OFFSET_MASK, caller_.address() + 8);
}

TEST_F(OlderRanges, ASampleThatNamesAllOfThemIsBelieved) {
  const WalkResult result = Finish(SAMPLE_HAS_RAW);
  EXPECT_EQ(result.end, END_NO_MAPPING);
  EXPECT_EQ(result.words.size(), 1u);
}

}  // namespace
}  // namespace stackray
