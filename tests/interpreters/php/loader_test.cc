#include "interpreters/php/loader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "bpf/shared/unwind_table.h"
#include "interpreters/php/php_data.h"
#include "interpreters/symbol_finder.h"
#include "tests/interpreters/recognised_library.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::test {
namespace {

struct FakePhp : OpenedLibrary {
  explicit FakePhp(const std::string& name)
      : OpenedLibrary(name), data(RecogniseAs<PhpLoader, PhpData>(*this)) {}
  uint64_t PlaceOf(const std::string& symbol) const {
    return OpenedLibrary::PlaceOf(AddressOf(symbol), "execute_ex");
  }
  std::shared_ptr<const PhpData> data;
};

TEST(PhpLoader, VersionAndVariablesOfAProcessWithOneThread) {
  const FakePhp php("fake_php_8_2");
  ASSERT_NE(php.data, nullptr);
  EXPECT_EQ(php.data->name(), "php 8.2");
  EXPECT_TRUE(php.data->supported());
  EXPECT_EQ(php.data->type(), FrameType::kPhp);
  const php_layout& layout = php.data->layout();
  EXPECT_EQ(layout.globals, PHP_GLOBALS_ONE);
  EXPECT_EQ(layout.globals_at, php.PlaceOf("executor_globals"));
  EXPECT_EQ(layout.generator_class_at, php.PlaceOf("zend_ce_generator"));
  EXPECT_EQ(layout.globals_current, 488u);
  EXPECT_EQ(layout.closures_are_named, 0u);
  ASSERT_EQ(php.data->loop_code().size(), 1u);
  EXPECT_EQ(layout.loop_begin, php.data->loop_code()[0].begin);
  EXPECT_GT(layout.loop_end, layout.loop_begin);
}

// readelf's rows of the loop, weighed by the bytes that they hold for.
std::string MostOfTheLoop(const std::string& file, uint64_t begin, uint64_t bytes) {
  std::map<std::string, uint64_t> weights;
  std::string rule, fde = fmt::format("pc={:016x}..", begin);
  uint64_t at = 0;
  bool inside = false;
  const auto add = [&](uint64_t to) {
    if (!rule.empty()) weights[rule] += to - at;
  };
  for (const std::string& line : RunLines("readelf -wF " + file)) {
    if (line.find("pc=") != std::string::npos) inside = line.find(fde) != std::string::npos;
    std::istringstream columns(line);
    std::string location, cfa;
    if (!inside || !(columns >> location >> cfa) || location.size() != 16) continue;
    const uint64_t next = std::strtoull(location.c_str(), nullptr, 16);
    if (next < begin || next >= begin + bytes) continue;
    add(next);
    at = next;
    rule = cfa;
  }
  add(begin + bytes);
  const auto most = std::max_element(weights.begin(), weights.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  return most == weights.end() ? "" : most->first;
}

TEST(PhpLoader, MadeCodeIsLeftAsMostOfTheLoopIs) {
  if (!HasTool("readelf")) GTEST_SKIP() << "no readelf here";
  const FakePhp php("fake_php_8_2");
  ASSERT_NE(php.data, nullptr);
  const FoundSymbol loop =
      FindSymbols(*php.image, *php.source, SymbolSection::kDynamic, [](auto name) {
        return name == "execute_ex";
      }).at("execute_ex");
  const std::string most =
      MostOfTheLoop(std::string(FAKE_PYTHONS) + "/fake_php_8_2.so", loop.address, loop.size_bytes);
  ASSERT_TRUE(php.data->made_code_rule().has_value());
  const uint16_t rule = *php.data->made_code_rule();
  const bool is_arm64 = php.image->machine() == EM_AARCH64;
  const int unit = is_arm64 ? ARM64_CFA_UNIT : 8, bytes = (rule & CODE_CFA_MASK) * unit;
  const bool is_sp = rule >> CODE_BASE_SHIFT == (is_arm64 ? ARM64_BASE_SP : CODE_BASE_RSP);
  const char* base = is_arm64 ? (is_sp ? "sp" : "x29") : (is_sp ? "rsp" : "rbp");
  EXPECT_EQ(fmt::format("{}+{}", base, bytes), most);
  EXPECT_GT(bytes, 12 * 8) << "the frame has an array of twelve words";
}

TEST(PhpLoader, ThreadSafeBuildsHaveABlockForEachThread) {
  const FakePhp php("fake_php_8_5_zts");
  ASSERT_NE(php.data, nullptr);
  EXPECT_EQ(php.data->name(), "php 8.5");
  const php_layout& layout = php.data->layout();
  EXPECT_EQ(layout.globals, PHP_GLOBALS_OFFSET);
  EXPECT_EQ(layout.globals_at, php.PlaceOf("executor_globals_offset"));
  EXPECT_EQ(layout.tls_kind, PYTHON_TLS_KEY);
  EXPECT_NE(layout.tls_at, 0u);
  EXPECT_EQ(layout.globals_current, 512u);
  EXPECT_EQ(layout.closures_are_named, 1u);
}

TEST(PhpLoader, TheOldestOneNumbersItsGlobals) {
  const FakePhp php("fake_php_7_3_zts");
  ASSERT_NE(php.data, nullptr);
  EXPECT_EQ(php.data->layout().globals, PHP_GLOBALS_NUMBER);
  EXPECT_EQ(php.data->layout().globals_at, php.PlaceOf("executor_globals_id"));
}

TEST(PhpLoader, VersionsThatAreNotKnownAreNamed) {
  for (const auto& [file, name] :
       {std::pair("fake_php_9_1", "php 9.1"), {"fake_php_7_2", "php 7.2"}}) {
    const FakePhp php(file);
    ASSERT_NE(php.data, nullptr) << file;
    EXPECT_EQ(php.data->name(), name);
    EXPECT_FALSE(php.data->supported());
    EXPECT_EQ(php.data->layout().globals_at, 0u);
  }
}

TEST(PhpLoader, OtherLibrariesHoldNone) {
  EXPECT_EQ(FakePhp("fake_python_3_11").data, nullptr);
  EXPECT_EQ(FakePhp("fake_extension").data, nullptr);
}

}  // namespace
}  // namespace stackray::test
