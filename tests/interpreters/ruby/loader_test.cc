#include "interpreters/ruby/loader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "interpreters/ruby/ruby_data.h"
#include "tests/interpreters/recognised_library.h"

namespace stackray::test {
namespace {

struct RubyFile : OpenedLibrary {
  using OpenedLibrary::OpenedLibrary;
  uint64_t PlaceOf(uint64_t address) const {
    return OpenedLibrary::PlaceOf(address, "rb_thread_current");
  }
};

std::shared_ptr<const RubyData> Recognised(const OpenedLibrary& file) {
  return RecogniseAs<RubyLoader, RubyData>(file);
}

TEST(RubyLoader, TheContextIsAVariableBefore3) {
  const RubyFile file("fake_ruby_2_7");
  const auto data = Recognised(file);
  ASSERT_NE(data, nullptr);
  EXPECT_EQ(data->name(), "ruby 2.7");
  EXPECT_TRUE(data->supported());
  EXPECT_EQ(data->type(), FrameType::kRuby);
  EXPECT_EQ(data->layout().context_kind, RUBY_CONTEXT_GLOBAL);
  EXPECT_EQ(data->layout().context_at,
            file.PlaceOf(file.AddressOf("ruby_current_execution_context_ptr")));
}

TEST(RubyLoader, TheContextIsThreadLocalFrom3On) {
  const RubyFile file("fake_ruby_3_3");
  const auto data = Recognised(file);
  ASSERT_NE(data, nullptr);
  EXPECT_EQ(data->name(), "ruby 3.3");
  EXPECT_EQ(data->layout().context_kind,
            file.image->machine() == EM_AARCH64 ? RUBY_CONTEXT_DESCRIPTOR : RUBY_CONTEXT_MODULE);
  EXPECT_NE(data->layout().context_at, 0u);
}

TEST(RubyLoader, WhatHasNoNameIsFoundInTheCodeThatUsesIt) {
  for (const char* name : {"fake_ruby_2_7", "fake_ruby_3_3"}) {
    const RubyFile file(name);
    const auto data = Recognised(file);
    ASSERT_NE(data, nullptr);
    EXPECT_EQ(data->layout().vm_at, file.PlaceOf(file.AddressOf("ruby_current_vm_ptr")));
    EXPECT_EQ(data->layout().vm_objspace, 0x450u);
    EXPECT_EQ(data->layout().gc_flags, 16u);
    EXPECT_EQ(data->layout().gc_mask, 0x20u);
    EXPECT_EQ(data->variables().names_at, file.PlaceOf(file.AddressOf("symbols") + 16));
  }
}

TEST(RubyLoader, TheLoopIsFoundByItsTable) {
  const RubyFile file("fake_ruby_3_3");
  const auto data = Recognised(file);
  ASSERT_NE(data, nullptr);
  ASSERT_EQ(data->loop_code().size(), 1u);
  EXPECT_EQ(data->loop_code()[0].begin,
            *file.image->OffsetOfAddress(file.AddressOf("loop_without_a_name")));
  ASSERT_EQ(data->loop_entry_code().size(), 1u);
  EXPECT_EQ(data->loop_entry_code()[0].begin,
            *file.image->OffsetOfAddress(file.AddressOf("enter_the_loop")));
  EXPECT_EQ(data->PartOfLoop(data->loop_code()[0].begin + 8), LoopPart::kLoop);
  EXPECT_EQ(data->PartOfLoop(data->loop_entry_code()[0].begin), LoopPart::kEntry);
  EXPECT_EQ(data->PartOfLoop(1), LoopPart::kCarrier);  // All else of Ruby only carries calls.
}

TEST(RubyLoader, AVersionThatIsNotKnownSaysSo) {
  const auto data = Recognised(RubyFile("fake_ruby_9_9"));
  ASSERT_NE(data, nullptr);
  EXPECT_EQ(data->name(), "ruby 9.9");
  EXPECT_FALSE(data->supported());
  EXPECT_FALSE(data->loop_code().empty());
  EXPECT_EQ(data->layout().frame_bytes, 0u);
}

TEST(RubyLoader, UsersOfRubyAreNotRuby) {
  EXPECT_TRUE(RubyFile("fake_ruby_extension").image.has_value());
  EXPECT_EQ(Recognised(RubyFile("fake_ruby_extension")), nullptr);
  EXPECT_EQ(Recognised(RubyFile("/proc/self/exe")), nullptr);
}

TEST(RubyLoader, TheSystemsOwnRuby) {
  const RubyFile file("/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1");
  if (!file.image) GTEST_SKIP() << "no libruby-3.1 here";
  const auto data = Recognised(file);
  ASSERT_NE(data, nullptr);
  EXPECT_EQ(data->name(), "ruby 3.1");
  EXPECT_TRUE(data->supported());
  EXPECT_EQ(data->layout().context_kind, RUBY_CONTEXT_MODULE);
  EXPECT_EQ(data->layout().gc_mask, 0x20u);
  EXPECT_NE(data->variables().names_at, 0u);
  EXPECT_FALSE(data->loop_code().empty());
  EXPECT_FALSE(data->loop_entry_code().empty());
}

}  // namespace
}  // namespace stackray::test
