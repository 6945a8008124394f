// Go programs built in every way that moves the table about: GoTable says what the Go runtime and
// addr2line say.
#include "symbolizer/go/go_table.h"

#include <gtest/gtest.h>

#include "symbolizer/frame_names.h"
#include "symbolizer/source_lines.h"
#include "tests/symbolizer/executable.h"
#include "tests/symbolizer/go/go_oracle.h"

namespace stackray::test {
namespace {

struct Build {
  const char* name;
  const char* arguments;
  bool has_sections = true, has_inlined = true;
};
void PrintTo(const Build& build, std::ostream* out) { *out << build.name; }

class GoTableOf : public testing::TestWithParam<Build> {};

TEST_P(GoTableOf, SaysWhatTheRuntimeSays) {
  const auto program = GoProgram::Build("", GetParam().arguments);
  if (program == nullptr) GTEST_SKIP() << "no Go here that builds it: " << GetParam().arguments;
  const GoStacks places = program->Places(3000);
  ASSERT_GT(places.size(), 2500u);
  // Without symbols addr2line takes .text for the start of Go's code, and it is not when C's
  // start-up code comes first.
  const bool is_misled =
      std::string_view(GetParam().arguments).find("external") != std::string::npos;
  const std::vector<GoFrame> outermost =
      is_misled ? std::vector<GoFrame>() : program->AddressToLine(places);
  EXPECT_EQ(outermost.empty(), is_misled);
  const GoStacks stacks = program->Stacks();
  ASSERT_GT(stacks.size(), 5u);
  if (!GetParam().has_sections) program->DropSections();
  const auto table = OpenGoTable(program->path());
  ASSERT_NE(table, nullptr);

  GoComparison result = ComparePlaces(*table, places, outermost);
  EXPECT_GT(result.inlined, places.size() / 10);
  EXPECT_EQ(result.differ, 0u) << result.examples;
  result = CompareStacks(*table, stacks);
  if (GetParam().has_inlined) {
    EXPECT_GT(result.inlined, stacks.size());
  }
  EXPECT_EQ(result.differ, 0u) << result.examples;
}

// Every address of a stripped program has a name, and the same one as the table's.
TEST_P(GoTableOf, NamesWhatSymbolsDoNot) {
  const auto program = GoProgram::Build("", GetParam().arguments);
  if (program == nullptr) GTEST_SKIP() << "no Go here that builds it: " << GetParam().arguments;
  const GoStacks places = program->Places(200);
  const bool is_stripped = std::string(GetParam().arguments).find("-s -w") != std::string::npos;
  if (!GetParam().has_sections) program->DropSections();
  const auto table = OpenGoTable(program->path());
  ASSERT_NE(table, nullptr);
  FrameNames names(1 << 20);
  for (const std::vector<GoFrame>& place : places) {
    const auto lines = names.Resolve(1, *table->file.source, place.front().address);
    ASSERT_EQ(lines.size(), 1u) << place.front().address;
    if (!is_stripped && GetParam().has_sections) continue;
    const auto found = table->table.Resolve(*table->file.source, place.front().address);
    EXPECT_EQ(lines[0].function, found.back().function);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Builds, GoTableOf,
    testing::Values(Build{"plain", ""}, Build{"stripped", "-ldflags='-s -w'"},
                    Build{"no_sections", "-ldflags='-s -w'", false},
                    Build{"not_optimized", "-gcflags='-N -l'", true, false},
                    Build{"position_independent", "-buildmode=pie"},
                    Build{"position_independent_stripped", "-buildmode=pie -ldflags='-s -w'"},
                    Build{"linked_by_gcc", "-ldflags='-s -w -linkmode=external'"},
                    Build{"position_independent_linked_by_gcc",
                          "-buildmode=pie -ldflags='-s -w -linkmode=external'"}),
    [](const auto& tested) { return tested.param.name; });

// The linker tells a function's two calling conventions apart in symbols alone:
// "internal/bytealg.Count.abi0".
TEST(GoTable, FunctionsOfTwoConventionsAreCalledAsInTheTable) {
  const auto program = GoProgram::Build("", "");
  if (program == nullptr) GTEST_SKIP() << "no Go here";
  const auto table = OpenGoTable(program->path());
  ASSERT_NE(table, nullptr);
  FrameNames names(1 << 20);
  size_t found = 0;
  for (const std::string& line : RunLines("go tool nm '" + program->path() + "'")) {
    if (!line.ends_with(".abi0") && !line.ends_with(".abiinternal")) continue;
    const uint64_t address = std::stoull(line, nullptr, 16);
    const auto lines = names.Resolve(1, *table->file.source, address);
    const auto expected = table->table.Resolve(*table->file.source, address);
    if (lines.empty() || expected.empty()) continue;  // Data.
    EXPECT_EQ(lines[0].function, expected.back().function);
    ++found;
  }
  EXPECT_GT(found, 20u);
}

// A stripped program has inlined functions and lines without any debug information.
TEST(GoTable, IsWhereLinesComeFrom) {
  const auto program = GoProgram::Build("", "-ldflags='-s -w'");
  if (program == nullptr) GTEST_SKIP() << "no Go here";
  const ExecutableFilePtr file = OpenExecutable("", program->path(), 1);
  ASSERT_NE(file, nullptr);
  SourceLines lines({.own_root = "/no-such-directory", .proc = "/no-such-directory"});
  size_t inlined = 0;
  for (const std::vector<GoFrame>& place : program->Places(300)) {
    const auto found = lines.Resolve(1, file, place.front().address);
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found.front().file, place.front().file);
    EXPECT_EQ(found.front().line, place.front().line);
    inlined += found.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(inlined, 30u);
  EXPECT_FALSE(lines.IsBare());
}

TEST(GoTable, IsNotInOtherPrograms) {
  const auto self = OpenFile(OwnFile());
  const auto image = ElfImage::Create(*self->source);
  ASSERT_TRUE(image.ok());
  EXPECT_TRUE(absl::IsNotFound(GoTable::Open(*image, *self->source).status()));
}

}  // namespace
}  // namespace stackray::test
