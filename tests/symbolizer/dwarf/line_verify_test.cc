// Long proof: 10,000 random addresses of files with debug information against llvm-symbolizer:
// programs of this build, and what this machine has of kDefault, or those that STACKRAY_LINE_FILES
// names instead (separated by ':').
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <set>
#include <sstream>

#include "symbolizer/dwarf/debug_file.h"
#include "tests/symbolizer/dwarf/line_oracle.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::test {
namespace {

// Programs of other makers that often have debug information of their own; and debug files.
constexpr const char* kDefault =
    "$(ls -d /usr/bin/node /usr/bin/php[0-9]* /usr/local/bin/* /usr/local/go/bin/* "
    "$HOME/.pyenv/versions/*/bin/python3.[0-9]* $HOME/.pyenv/versions/*/lib/libpython3*.so.1.0) "
    "$(find /usr/lib/debug -name '*.debug' -size +64k)";
constexpr uint64_t kLeastTextBytes = 20'000;
constexpr size_t kMostFiles = 25;

bool HasLines(const std::string& path) {
  const auto opened = OpenFile(path);
  if (!opened) return false;
  const auto image = ElfImage::Create(*opened->source);
  if (!image.ok()) return false;
  const ElfSection *info = image->FindSection(".debug_info"), *text = image->FindSection(".text");
  return info != nullptr && info->size_bytes > 0 && text != nullptr &&
         text->size_bytes >= kLeastTextBytes;
}

std::vector<std::string> Files() {
  std::vector<std::string> files;
  if (const char* named = getenv("STACKRAY_LINE_FILES")) {
    std::istringstream list(named);
    for (std::string file; std::getline(list, file, ':');) files.push_back(file);
    return files;
  }
  std::set<std::string> seen;  // Many names lead to one file.
  for (const std::string& path :
       RunLines(fmt::format("for file in '{}' '{}'/stackray {}; do realpath \"$file\"; done",
                            OwnFile(), STACKRAY_BINARY_DIR, kDefault)))
    if (files.size() < kMostFiles && seen.insert(path).second && HasLines(path))
      files.push_back(path);
  return files;
}

class Lines : public testing::TestWithParam<std::string> {};

TEST_P(Lines, AgreeWithLlvmAtRandomAddresses) {
  if (NewestLlvm().version < kFirstGoodLlvm)
    GTEST_SKIP() << "no llvm-symbolizer here that is at least of version " << kFirstGoodLlvm;
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
