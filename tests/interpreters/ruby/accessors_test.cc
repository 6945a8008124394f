// Machine code as compilers write it for the three functions, and code that is something else.
#include "interpreters/ruby/accessors.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "bpf/shared/ruby.h"

namespace stackray::test {
namespace {

using Bytes = std::vector<uint8_t>;
constexpr uint64_t kAt = 0x1000;

Bytes Padded(Bytes code) {
  code.resize(64, 0x90);
  return code;
}

TEST(RubyContextAccess, FixedDistanceFromTheThreadPointer) {
  const auto found = ReadContextAccess(
      Padded({0x64, 0x48, 0x8b, 0x04, 0x25, 0xf0, 0xff, 0xff, 0xff, 0x48, 0x8b, 0x40, 0x30}), kAt);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, uint32_t{RUBY_CONTEXT_STATIC});
  EXPECT_EQ(found->offset, -16);
}

TEST(RubyContextAccess, AProgramsLinkerHasPutTheDistanceIn) {
  const auto found = ReadContextAccess(
      Padded({0x48, 0xc7, 0xc0, 0xb0, 0xff, 0xff, 0xff, 0x64, 0x48, 0x8b, 0x00, 0x48, 0x8b}), kAt);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, uint32_t{RUBY_CONTEXT_STATIC});
  EXPECT_EQ(found->offset, -80);
}

TEST(RubyContextAccess, GeneralAndLocalModel) {
  const Bytes general =
      Padded({0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 0x08, 0x66, 0x48, 0x8d, 0x3d, 0x00, 0x01,
              0x00, 0x00, 0x66, 0x66, 0x48, 0xe8, 0,    0,    0,    0,    0x48, 0x8b, 0x00});
  auto found = ReadContextAccess(general, kAt);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, uint32_t{RUBY_CONTEXT_MODULE});
  EXPECT_EQ(found->address, kAt + 16 + 0x100);
  EXPECT_EQ(found->offset, 0);
  const Bytes local =
      Padded({0x48, 0x83, 0xec, 0x08, 0x48, 0x8d, 0x3d, 0x00, 0x01, 0x00, 0x00, 0xe8,
              0,    0,    0,    0,    0x48, 0x8b, 0x80, 0x10, 0x00, 0x00, 0x00});
  found = ReadContextAccess(local, kAt);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->address, kAt + 11 + 0x100);
  EXPECT_EQ(found->offset, 16);
}

TEST(RubyContextAccess, SlotAndVariables) {
  const Bytes slot = Padded({0x48, 0x8b, 0x05, 0x20, 0, 0, 0, 0x64, 0x48, 0x8b, 0x00});
  EXPECT_EQ(ReadContextAccess(slot, kAt)->kind, uint32_t{RUBY_CONTEXT_SLOT});
  EXPECT_EQ(ReadContextAccess(slot, kAt)->address, kAt + 7 + 0x20);
  const Bytes direct = Padded({0x48, 0x8b, 0x05, 0x20, 0, 0, 0, 0x48, 0x8b, 0x40, 0x38});
  EXPECT_EQ(ReadContextAccess(direct, kAt)->kind, uint32_t{RUBY_CONTEXT_GLOBAL});
  EXPECT_FALSE(ReadContextAccess(direct, kAt)->is_indirect);
  const Bytes indirect = Padded({0x48, 0x8b, 0x05, 0x20, 0, 0, 0, 0x48, 0x8b, 0x00});
  EXPECT_TRUE(ReadContextAccess(indirect, kAt)->is_indirect);
}

TEST(RubyCollectorAccess, BothWaysToTheVariable) {
  const Bytes through_slot = {0x48, 0x8b, 0x05, 1,    0,    0,    0,    0x48, 0x8b, 0x00,
                              0x48, 0x8b, 0x80, 0x50, 0x04, 0,    0,    0x0f, 0xb6, 0x40,
                              0x10, 0xc0, 0xe8, 0x05, 0x83, 0xe0, 0x01, 0xc3};
  auto found = ReadCollectorAccess(Padded(through_slot), kAt);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_indirect);
  EXPECT_EQ(found->vm_objspace, 0x450u);
  EXPECT_EQ(found->flags, 16u);
  EXPECT_EQ(found->mask, 0x20u);
  const Bytes by_address = {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8d, 0x05, 0xf9, 0xff, 0,    0,
                            0x48, 0x8b, 0x00, 0x48, 0x85, 0xc0, 0x74, 0x15, 0x48, 0x8b, 0x80,
                            0x18, 0x05, 0,    0,    0x0f, 0xb6, 0x40, 0x14, 0xc0, 0xe8, 0x05};
  found = ReadCollectorAccess(Padded(by_address), kAt);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->is_indirect);
  EXPECT_EQ(found->vm_address, kAt + 11 + 0xfff9);
  EXPECT_EQ(found->vm_objspace, 0x518u);
  EXPECT_EQ(found->flags, 20u);
}

TEST(RubySymbolsAccess, TheFirstArgument) {
  const Bytes code = Padded({0x53, 0x48, 0x8b, 0x3d, 0x40, 0, 0, 0, 0xe8, 0, 0, 0, 0});
  EXPECT_EQ(ReadSymbolsAccess(code, kAt), kAt + 8 + 0x40);
  EXPECT_EQ(ReadSymbolsAccess(Padded({}), kAt), std::nullopt);
}

TEST(RubyAccessors, OtherCodeIsNoneOfThem) {
  EXPECT_FALSE(ReadContextAccess(Padded({0xc3}), kAt));
  EXPECT_FALSE(ReadCollectorAccess(Padded({0xc3}), kAt));
  EXPECT_FALSE(ReadContextAccess({}, kAt));
  std::mt19937 random(20260101);
  int found = 0;
  for (int i = 0; i < 20'000; ++i) {
    Bytes code(random() % 64);
    for (uint8_t& byte : code) byte = static_cast<uint8_t>(random());
    found += ReadCollectorAccess(code, kAt).has_value();
    (void)ReadContextAccess(code, kAt);
    (void)ReadSymbolsAccess(code, kAt);
  }
  EXPECT_EQ(found, 0);
}

}  // namespace
}  // namespace stackray::test
