// Long proof: 10,000 random addresses of every program with debug information that this build made, and of those
// that STACKRAY_LINE_FILES names (separated by ':'), against llvm-symbolizer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <sstream>

#include "symbolizer/dwarf/debug_file.h"
#include "tests/symbolizer/dwarf/line_oracle.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::test {
namespace {

std::vector<std::string> Files() {
  std::vector<std::string> files;
  if (const char* named = getenv("STACKRAY_LINE_FILES")) {
    std::istringstream list(named);
    for (std::string file; std::getline(list, file, ':');) files.push_back(file);
  }
  return files;
}

class Lines : public testing::TestWithParam<std::string> {};

TEST_P(Lines, AgreeWithLlvmAtRandomAddresses) {
  if (!HasTool("llvm-symbolizer")) GTEST_SKIP() << "no llvm-symbolizer here";
  const auto opened = OpenFile(GetParam());
  ASSERT_TRUE(opened) << GetParam();
  const std::vector<uint64_t> addresses = RandomTextAddresses(GetParam(), 10000);
  const auto expected = AskLlvm(GetParam(), addresses);
  ASSERT_EQ(expected.size(), addresses.size());
  const auto start = std::chrono::steady_clock::now();
  const auto file = dwarf::DebugFile::Open(*opened->source, SettingsFor(GetParam()));
  ASSERT_NE(file, nullptr);
  const auto open = std::chrono::steady_clock::now();
  const Comparison result =
      Compare(addresses, expected, [&](uint64_t address) { return file->Resolve(address); });
  const auto end = std::chrono::steady_clock::now();
  const auto ms = [](auto time) { return std::chrono::duration<double, std::milli>(time).count(); };
  std::fprintf(stderr,
               "%s: %zu asked, %zu inlined, functions differ %zu, stacks differ %zu; open %.1f ms, "
               "%.1f us each, %zu kB\n%s",
               GetParam().c_str(), result.asked, result.inlined, result.functions_differ,
               result.stacks_differ, ms(open - start),
               ms(end - open) * 1000 / static_cast<double>(result.asked + 1), file->bytes() / 1024,
               result.examples.c_str());
  EXPECT_GT(result.asked, addresses.size() / 4);
  EXPECT_LE(result.functions_differ, result.asked / 10000);
  EXPECT_LE(result.stacks_differ, result.asked / 1000);
}

INSTANTIATE_TEST_SUITE_P(Programs, Lines, testing::ValuesIn(Files()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Lines);

}  // namespace
}  // namespace stackray::test
