// Texts, compressed numbers and line tables, without a JVM.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interpreters/hotspot/compiled.h"
#include "interpreters/hotspot/java_heap.h"
#include "interpreters/hotspot/java_threads.h"
#include "interpreters/hotspot/language_names.h"
#include "interpreters/hotspot/method.h"
#include "interpreters/hotspot/unsigned5.h"
#include "tests/interpreters/fake_memory.h"

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
}

TEST(HotSpotText, WhatIsNoModifiedUtf8IsNoText) {
  const auto is_text = [](const Bytes& bytes) { return TextOfSymbol(bytes).has_value(); };
  EXPECT_TRUE(is_text({'a'}));
  EXPECT_FALSE(is_text({'a', 0})) << "a NUL has two bytes";
  EXPECT_FALSE(is_text({0xc0, 0x80})) << "and is a control character";
  EXPECT_FALSE(is_text({'a', 0x1b, '['}));
  EXPECT_FALSE(is_text({'a', 0x7f}));
  EXPECT_FALSE(is_text({0xc2, 0x85})) << "a control character beyond ASCII";
  EXPECT_FALSE(is_text({0xc1, 0xa1})) << "one byte would do";
  EXPECT_FALSE(is_text({0xe0, 0x81, 0xa1})) << "one byte would do";
  EXPECT_FALSE(is_text({0xff}));
  EXPECT_FALSE(is_text({0xe2, 0x82}));
  EXPECT_FALSE(is_text({0xf0, 0x9f, 0x98, 0x80})) << "UTF-8 that is not modified";
}

TEST(HotSpotText, ALongTextIsCutBetweenCharacters) {
  Bytes bytes(1023, 'a');
  for (const uint8_t byte : {0xe2, 0x82, 0xac}) bytes.push_back(byte);
  EXPECT_EQ(TextOfSymbol(bytes), std::string(1023, 'a'));
  bytes.push_back(0);
  EXPECT_EQ(TextOfSymbol(bytes), std::nullopt) << "what is cut has to be text, too";
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

TEST(HotSpotLanguages, AWordOfScalaIsNoOperator) {
  const auto scala = [](std::string_view method, std::string_view class_text = "C") {
    return FunctionText(class_text, method, "C.scala");
  };
  for (const char* const name :
       {"update", "updatePrice", "atLeast", "divide", "hashAll", "equalAll", "lessThan", "minus",
        "plusOne", "times", "barrier", "bangBang", "colonize", "percentOf", "upTo", "eqFree"})
    EXPECT_EQ(scala("$anonfun$" + std::string(name) + "$1"),
              "C.$anonfun$" + std::string(name) + "$1");
  EXPECT_EQ(scala("$anonfun$$plus$plus$1"), "C.$anonfun$++$1");
  EXPECT_EQ(scala("$anonfun$value_$eq$1$adapted"), "C.$anonfun$value_=$1$adapted");
  EXPECT_EQ(scala("apply", "C$$anonfun$update$1"), "C$$anonfun$update$1.apply") << "Scala 2.11";
  EXPECT_EQ(scala("run", "Cart$update"), "Cart$update.run");
  EXPECT_EQ(scala("unary_$bang"), "C.unary_!");
  EXPECT_EQ(scala("parse", "http.Content$minusType"), "http.Content-Type.parse");
  EXPECT_EQ(scala("$lessinit$greater$default$2"), "C.<init>$default$2");
}

TEST(HotSpotLanguages, CharactersOfScalaWithoutAWord) {
  const auto scala = [](std::string_view method) { return FunctionText("C", method, "C.scala"); };
  EXPECT_EQ(scala("with$u0020space"), "C.with space");
  EXPECT_EQ(scala("price$u20AC"), "C.price\u20ac");
  EXPECT_EQ(scala("bell$u0007"), "C.bell$u0007") << "a control character";
  EXPECT_EQ(scala("half$uD83D"), "C.half$uD83D") << "half of a pair";
  EXPECT_EQ(scala("is$u00"), "C.is$u00");
  EXPECT_EQ(scala("is$ubade"), "C.is$ubade");
}

TEST(HotSpotLanguages, CountersOfARunAreLeftOut) {
  EXPECT_EQ(FunctionText("a.Main$$Lambda$14", "run", ""), "a.Main$$Lambda.run");
  EXPECT_EQ(FunctionText("a.Main$$Lambda", "run", ""), "a.Main$$Lambda.run");
  EXPECT_EQ(FunctionText("a.Main$$Lambda$x1", "run", ""), "a.Main$$Lambda$x1.run");
  EXPECT_EQ(FunctionText("Script12", "run", "Script12.groovy"), "Script.run");
  EXPECT_EQ(FunctionText("Script12$_run_closure1", "call", "Script12.groovy"),
            "Script$_run_closure1.call");
  EXPECT_EQ(FileWithoutCounter("Script12.groovy"), "Script.groovy");
  EXPECT_EQ(FunctionText("Script12", "run", "Script12.java"), "Script12.run") << "a class's name";
  EXPECT_EQ(FunctionText("Scripts1", "run", "Scripts1.groovy"), "Scripts1.run");
  EXPECT_EQ(FileWithoutCounter("Script12a.groovy"), "Script12a.groovy");
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

// A thread, its String and the array of that, with their classes, in one of the forms that objects
// and references have.
struct MadeJvm {
  enum class Class { kNarrow, kWhole, kInMark };
  static constexpr uint64_t kThreadClass = 0x1000, kStringClass = 0x1100, kArrayClass = 0x1200,
                            kOwnClass = 0x1300, kPool = 0x2000, kRoot = 0x600, kThread = 0x10000,
                            kString = 0x11000, kArray = 0x12000;
  static constexpr uint32_t kName = 24, kValue = 16, kCoder = 28;

  explicit MadeJvm(Class class_form, bool narrow_references)
      : form(class_form), is_narrow(narrow_references) {
    layout.class_name = 8, layout.pool_bytes = 16, layout.symbol_length = 4, layout.symbol_body = 6;
    layout.unsigned5_excluded = 1;
    ThreadLayout& at = layout.threads;
    at.class_super = 16, at.class_pool = 24, at.class_field_stream = 32;
    at.flags_with_number = 21, at.flags_without = 10, at.flag_of_added = 2;
    for (uint64_t* variable : {&at.class_base_at, &at.oop_base_at}) PutVariable(variable, 0);
    for (uint64_t* variable : {&at.class_shift_at, &at.oop_shift_at}) PutVariable(variable, 3);
    uint64_t index = 0;
    for (const char* const text : {"name", "Ljava/lang/String;", "value", "[B", "coder", "B"})
      memory.Put<uint64_t>(kPool + 16 + 8 * ++index, Symbol(text));
    PutClass(kThreadClass, "java/lang/Thread", 0, {1, 0, 1, 2, kName, 0, 0});
    PutClass(kStringClass, "java/lang/String", 0, {2, 0, 3, 4, kValue, 0, 0, 5, 6, kCoder, 0, 0});
    PutClass(kArrayClass, "[B", 0, {0, 0});
    PutClass(kOwnClass, "own/Worker", kThreadClass, {0, 0});
    memory.Put<uint64_t>(kRoot, kThread);
    PutHeader(kThread, kThreadClass);
    PutReference(kThread + kName, kString);
    PutString(kString);
  }

  void PutVariable(uint64_t* place, uint64_t value) {
    *place = next_variable += 8;
    memory.Put<uint64_t>(*place, value);
  }
  uint64_t Symbol(std::string_view text) {
    const uint64_t at = next_symbol += 64;
    memory.Put<uint16_t>(at + 4, static_cast<uint16_t>(text.size()));
    memory.PutBytes(at + 6, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    return at;
  }
  void PutClass(uint64_t at, std::string_view name, uint64_t super, const Bytes& fields) {
    memory.Put<uint64_t>(at + 8, Symbol(name));
    memory.Put<uint64_t>(at + 16, super);
    memory.Put<uint64_t>(at + 24, kPool);
    memory.Put<uint64_t>(at + 32, at + 64);
    memory.Put<uint32_t>(at + 64, static_cast<uint32_t>(fields.size()));
    for (size_t i = 0; i < fields.size(); ++i)
      memory.Put<uint8_t>(at + 68 + i, static_cast<uint8_t>(fields[i] + 1));
  }
  void PutHeader(uint64_t object, uint64_t klass) {
    memory.Put<uint64_t>(object, form == Class::kInMark ? klass >> 3 << 42 : 1);
    if (form == Class::kWhole) memory.Put<uint64_t>(object + 8, klass);
    if (form == Class::kNarrow) memory.Put<uint32_t>(object + 8, static_cast<uint32_t>(klass >> 3));
  }
  void PutReference(uint64_t at, uint64_t object) {
    if (is_narrow)
      memory.Put<uint32_t>(at, static_cast<uint32_t>(object >> 3));
    else
      memory.Put<uint64_t>(at, object);
  }
  uint64_t LengthAt() const {
    return kArray + (form == Class::kInMark ? 8 : form == Class::kNarrow ? 12 : 16);
  }
  void PutString(uint64_t at) {
    PutHeader(at, kStringClass);
    PutReference(at + kValue, kArray);
    memory.Put<uint8_t>(at + kCoder, 0);
    PutHeader(kArray, kArrayClass);
    memory.Put<uint32_t>(LengthAt(), 6);
    memory.PutBytes(LengthAt() + 4, Bytes{'w', 'o', 'r', 'k', 'e', 'r'});
  }
  std::optional<JavaHeap::ThreadName> Name() {
    return JavaHeap(layout).NameOfThread(memory, kRoot);
  }
  std::string Text() { return Name().value_or(JavaHeap::ThreadName{.text = "none"}).text; }

  const Class form;
  const bool is_narrow;
  stackray::test::FakeMemory memory;
  Layout layout;
  uint64_t next_variable = 0x500, next_symbol = 0x4000;
};

TEST(HotSpotHeap, AThreadsNameIsFoundInEachForm) {
  for (const MadeJvm::Class form :
       {MadeJvm::Class::kNarrow, MadeJvm::Class::kWhole, MadeJvm::Class::kInMark})
    for (const bool is_narrow : {false, true}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(form) << " " << is_narrow);
      MadeJvm jvm(form, is_narrow);
      EXPECT_EQ(jvm.Text(), "worker");
      EXPECT_FALSE(jvm.Name()->may_be_old);
      jvm.PutHeader(MadeJvm::kThread, MadeJvm::kOwnClass);
      EXPECT_EQ(jvm.Text(), "worker") << "a class below Thread";
      jvm.memory.Put<uint8_t>(MadeJvm::kString + MadeJvm::kCoder, 1);
      EXPECT_EQ(jvm.Text(), "\u6f77\u6b72\u7265") << "UTF-16";
    }
}

TEST(HotSpotHeap, WhatIsNoThreadOrStringHasNoName) {
  const auto name_of = [](const auto& damage) {
    MadeJvm jvm(MadeJvm::Class::kWhole, false);
    damage(jvm);
    return jvm.Text();
  };
  EXPECT_EQ(name_of([](MadeJvm& jvm) { jvm.PutHeader(MadeJvm::kThread, MadeJvm::kStringClass); }),
            "none");
  EXPECT_EQ(name_of([](MadeJvm& jvm) { jvm.PutHeader(MadeJvm::kString, MadeJvm::kArrayClass); }),
            "none");
  EXPECT_EQ(name_of([](MadeJvm& jvm) { jvm.PutHeader(MadeJvm::kArray, MadeJvm::kStringClass); }),
            "none");
  EXPECT_EQ(name_of([](MadeJvm& jvm) { jvm.memory.Put<uint32_t>(jvm.LengthAt(), 0xffffffff); }),
            "none");
  EXPECT_EQ(name_of([](MadeJvm& jvm) { jvm.memory.Put<uint64_t>(MadeJvm::kRoot, 0); }), "none");
  // Classes above each other in a ring.
  EXPECT_EQ(name_of([](MadeJvm& jvm) {
              jvm.PutClass(MadeJvm::kOwnClass, "own/Worker", MadeJvm::kOwnClass, {0, 0});
              jvm.PutHeader(MadeJvm::kThread, MadeJvm::kOwnClass);
            }),
            "none");
  // More fields than there are.
  EXPECT_EQ(name_of([](MadeJvm& jvm) {
              jvm.PutClass(MadeJvm::kThreadClass, "java/lang/Thread", 0, {200, 0, 3, 2, 8, 0, 0});
            }),
            "none");
}

// ZGC without generations has moved the String, and not told the thread's field.
struct MadeZgc : MadeJvm {
  static constexpr uint64_t kGlobals = 0x700, kForwarding = 0xb000, kNew = 0x31000;
  static constexpr uint64_t kBad = uint64_t{1} << 42, kGood = uint64_t{1} << 43;
  MadeZgc() : MadeJvm(Class::kWhole, false) {
    ThreadLayout& at = layout.threads;
    PutVariable(&at.colours_at, kGlobals);
    at.bad_mask = 0, at.forwarding.offset_mask = 8, at.forwarding.good_mask = 16;
    uint64_t field = kGlobals;
    for (const uint64_t mask : {kBad, kBad - 1, kGood}) {
      memory.Put<uint64_t>(field, field + 0x80);
      memory.Put<uint64_t>(field + 0x80, mask);
      field += 8;
    }
    ForwardingLayout& moves = at.forwarding;
    moves.heap = 16, moves.table = 32, moves.map = 8;
    moves.begin = 0, moves.alignment_shift = 16, moves.entries = 24, moves.bytes = 60;
    PutVariable(&moves.collected_heap_at, 0x9000);
    memory.Put<uint64_t>(0x9000 + 16 + 32 + 8, 0xa000);
    memory.Put<uint64_t>(0xa000, kForwarding);
    memory.Put<uint64_t>(kForwarding, 0);
    memory.Put<uint64_t>(kForwarding + 16, 3);
    memory.Put<uint64_t>(kForwarding + 24, 2);
    PutEntry(0, 0x99, 0x5000);
    PutEntry(1, kString >> 3, kNew);
    PutReference(kThread + kName, kString | kBad);
    PutHeader(kString, kArrayClass);  // What is at its old place now.
    PutString(kNew | kGood);
  }
  void PutEntry(uint64_t slot, uint64_t old_place, uint64_t offset) {
    memory.Put<uint64_t>(kForwarding + 64 + 8 * slot, old_place << 46 | offset << 1 | 1);
  }
};

TEST(HotSpotHeap, AMovedStringIsFollowed) {
  MadeZgc jvm;
  ASSERT_EQ(jvm.Text(), "worker");
  EXPECT_FALSE(jvm.Name()->may_be_old);
  jvm.PutEntry(1, 0x98, MadeZgc::kNew);
  EXPECT_EQ(jvm.Text(), "none") << "a table that is full of others ends";
  jvm.memory.Put<uint64_t>(MadeZgc::kForwarding + 24, 3);
  EXPECT_EQ(jvm.Text(), "none") << "no size of a hash table";
  jvm.memory.Put<uint64_t>(0xa000, 0);
  EXPECT_EQ(jvm.Text(), "none") << "an object that stays, and is no String";
  jvm.PutString(MadeJvm::kString | MadeZgc::kGood);
  EXPECT_EQ(jvm.Text(), "worker");
}

// The generational ZGC: all references are coloured, and a generation has moved the String.
struct MadeGenerations : MadeJvm {
  static constexpr uint64_t kGlobals = 0x700, kGeneration = 0x9000, kForwarding = 0xb000;
  static constexpr uint64_t kNew = 0x31000, kBadBit = 1 << 12, kGoodBit = 1 << 13;
  explicit MadeGenerations(bool is_young) : MadeJvm(Class::kWhole, false) {
    ThreadLayout& at = layout.threads;
    PutVariable(&at.colours_at, kGlobals);
    at.load_bad_mask = 0, at.generational.offset_mask = 8;
    memory.Put<uint64_t>(kGlobals, kGlobals + 0x80);
    memory.Put<uint64_t>(kGlobals + 0x80, kBadBit);
    memory.Put<uint64_t>(kGlobals + 8, kGlobals + 0x88);
    memory.Put<uint64_t>(kGlobals + 0x88, (uint64_t{1} << 42) - 1);
    ForwardingLayout& moves = at.generational;
    moves.map = 8, moves.begin = 0, moves.alignment_shift = 16, moves.entries = 24;
    moves.bytes = 60;
    PutVariable(is_young ? &at.young_generation_at : &at.old_generation_at, kGeneration);
    memory.Put<uint64_t>(kGeneration + 32, 1);
    memory.Put<uint64_t>(kGeneration + 32 + 8, 0xa000);
    memory.Put<uint64_t>(0xa000, kForwarding);
    memory.Put<uint64_t>(kForwarding, 0);
    memory.Put<uint64_t>(kForwarding + 16, 3);
    memory.Put<uint64_t>(kForwarding + 24, 1);
    memory.Put<uint64_t>(kForwarding + 64, (kString >> 3) << 46 | kNew << 1 | 1);
    memory.Put<uint64_t>(kRoot, kThread << 14 | kGoodBit);
    memory.Put<uint64_t>(kThread + kName, kString << 13 | kBadBit);
    PutHeader(kString, kArrayClass);  // What is at its old place now.
    PutString(kNew);
    memory.Put<uint64_t>(kNew + kValue, kArray << 14 | kGoodBit);
  }
};

TEST(HotSpotHeap, WhatAGenerationHasMovedIsFollowed) {
  for (const bool is_young : {true, false}) {
    MadeGenerations jvm(is_young);
    ASSERT_EQ(jvm.Text(), "worker");
    EXPECT_TRUE(jvm.Name()->may_be_old) << "the kernel's name must agree";
    jvm.memory.Put<uint64_t>(MadeGenerations::kGeneration + 32, 0);
    EXPECT_EQ(jvm.Text(), "none") << "no granule is in the table";
  }
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
