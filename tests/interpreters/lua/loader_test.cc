#include "interpreters/lua/loader.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "interpreters/lua/lua_data.h"
#include "interpreters/symbol_finder.h"
#include "tests/interpreters/recognised_library.h"

namespace stackray::test {
namespace {

struct LuaFile : OpenedLibrary {
  explicit LuaFile(const std::string& name)
      : OpenedLibrary(name), data(RecogniseAs<LuaLoader, LuaData>(*this)) {}
  std::shared_ptr<const LuaData> data;
};

TEST(LuaLoader, TheLoopIsFoundByItsNameAndByItsTable) {
  const LuaFile whole("fake_lua_5_4"), stripped("fake_lua_5_4_stripped");
  ASSERT_NE(whole.data, nullptr);
  ASSERT_NE(stripped.data, nullptr);
  for (const auto& data : {whole.data, stripped.data}) {
    EXPECT_EQ(data->version(), (LuaVersion{.major = 5, .minor = 4, .release = 6}));
    EXPECT_TRUE(data->supported());
    ASSERT_EQ(data->loop_code().size(), 1u);
  }
  EXPECT_EQ(whole.data->loop_code()[0].begin, stripped.data->loop_code()[0].begin);
  const auto loop = FindSymbols(*whole.image, *whole.source, SymbolSection::kAll,
                                [](std::string_view name) { return name == "luaV_execute"; });
  ASSERT_EQ(loop.size(), 1u);
  EXPECT_EQ(whole.data->loop_code()[0].begin,
            *whole.image->OffsetOfAddress(loop.begin()->second.address));
}

TEST(LuaLoader, AVersionThatIsNotKnownSaysSo) {
  const LuaFile file("fake_lua_5_9");
  ASSERT_NE(file.data, nullptr);
  EXPECT_FALSE(file.data->supported());
  EXPECT_EQ(file.data->version(), (LuaVersion{.major = 5, .minor = 9}));
}

}  // namespace
}  // namespace stackray::test
