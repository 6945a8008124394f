// Texts, compressed numbers and line tables, without a JVM.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interpreters/hotspot/compiled.h"
#include "interpreters/hotspot/java_heap.h"
#include "interpreters/hotspot/java_threads.h"
#include "interpreters/hotspot/language_names.h"
#include "interpreters/hotspot/method.h"
#include "interpreters/hotspot/unsigned5.h"

namespace stackray::hotspot {
namespace {

using Bytes = std::vector<uint8_t>;

TEST(HotSpotClassText, PackagesHaveDots) {
  EXPECT_EQ(ClassText("java/util/HashMap$Node"), "java.util.HashMap$Node");
  EXPECT_EQ(ClassText("Main"), "Main");
  EXPECT_EQ(ClassText(""), "");
}

TEST(HotSpotClassText, TheAddressOfAHiddenClassIsLeftOut) {
  EXPECT_EQ(ClassText("Main$$Lambda$14+0x00007f1234567890"), "Main$$Lambda$14");
  EXPECT_EQ(ClassText("a/Main$$Lambda/0x800000011"), "a.Main$$Lambda");
  EXPECT_EQ(ClassText("a/0xnot"), "a.0xnot");
}

TEST(HotSpotText, ModifiedUtf8BecomesUtf8) {
  const auto text = [](const Bytes& bytes) { return TextOfSymbol(bytes); };
  EXPECT_EQ(text({'a', 0xc3, 0xa4, 0xe2, 0x82, 0xac}), "a\u00e4\u20ac");
  EXPECT_EQ(text({0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80}), "\U0001F600");
  EXPECT_EQ(text({0xed, 0xa0, 0xbd, 'x'}), "?x") << "half of a pair";
  EXPECT_EQ(text({0xc0, 0x80, 0xff, 0xe2, 0x82}), "????") << "a NUL, and damage";
}

TEST(HotSpotText, Utf16BecomesUtf8) {
  EXPECT_EQ(TextOfUnits(u"a\u00e4\u20ac\U0001F600"), "a\u00e4\u20ac\U0001F600");
  EXPECT_EQ(TextOfUnits(std::u16string{0xd83d}), "?") << "half of a pair";
  EXPECT_EQ(TextOfUnits(std::u16string{0xde00, 'x', 0, 0xd83d, 'y'}), "?x??y");
}

TEST(HotSpotThreads, TheKernelsNameIsAShortOne) {
  EXPECT_TRUE(IsShortFor("main", "main"));
  EXPECT_TRUE(IsShortFor("pool-1-thread-1", "pool-1-thread-10"));
  EXPECT_TRUE(IsShortFor("ForkJoi..rker-1", "ForkJoinPool.commonPool-worker-1")) << "JDK 26";
  EXPECT_FALSE(IsShortFor("ForkJoi..rker-1", "ForkJoinPool.commonPool-worker-2"));
  EXPECT_FALSE(IsShortFor("java", "main"));
  EXPECT_FALSE(IsShortFor("main", "main thread")) << "it was short enough to be whole";
  EXPECT_FALSE(IsShortFor("", "")) << "nothing says that it is right";
}

TEST(HotSpotUnsigned5, IsWhatTheJvmWrites) {
  const Bytes small = {5, 191, 192, 1};  // 5; 191; 192 + 1 * 64
  Unsigned5 old(small, 0);
  EXPECT_EQ(old.Next(), 5u);
  EXPECT_EQ(old.Next(), 191u);
  EXPECT_EQ(old.Next(), 256u);
  EXPECT_EQ(old.Next(), std::nullopt);
  const Bytes newer = {1, 191, 192, 2, 0};  // 0; 190; 191 + 1 * 64
  Unsigned5 now(newer, 1);
  EXPECT_EQ(now.Next(), 0u);
  EXPECT_EQ(now.Next(), 190u);
  EXPECT_EQ(now.Next(), 255u);
  EXPECT_EQ(now.Next(), std::nullopt) << "a zero byte is no number from JDK 20 on";
  const Bytes largest = {255, 255, 255, 255, 255};
  EXPECT_NE(Unsigned5(largest, 0).Next(), std::nullopt) << "the fifth byte is the last";
}

TEST(HotSpotUnsigned5, SignsAreFolded) {
  const Bytes bytes = {0, 1, 2, 3};
  Unsigned5 numbers(bytes, 0);
  EXPECT_EQ(numbers.NextSigned(), 0);
  EXPECT_EQ(numbers.NextSigned(), -1);
  EXPECT_EQ(numbers.NextSigned(), 1);
  EXPECT_EQ(numbers.NextSigned(), -2);
}

TEST(HotSpotLines, ShortAndWideStepsAddUp) {
  const Bytes table = {0xff, 0, 200, 3, 3 << 3 | 4, 0xff, 1, 1, 0, 99};
  const std::vector<LineEntry> lines = ReadLines(table, 0);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].line, (200 + 3 * 64) / 2);
  EXPECT_EQ(lines[1].bytecode, 3);
  EXPECT_EQ(lines[1].line, lines[0].line + 4);
  EXPECT_EQ(lines[2].bytecode, 2);
  EXPECT_EQ(lines[2].line, lines[1].line - 1);
  EXPECT_TRUE(ReadLines(Bytes{0xff, 200}, 0).empty());
}

// A byte goes on from 192 on, whatever values are left out (JDK 20, utilities/unsigned5.hpp).
TEST(HotSpotNumbers, AByteGoesOnFrom192On) {
  for (const uint32_t excluded : {0u, 1u}) {
    const Bytes bytes{191, 192, 5, 255, 255, 3};
    Unsigned5 numbers(bytes, excluded);
    EXPECT_EQ(numbers.Next(), 191 - excluded);
    EXPECT_EQ(numbers.Next(), 192 - excluded + 64 * (5 - excluded));
    EXPECT_EQ(numbers.Next(), (255 - excluded) * 65 + 4096 * (3 - excluded));
  }
}

TEST(HotSpotLines, TheClosestEntryBeforeCounts) {
  const Method method{.lines = {{0, 10}, {8, 30}, {4, 20}}};
  EXPECT_EQ(method.At(-1).line, 0);
  EXPECT_EQ(method.At(3).line, 10);
  EXPECT_EQ(method.At(7).line, 20);
  EXPECT_EQ(method.At(9).line, 30);
}

TEST(HotSpotLanguages, NamesAreThoseOfTheSource) {
  EXPECT_EQ(FunctionText("shop.Cart", "add", "Cart.java"), "shop.Cart.add");
  EXPECT_EQ(FunctionText("shop.CartKt", "total", "Cart.kt"), "shop.CartKt.total");
  EXPECT_EQ(FunctionText("shop.Cart$", "$plus$plus", "Cart.scala"), "shop.Cart.++");
  EXPECT_EQ(FunctionText("shop.Cart", "$anonfun$total$1", "Cart.scala"),
            "shop.Cart.$anonfun$total$1");
  EXPECT_EQ(FunctionText("my_shop.core$run_all_BANG_", "invokeStatic", "core.clj"),
            "my-shop.core/run-all!");
  EXPECT_EQ(FunctionText("user$outer$inner__12", "doInvoke", "core.clj"), "user/outer/inner--12");
  EXPECT_EQ(FunctionText("user$f", "getRequiredArity", "core.clj"), "user/f.getRequiredArity");
  EXPECT_EQ(FunctionText("clojure.core__init", "load", "core.clj"), "clojure.core__init.load");
  EXPECT_EQ(FunctionText("$", "$", ".scala"), "$.$");
}

TEST(HotSpotScopes, TheNextDescriptionCounts) {
  Bytes descs;
  for (const int32_t word : {-1, 0, 0, 0, 16, 5, 0, 0, 32, 9, 0, 0})
    for (int i = 0; i < 4; ++i) descs.push_back(static_cast<uint8_t>(word >> 8 * i));
  EXPECT_EQ(ScopeOfPlace(descs, 16), 5u);
  EXPECT_EQ(ScopeOfPlace(descs, 17), 9u);
  EXPECT_EQ(ScopeOfPlace(descs, 0), 5u);
  EXPECT_EQ(ScopeOfPlace(descs, 33), 0u);
  EXPECT_EQ(ScopeOfPlace({}, 0), 0u);
}

}  // namespace
}  // namespace stackray::hotspot
