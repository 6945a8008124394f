// From slots that a loader has filled in to places, over made-up memory.
#include "interpreters/thread_context/tls_place.h"

#include <elf.h>
#include <gtest/gtest.h>

#include "interpreters/thread_context/go_labels.h"
#include "tests/interpreters/fake_memory.h"

namespace stackray::test {
namespace {

using Access = TlsVariable::Access;

constexpr uint64_t kBias = 0x10000, kSlot = 0x200, kAt = kBias + kSlot, kIndex = 0x5000;
constexpr uint64_t kFunction = 0x9000;

class TlsPlaces : public testing::Test {
 protected:
  absl::StatusOr<TlsPlace> Resolve(Access access, uint64_t first, uint64_t second,
                                   int64_t offset = 0, uint16_t machine = EM_X86_64,
                                   CLibrary library = CLibrary::kGlibc) {
    memory_.Put<uint64_t>(kAt, first);
    memory_.Put<uint64_t>(kAt + 8, second);
    return ResolveTls({.access = access, .slot = kSlot, .offset = offset, .size_bytes = 8}, kBias,
                      machine, library, memory_);
  }
  absl::StatusCode CodeOf(Access access, uint64_t first, uint64_t second, int64_t offset = 0) {
    return Resolve(access, first, second, offset).status().code();
  }
  void PutIndex(uint64_t module, uint64_t offset) {
    memory_.Put<uint64_t>(kIndex, module);
    memory_.Put<uint64_t>(kIndex + 8, offset);
  }
  FakeMemory memory_;
};

TEST_F(TlsPlaces, AtAnOffset) {
  const auto slot = Resolve(Access::kOffsetSlot, static_cast<uint64_t>(-632), 0);
  ASSERT_TRUE(slot.ok());
  EXPECT_EQ(slot->place.in_module, 0);
  EXPECT_EQ(slot->place.offset, -632);
  const auto descriptor =
      Resolve(Access::kDescriptor, kFunction, static_cast<uint64_t>(-640), /*offset=*/8);
  ASSERT_TRUE(descriptor.ok());
  EXPECT_EQ(descriptor->place.offset, -632);
}

TEST_F(TlsPlaces, InAModule) {
  PutIndex(2, 0x380);
  const auto descriptor = Resolve(Access::kDescriptor, kFunction, kIndex);
  ASSERT_TRUE(descriptor.ok());
  EXPECT_EQ(descriptor->place.module, 2u);
  EXPECT_EQ(descriptor->place.offset, 0x380);
  EXPECT_EQ(descriptor->place.vector_at, 8);
  EXPECT_EQ(descriptor->place.entry_bytes, 16);
  const auto module =
      Resolve(Access::kModuleSlot, 4, 99, /*offset=*/0x20, EM_AARCH64, CLibrary::kMusl);
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(module->place.module, 4u);
  EXPECT_EQ(module->place.offset, 0x20);
  EXPECT_EQ(module->place.vector_at, -8);
  EXPECT_EQ(module->place.entry_bytes, 8);
}

TEST_F(TlsPlaces, OnArm64TheFunctionSaysWhatItsArgumentIs) {
  const auto small = Resolve(Access::kDescriptor, kFunction, 16, 0, EM_AARCH64);
  ASSERT_TRUE(small.ok());
  EXPECT_EQ(small->place.offset, 16);
  for (const uint64_t begin : {uint64_t{0}, uint64_t{4}}) {
    memory_.Put<uint32_t>(kFunction, 0xd503245f);  // bti c
    memory_.Put<uint32_t>(kFunction + begin, 0xf9400400);
    memory_.Put<uint32_t>(kFunction + begin + 4, 0xd65f03c0);
    memory_.Put<uint32_t>(kFunction + 12, 0);
    if (begin == 0) memory_.Put<uint32_t>(kFunction + 8, 0);
    const auto large = Resolve(Access::kDescriptor, kFunction, 0x12340, 0, EM_AARCH64);
    ASSERT_TRUE(large.ok()) << begin;
    EXPECT_EQ(large->place.in_module, 0);
    EXPECT_EQ(large->place.offset, 0x12340);
  }
  memory_.Put<uint32_t>(kFunction, 0xa9bf0be1);  // Another function.
  PutIndex(3, 0x10);
  memory_.Put<uint64_t>(0x15000, 3);
  memory_.Put<uint64_t>(0x15008, 0x10);
  const auto module = Resolve(Access::kDescriptor, kFunction, 0x15000, 0, EM_AARCH64);
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(module->place.module, 3u);
  EXPECT_EQ(module->place.vector_at, 0);
}

TEST_F(TlsPlaces, ThatAreNotFilledInYet) {
  EXPECT_EQ(CodeOf(Access::kOffsetSlot, 0, 0), absl::StatusCode::kUnavailable);
  EXPECT_EQ(CodeOf(Access::kDescriptor, 0, 0), absl::StatusCode::kUnavailable);
  EXPECT_EQ(CodeOf(Access::kModuleSlot, 0, 0), absl::StatusCode::kUnavailable);
  PutIndex(0, 0);
  EXPECT_EQ(CodeOf(Access::kDescriptor, kFunction, kIndex), absl::StatusCode::kUnavailable);
}

TEST_F(TlsPlaces, ThatAreImpossible) {
  constexpr auto kDataLoss = absl::StatusCode::kDataLoss;
  EXPECT_EQ(CodeOf(Access::kOffsetSlot, uint64_t{1} << 40, 0), kDataLoss);
  EXPECT_EQ(CodeOf(Access::kOffsetSlot, uint64_t{1} << 63, 0, INT64_MIN), absl::StatusCode::kOk);
  EXPECT_EQ(CodeOf(Access::kModuleSlot, 1 << 20, 0), kDataLoss);
  EXPECT_EQ(CodeOf(Access::kModuleSlot, 1, 0, -8), kDataLoss);
  EXPECT_EQ(CodeOf(Access::kDescriptor, kFunction, 0x77777777), kDataLoss);  // Leads nowhere.
  PutIndex(2, ~uint64_t{0} >> 1);
  EXPECT_EQ(CodeOf(Access::kDescriptor, kFunction, kIndex), kDataLoss);
  EXPECT_EQ(ResolveTls({.access = Access::kModuleSlot, .slot = 0x99999}, kBias, EM_X86_64,
                       CLibrary::kGlibc, memory_)
                .status()
                .code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(TlsPlaces, AreNoticedWhenTheirSlotChanges) {
  const auto place = Resolve(Access::kModuleSlot, 4, 0, 8);
  ASSERT_TRUE(place.ok());
  EXPECT_TRUE(IsUnchanged(*place, memory_));
  memory_.Put<uint64_t>(kAt, 5);
  EXPECT_FALSE(IsUnchanged(*place, memory_));
  memory_.SetGone(true);
  EXPECT_FALSE(IsUnchanged(*place, memory_));
}

TEST(GoMinor, OfVersions) {
  EXPECT_EQ(GoMinorOf("go1.18"), 18u);
  EXPECT_EQ(GoMinorOf("go1.25.4"), 25u);
  EXPECT_EQ(GoMinorOf("go1.26rc1"), 26u);
  EXPECT_EQ(GoMinorOf("go1."), std::nullopt);
  EXPECT_EQ(GoMinorOf("devel go1.26-abc"), std::nullopt);
  EXPECT_EQ(GoMinorOf("go2.1"), std::nullopt);
  EXPECT_EQ(GoMinorOf("go1.99999999999"), std::nullopt);
}

}  // namespace
}  // namespace stackray::test
