#include "symbolizer/cfi/last_call.h"

#include <gtest/gtest.h>

#include <array>

namespace stackray::cfi {
namespace {

using Bytes = std::array<uint8_t, kLastCallBytes>;
using Kind = LastCall::Kind;

constexpr uint64_t kAddress = 0x401000;

Kind KindOf(const Bytes& before) { return LastCallBefore(before, kAddress, kX86_64).kind; }

TEST(LastCall, SaysWhereACallLeads) {
  const LastCall direct =
      LastCallBefore(Bytes{0x90, 0x90, 0x90, 0xe8, 0xf0, 0xff, 0xff, 0xff}, kAddress, kX86_64);
  EXPECT_EQ(direct.kind, Kind::kDirect);
  EXPECT_EQ(direct.target, kAddress - 16);
  const LastCall pointer =
      LastCallBefore(Bytes{0x90, 0x90, 0xff, 0x15, 0x00, 0x02, 0x00, 0x00}, kAddress, kX86_64);
  EXPECT_EQ(pointer.kind, Kind::kPointer);
  EXPECT_EQ(pointer.target, kAddress + 0x200);
}

TEST(LastCall, KnowsIndirectCallsAndWhatIsNone) {
  EXPECT_EQ(KindOf({0, 0, 0, 0, 0, 0, 0xff, 0xd0}), Kind::kUnknown);     // call *%rax
  EXPECT_EQ(KindOf({0, 0, 0, 0, 0, 0xff, 0x53, 0x18}), Kind::kUnknown);  // call *24(%rbx)
  EXPECT_EQ(KindOf({0, 0, 0, 0, 0, 0x41, 0xff, 0xd4}), Kind::kUnknown);  // call *%r12
  EXPECT_EQ(KindOf({0, 0, 0, 0, 0x48, 0x89, 0xd8, 0xc3}), Kind::kNone);  // ret
  EXPECT_EQ(KindOf({0, 0, 0, 0xe9, 0, 0, 0, 0}), Kind::kNone);           // jmp
  EXPECT_EQ(KindOf({0, 0, 0xe8, 0, 0, 0, 0, 0x90}), Kind::kNone);        // A call, and a nop.
  EXPECT_EQ(KindOf({0xe8, 0, 0, 0, 0, 0x0f, 0x0b, 0x90}), Kind::kNone);  // ud2 behind it.
  EXPECT_EQ(KindOf({0, 0, 0, 0, 0, 0, 0xff, 0xe0}), Kind::kNone);        // jmp *%rax
}

TEST(LastCall, OfArm64IsOneOfFourInstructions) {
  const auto kind = [](uint32_t word) {
    return LastCallBefore(
               Bytes{0, 0, 0, 0, static_cast<uint8_t>(word), static_cast<uint8_t>(word >> 8),
                     static_cast<uint8_t>(word >> 16), static_cast<uint8_t>(word >> 24)},
               kAddress, kArm64)
        .kind;
  };
  EXPECT_EQ(kind(0x97fffff0), Kind::kUnknown);  // bl
  EXPECT_EQ(kind(0xd63f0120), Kind::kUnknown);  // blr x9
  EXPECT_EQ(kind(0xd73f0920), Kind::kUnknown);  // blraa x9, x0
  EXPECT_EQ(kind(0xd65f03c0), Kind::kNone);     // ret
  EXPECT_EQ(kind(0x17fffff0), Kind::kNone);     // b
  EXPECT_EQ(kind(0xd503201f), Kind::kNone);     // nop
}

TEST(LastCall, FindsTheStubsPointer) {
  const std::array<uint8_t, 6> plain = {0xff, 0x25, 0x10, 0, 0, 0};
  EXPECT_EQ(PointerOfStub(plain, kAddress), kAddress + 6 + 0x10);
  const std::array<uint8_t, 11> guarded = {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x10, 0, 0, 0};
  EXPECT_EQ(PointerOfStub(guarded, kAddress), kAddress + 11 + 0x10);
  const std::array<uint8_t, 6> call = {0xff, 0x15, 0x10, 0, 0, 0};
  EXPECT_FALSE(PointerOfStub(call, kAddress));
  EXPECT_FALSE(PointerOfStub(std::span(plain).first(5), kAddress));
  EXPECT_FALSE(PointerOfStub({}, kAddress));
}

}  // namespace
}  // namespace stackray::cfi
