// bpf/runtime_memory.h: memory that is asked for once in a sample is what was there, and is asked
// for once.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "bpf/scratch.h"

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define barrier_var(variable) asm volatile("" : "+r"(variable))

namespace stackray {
namespace {

// Bytes at an address; what lies before and behind them is no memory.
struct Area {
  uint64_t begin = 0;
  std::vector<uint8_t> bytes;
};
struct Process {
  std::vector<Area> areas;
  int reads = 0;
};

// What bpf/runtime_memory.h asks of its includer.
int env_read(scratch* s, void* to, u32 bytes, u64 from) {
  auto& process = *reinterpret_cast<Process*>(s->host);
  ++process.reads;
  for (const Area& area : process.areas)
    if (from >= area.begin && from - area.begin <= area.bytes.size() &&
        bytes <= area.bytes.size() - (from - area.begin)) {
      std::memcpy(to, area.bytes.data() + (from - area.begin), bytes);
      return END_NONE;
    }
  return END_READ_FAULT;
}

#include "bpf/runtime_memory.h"

constexpr uint64_t kStack = 0x7f0000010000, kElsewhere = 0x7ffd00000000;
constexpr u32 kFrameBytes = 71;  // as CPython 3.13's: up to its last field, which is a byte

class RuntimeMemory : public testing::Test {
 protected:
  void SetUp() override {
    for (const uint64_t begin : {kStack, kElsewhere}) {
      Area area{.begin = begin, .bytes = std::vector<uint8_t>(8192)};
      for (size_t i = 0; i < area.bytes.size(); i += 8) {
        const uint64_t word = begin + i;  // each word says where it lies
        std::memcpy(area.bytes.data() + i, &word, 8);
      }
      process_.areas.push_back(area);
    }
    scratch_->host = reinterpret_cast<u64>(&process_);
    scratch_->record.header.time_ns = 1;
    forget_frames(&scratch_->run);
  }
  // Whether all of the frame's words are its own.
  bool ReadsFrame(uint64_t frame, u32 bytes = kFrameBytes) {
    if (read_stacked_frame(scratch_.get(), frame, bytes, PYTHON_FRAME_BYTES) != END_NONE)
      return false;
    for (u32 at = 0; at + 8 <= bytes; at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, scratch_->run.frame_bytes + at, 8);
      if (word != frame + at) return false;
    }
    return true;
  }
  const code_copy* CopyOf(uint64_t code) { return code_copy_of(scratch_.get(), code, 128, 32); }

  Process process_;
  std::unique_ptr<scratch> scratch_ = std::make_unique<scratch>();
};

TEST_F(RuntimeMemory, FramesOfAStackComeInPieces) {
  for (uint64_t frame = kStack + 4080; frame >= kStack + 120; frame -= 120)
    EXPECT_TRUE(ReadsFrame(frame)) << frame - kStack;
  EXPECT_LE(process_.reads, 5);  // 34 frames
}

TEST_F(RuntimeMemory, EachSizeOfFrameIsReadWhole) {
  for (u32 bytes = 8; bytes <= PYTHON_FRAME_BYTES; ++bytes) {
    forget_frames(&scratch_->run);
    for (uint64_t frame = kStack + 2048; frame > kStack; frame -= 136)
      EXPECT_TRUE(ReadsFrame(frame, bytes)) << bytes << " at " << frame - kStack;
  }
}

TEST_F(RuntimeMemory, FramesElsewhereLeaveThePieceAlone) {
  uint64_t elsewhere = kElsewhere;  // a C stack, whose outer frames lie above
  for (uint64_t frame = kStack + 4000; frame > kStack + 3200; frame -= 80, elsewhere += 200)
    EXPECT_TRUE(ReadsFrame(frame) && ReadsFrame(elsewhere));
  EXPECT_LE(process_.reads, 1 + 10);
}

TEST_F(RuntimeMemory, AnotherStackIsReadInPiecesFromItsSecondFrameOn) {
  EXPECT_TRUE(ReadsFrame(kStack + 64));
  for (uint64_t frame = kElsewhere + 4000; frame > kElsewhere + 3200; frame -= 80)
    EXPECT_TRUE(ReadsFrame(frame));
  EXPECT_LE(process_.reads, 1 + 1 + 1);
}

TEST_F(RuntimeMemory, AFrameBehindMemoryThatIsNotThereIsRead) {
  EXPECT_TRUE(ReadsFrame(kStack));
  EXPECT_EQ(process_.reads, 1);
  EXPECT_TRUE(ReadsFrame(kStack + 8192 - 72));  // the last one
  EXPECT_FALSE(ReadsFrame(kStack + 8192 - 64));
  EXPECT_FALSE(ReadsFrame(kStack - 64));
  EXPECT_FALSE(ReadsFrame(0));
  EXPECT_FALSE(ReadsFrame(~7ULL));
}

TEST_F(RuntimeMemory, CodeIsReadOnceASample) {
  const code_copy* copy = CopyOf(kElsewhere + 256);
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(CopyOf(kElsewhere + 256), copy);
  EXPECT_EQ(process_.reads, 1);
  process_.areas[1].bytes[256] = 0x5a;
  EXPECT_NE(CopyOf(kElsewhere + 256)->bytes[0], 0x5a);
  scratch_->record.header.time_ns = 2;
  EXPECT_EQ(CopyOf(kElsewhere + 256)->bytes[0], 0x5a);
}

TEST_F(RuntimeMemory, CodesThatShareAPlaceAreTheirOwn) {
  for (int round = 0; round < 2; ++round)
    for (uint64_t code = kElsewhere; code < kElsewhere + 8192 - 128; code += 16) {
      const code_copy* copy = CopyOf(code);
      ASSERT_NE(copy, nullptr);
      uint64_t word = 0;
      std::memcpy(&word, copy->bytes, 8);
      EXPECT_EQ(word, code);
    }
}

TEST_F(RuntimeMemory, CodeThatCannotBeReadIsNone) {
  EXPECT_EQ(CopyOf(0), nullptr);
  EXPECT_EQ(CopyOf(kElsewhere - 4096), nullptr);
  EXPECT_EQ(CopyOf(kElsewhere + 8192 - 24), nullptr);
  EXPECT_NE(CopyOf(kElsewhere + 8192 - 32), nullptr);  // shorter than asked, and enough
}

}  // namespace
}  // namespace stackray
