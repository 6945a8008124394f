// Long proof: 10,000 random addresses and the stacks of a program of every Go since 1.16, against
// that Go's own runtime and addr2line. Versions that are not here are fetched by Go itself; without
// a network they are skipped.
#include <gtest/gtest.h>

#include "tests/symbolizer/go/go_oracle.h"

namespace stackray::test {
namespace {

class GoVersionOf : public testing::TestWithParam<const char*> {};

TEST_P(GoVersionOf, IsReadExactly) {
  const bool is_old = std::string_view(GetParam()) < "1.18";
  for (const char* arguments : {"-ldflags='-s -w'", "-buildmode=pie -ldflags='-s -w'"}) {
    // Their tables have addresses, which only relocations know.
    if (is_old && std::string_view(arguments).find("pie") != std::string_view::npos) continue;
    const auto program = GoProgram::Build(GetParam(), arguments);
    if (program == nullptr) GTEST_SKIP() << "Go " << GetParam() << " is not to be had";
    const GoStacks places = program->Places(10000);
    ASSERT_GT(places.size(), 9000u);
    const std::vector<GoFrame> outermost = program->AddressToLine(places);
    const auto table = OpenGoTable(program->path());
    ASSERT_NE(table, nullptr) << arguments;
    const GoComparison at = ComparePlaces(*table, places, outermost);
    const GoComparison in = CompareStacks(*table, program->Stacks());
    std::fprintf(stderr,
                 "Go %s %s: %zu addresses, %zu with inlined functions, %zu differ; %zu frames of "
                 "stacks, %zu differ\n",
                 GetParam(), arguments, at.asked, at.inlined, at.differ, in.asked, in.differ);
    EXPECT_EQ(at.differ, 0u) << at.examples;
    EXPECT_EQ(in.differ, 0u) << in.examples;
    EXPECT_GT(in.asked, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, GoVersionOf,
                         testing::Values("1.16.15", "1.17.13", "1.18.10", "1.19.13", "1.20.14",
                                         "1.21.13", "1.22.12", "1.23.12", "1.24.11", "1.25.5"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace stackray::test
