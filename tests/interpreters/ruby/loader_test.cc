#include "interpreters/ruby/loader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>
#include <string>

#include "interpreters/ruby/ruby_data.h"
#include "interpreters/symbol_finder.h"
#include "kernel/unique_fd.h"
#include "symbolizer/byte_source.h"

namespace stackray::test {
namespace {

struct OpenFile {
  explicit OpenFile(const std::string& path) : fd(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat info = {};
    if (fstat(fd.get(), &info) != 0) return;
    source = std::make_unique<FdSource>(fd.get(), static_cast<uint64_t>(info.st_size));
    absl::StatusOr<ElfImage> read = ElfImage::Create(*source);
    if (read.ok()) image = *std::move(read);
  }
  uint64_t AddressOf(const std::string& name) const {
    const auto found = FindSymbols(*image, *source, SymbolSection::kAll,
                                   [&](std::string_view other) { return other == name; });
    return found.empty() ? 0 : found.begin()->second.address;
  }
  // From where byte 0 of the text would be.
  uint64_t PlaceOf(uint64_t address) const {
    const uint64_t function = AddressOf("rb_thread_current");
    return address - (function - *image->OffsetOfAddress(function));
  }
  UniqueFd fd;
  std::unique_ptr<FdSource> source;
  std::optional<ElfImage> image;
};

std::shared_ptr<const RubyData> Recognised(const OpenFile& file) {
  if (!file.image) return nullptr;
  return std::static_pointer_cast<const RubyData>(
      RubyLoader().Recognise(*file.image, *file.source));
}

std::string FakePath(const std::string& name) {
  return std::string(FAKE_RUNTIMES) + "/" + name + ".so";
}

TEST(RubyLoader, TheContextIsAVariableBefore3) {
  const OpenFile file(FakePath("fake_ruby_2_7"));
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
  const OpenFile file(FakePath("fake_ruby_3_3"));
  const auto data = Recognised(file);
  ASSERT_NE(data, nullptr);
  EXPECT_EQ(data->name(), "ruby 3.3");
  EXPECT_EQ(data->layout().context_kind,
            file.image->machine() == EM_AARCH64 ? RUBY_CONTEXT_DESCRIPTOR : RUBY_CONTEXT_MODULE);
  EXPECT_NE(data->layout().context_at, 0u);
}

TEST(RubyLoader, WhatHasNoNameIsFoundInTheCodeThatUsesIt) {
  for (const char* name : {"fake_ruby_2_7", "fake_ruby_3_3"}) {
    const OpenFile file(FakePath(name));
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
  const OpenFile file(FakePath("fake_ruby_3_3"));
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
  EXPECT_EQ(data->PartOfLoop(1), LoopPart::kNone);
}

TEST(RubyLoader, AVersionThatIsNotKnownSaysSo) {
  const auto data = Recognised(OpenFile(FakePath("fake_ruby_9_9")));
  ASSERT_NE(data, nullptr);
  EXPECT_EQ(data->name(), "ruby 9.9");
  EXPECT_FALSE(data->supported());
  EXPECT_FALSE(data->loop_code().empty());
  EXPECT_EQ(data->layout().frame_bytes, 0u);
}

TEST(RubyLoader, UsersOfRubyAreNotRuby) {
  EXPECT_TRUE(OpenFile(FakePath("fake_ruby_extension")).image.has_value());
  EXPECT_EQ(Recognised(OpenFile(FakePath("fake_ruby_extension"))), nullptr);
  EXPECT_EQ(Recognised(OpenFile("/proc/self/exe")), nullptr);
}

TEST(RubyLoader, TheSystemsOwnRuby) {
  const OpenFile file("/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1");
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
