#include "interpreters/python/loader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "interpreters/python/python_data.h"
#include "interpreters/symbol_finder.h"
#include "tests/interpreters/recognised_library.h"

namespace stackray::test {
namespace {

std::shared_ptr<const PythonData> Recognised(const OpenedLibrary& file) {
  return RecogniseAs<PythonLoader, PythonData>(file);
}

TEST(SymbolFinder, TheHashTableKnowsWhatTheSymbolTableHas) {
  const OpenedLibrary file("fake_python_3_11");
  ASSERT_TRUE(file.image);
  const SymbolsByName symbols = FindSymbols(*file.image, *file.source, SymbolSection::kDynamic,
                                            [](std::string_view) { return true; });
  EXPECT_GT(symbols.size(), 3u);
  for (const auto& [name, symbol] : symbols)
    EXPECT_EQ(HasDynamicSymbol(*file.image, *file.source, name), true) << name;
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(HasDynamicSymbol(*file.image, *file.source, fmt::format("no_such_symbol_{}", i)),
              false);
}

TEST(PythonLoader, VersionsByTheirSymbols) {
  for (const int minor : {6, 7, 8, 9, 10, 11, 12}) {
    const OpenedLibrary file(fmt::format("fake_python_3_{}", minor));
    const auto data = Recognised(file);
    ASSERT_NE(data, nullptr) << minor;
    EXPECT_EQ(data->name(), fmt::format("python 3.{}", minor));
    EXPECT_TRUE(data->supported());
    EXPECT_EQ(data->type(), FrameType::kPython);
    EXPECT_EQ(data->layout().chain, minor <= 10   ? PYTHON_FRAME_OBJECTS
                                    : minor == 11 ? PYTHON_CFRAMES
                                                  : PYTHON_CFRAME_ENTRIES);
    EXPECT_FALSE(data->loop_code().empty());
  }
}

TEST(PythonLoader, VariablesAreWhereTheSymbolsAre) {
  const OpenedLibrary file("fake_python_3_11");
  const auto data = Recognised(file);
  ASSERT_NE(data, nullptr);
  const auto symbols =
      FindSymbols(*file.image, *file.source, SymbolSection::kDynamic, [](auto) { return true; });
  const uint64_t runtime = symbols.at("_PyRuntime").address;
  const uint64_t loop = symbols.at("_PyEval_EvalFrameDefault").address;
  const uint64_t distance = loop - *file.image->OffsetOfAddress(loop);
  const PythonFields& fields = FindPythonLayout(11, false)->fields;
  EXPECT_EQ(data->layout().interpreters_at, runtime - distance + fields.runtime_interpreters);
  EXPECT_EQ(data->layout().current_at, runtime - distance + fields.runtime_current);
  EXPECT_TRUE(data->loop_code().front().Contains(loop - distance) ||
              data->loop_code().back().Contains(loop - distance));
}

TEST(PythonLoader, ThreadLocalStateByItsAccessor) {
  const OpenedLibrary file("fake_python_3_12");
  const auto data = Recognised(file);
  ASSERT_NE(data, nullptr);
  EXPECT_EQ(data->layout().tls_kind,
            file.image->machine() == EM_AARCH64 ? PYTHON_TLS_DESCRIPTOR : PYTHON_TLS_MODULE);
  EXPECT_NE(data->layout().tls_at, 0u);
  EXPECT_EQ(data->layout().tls_offset, 0);
}

TEST(PythonLoader, UnknownVersionsSaySo) {
  const auto new_one = Recognised(OpenedLibrary("fake_python_3_99"));
  ASSERT_NE(new_one, nullptr);
  EXPECT_EQ(new_one->name(), "python 3.99");
  EXPECT_FALSE(new_one->supported());
  EXPECT_EQ(new_one->layout().chain, PYTHON_NO_CHAIN);
  const auto old_one = Recognised(OpenedLibrary("fake_python_3_5"));
  ASSERT_NE(old_one, nullptr);
  EXPECT_EQ(old_one->name(), "python 2");
  EXPECT_FALSE(old_one->supported());
}

TEST(PythonLoader, UsersOfPythonAreNotPython) {
  EXPECT_TRUE(OpenedLibrary("fake_extension").image.has_value());
  EXPECT_EQ(Recognised(OpenedLibrary("fake_extension")), nullptr);
  EXPECT_EQ(Recognised(OpenedLibrary("/proc/self/exe")), nullptr);
}

TEST(PythonLoader, TheSystemsOwnPython) {
  const OpenedLibrary file("/usr/bin/python3.11");
  if (!file.image) GTEST_SKIP() << "no /usr/bin/python3.11 here";
  const auto data = Recognised(file);
  ASSERT_NE(data, nullptr);
  EXPECT_EQ(data->name(), "python 3.11");
  EXPECT_TRUE(data->supported());
}

}  // namespace
}  // namespace stackray::test
