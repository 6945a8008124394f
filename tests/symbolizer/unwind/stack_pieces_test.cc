// Pieces of a stack on their way to their sample: in order, of several CPUs, lost, and too many.
#include "symbolizer/unwind/stack_pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace stackray {
namespace {

constexpr uint64_t kStack = 0x7fff00000000;

class StackPiecesTest : public testing::Test {
 protected:
  void Take(uint32_t cpu, uint64_t time_ns, uint64_t address, uint32_t bytes, uint8_t value) {
    record_->header.time_ns = time_ns;
    record_->process.pid = 10 + cpu;
    record_->tid = 20 + cpu;
    record_->cpu = cpu;
    record_->address = address;
    std::fill(record_->bytes, record_->bytes + bytes, value);
    pieces_.Take({.record = record_.get(), .bytes = {record_->bytes, bytes}});
  }
  StackAbove TakeOf(uint32_t cpu, uint64_t time_ns) {
    sample_record sample = {};
    sample.header.time_ns = time_ns;
    sample.process.pid = 10 + cpu;
    sample.tid = 20 + cpu;
    sample.cpu = cpu;
    return pieces_.TakeOf(sample);
  }

  std::unique_ptr<stack_record> record_ = std::make_unique<stack_record>();
  StackPieces pieces_;
};

TEST_F(StackPiecesTest, OneStackOfEachCpu) {
  Take(0, 100, kStack, STACK_PIECE_BYTES, 1);
  Take(1, 101, kStack, STACK_PIECE_BYTES, 2);
  Take(0, 100, kStack + STACK_PIECE_BYTES, 4096, 3);
  const StackAbove one = TakeOf(1, 101), zero = TakeOf(0, 100);
  EXPECT_EQ(one.bytes, std::vector<uint8_t>(STACK_PIECE_BYTES, 2));
  EXPECT_EQ(zero.address, kStack);
  ASSERT_EQ(zero.bytes.size(), STACK_PIECE_BYTES + 4096u);
  EXPECT_EQ(zero.bytes[STACK_PIECE_BYTES - 1], 1);
  EXPECT_EQ(zero.bytes[STACK_PIECE_BYTES], 3);
  EXPECT_EQ(pieces_.bytes(), 0u);
  EXPECT_TRUE(TakeOf(0, 100).bytes.empty());  // Once.
}

TEST_F(StackPiecesTest, AnotherSampleTakesNothingAndNothingStays) {
  Take(0, 100, kStack, 4096, 1);
  EXPECT_TRUE(TakeOf(0, 101).bytes.empty());
  EXPECT_EQ(pieces_.bytes(), 0u);
  EXPECT_TRUE(TakeOf(0, 100).bytes.empty());
}

TEST_F(StackPiecesTest, APieceThatIsNotTheNextBeginsAnew) {
  Take(0, 100, kStack, 4096, 1);
  Take(0, 100, kStack + 8192, 4096, 2);  // The one between them was lost.
  const StackAbove above = TakeOf(0, 100);
  EXPECT_EQ(above.address, kStack + 8192);
  EXPECT_EQ(above.bytes, std::vector<uint8_t>(4096, 2));
  Take(0, 100, kStack, 4096, 1);
  Take(0, 105, kStack + 4096, 4096, 2);  // The first one's sample was lost.
  EXPECT_EQ(TakeOf(0, 105).address, kStack + 4096);
}

TEST_F(StackPiecesTest, MemoryIsBounded) {
  for (uint32_t cpu = 0; cpu < 1000; ++cpu) Take(cpu, 100, kStack, STACK_PIECE_BYTES, 1);
  EXPECT_EQ(pieces_.bytes(), StackPieces::kMaxBytes);
  uint64_t at = kStack + STACK_PIECE_BYTES;
  for (int i = 0; i < 1000; ++i, at += STACK_PIECE_BYTES) Take(0, 100, at, STACK_PIECE_BYTES, 1);
  EXPECT_EQ(pieces_.bytes(), StackPieces::kMaxBytes);
  for (uint32_t cpu = 0; cpu < 1000; ++cpu) TakeOf(cpu, 100);
  EXPECT_EQ(pieces_.bytes(), 0u);
}

}  // namespace
}  // namespace stackray
