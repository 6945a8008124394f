#include "interpreters/perl/loader.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "interpreters/perl/perl_data.h"
#include "tests/interpreters/recognised_library.h"

namespace stackray::test {
namespace {

struct FakePerl : OpenedLibrary {
  explicit FakePerl(const std::string& name)
      : OpenedLibrary(name), data(RecogniseAs<PerlLoader, PerlData>(*this)) {}
  uint64_t PlaceOf(const std::string& symbol) const {
    return OpenedLibrary::PlaceOf(AddressOf(symbol), "Perl_runops_standard");
  }
  LoopPart PartAt(const std::string& function) const {
    return data->PartOfLoop(*image->OffsetOfAddress(AddressOf(function)));
  }
  std::shared_ptr<const PerlData> data;
};

TEST(PerlLoader, VersionAndKeyOfABuildWithThreads) {
  const FakePerl perl("fake_perl_5_36");
  ASSERT_NE(perl.data, nullptr);
  EXPECT_EQ(perl.data->name(), "perl 5.36");
  EXPECT_TRUE(perl.data->supported());
  EXPECT_EQ(perl.data->type(), FrameType::kPerl);
  const perl_layout& layout = perl.data->layout();
  EXPECT_EQ(layout.interpreter, PERL_INTERPRETER_KEY);
  EXPECT_EQ(layout.key_at, perl.PlaceOf("PL_thr_key"));
  EXPECT_EQ(layout.stack_info, 224u);
  EXPECT_EQ(layout.hash_extra, 32u);
}

TEST(PerlLoader, VariablesOfABuildWithoutThreads) {
  const FakePerl perl("fake_perl_5_28_without_threads");
  ASSERT_NE(perl.data, nullptr);
  EXPECT_EQ(perl.data->name(), "perl 5.28");
  ASSERT_TRUE(perl.data->supported());
  const perl_layout& layout = perl.data->layout();
  EXPECT_EQ(layout.interpreter, PERL_INTERPRETER_ONE);
  EXPECT_EQ(layout.stack_info, perl.PlaceOf("PL_curstackinfo"));
  EXPECT_EQ(layout.cop, perl.PlaceOf("PL_curcop"));
  EXPECT_EQ(layout.op, perl.PlaceOf("PL_op"));
  EXPECT_EQ(layout.stack_pointer, perl.PlaceOf("PL_stack_sp"));
  EXPECT_EQ(layout.hash_extra, 0u);
}

TEST(PerlLoader, PartsOfTheLoop) {
  const FakePerl perl("fake_perl_5_36");
  ASSERT_NE(perl.data, nullptr);
  EXPECT_EQ(perl.PartAt("Perl_runops_standard"), LoopPart::kRejoiningLoop);
  EXPECT_EQ(perl.PartAt("Perl_runops_debug"), LoopPart::kRejoiningLoop);
  EXPECT_EQ(perl.PartAt("Perl_pp_entertry"), LoopPart::kLink);
  EXPECT_EQ(perl.PartAt("perl_run"), LoopPart::kMain);
  EXPECT_EQ(perl.PartAt("own_version"), LoopPart::kNone);
}

TEST(PerlLoader, OtherVersionsAreRecognisedAndNotRead) {
  for (const auto& [file, name] :
       {std::pair("fake_perl_5_99", "perl 5.99"), std::pair("fake_perl_5_26", "perl 5.26")}) {
    const FakePerl perl(file);
    ASSERT_NE(perl.data, nullptr);
    EXPECT_EQ(perl.data->name(), name);
    EXPECT_FALSE(perl.data->supported());
    EXPECT_FALSE(perl.data->loop_code().empty());
  }
}

TEST(PerlLoader, OtherLibrariesAreNone) {
  EXPECT_EQ(FakePerl("fake_php_8_2").data, nullptr);
  EXPECT_EQ(FakePerl("fake_ruby_3_3").data, nullptr);
}

}  // namespace
}  // namespace stackray::test
