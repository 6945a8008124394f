// Swift's names: what swift-demangle of Swift 6.0 prints with --simplified.
#include "symbolizer/swift/swift_demangle.h"

#include <gtest/gtest.h>

#include "symbolizer/demangle.h"
#include "tests/symbolizer/oracle.h"

namespace stackray {
namespace {

struct Pair {
  const char* mangled;
  const char* text;
};

constexpr Pair kNames[] = {
    {"$s10Foundation014_CFErrorSPIForA10XMLUseOnlyV018unsafelyAssumingIsB0ACyXl_tcfC",
     "_CFErrorSPIForFoundationXMLUseOnly.init(unsafelyAssumingIsCFError:)"},
    {"$s10Foundation026NSPersonNameComponentGivenC0SSvau",
     "NSPersonNameComponentGivenName.unsafeMutableAddressor"},
    {"$s10Foundation10CGRectEdgeO8rawValues6UInt32Vvg", "CGRectEdge.rawValue.getter"},
    {"$s10Foundation10FileHandleC06_checkbC033_2DF8E09821905D55FA342549A73ACFB7LLyyF",
     "FileHandle._checkFileHandle()"},
    {"$ss18LazyFilterSequenceV6filteryAByxGSb7ElementQzcFSbAFcfU_TA",
     "partial apply for closure #1 in LazyFilterSequence.filter(_:)"},
    {"$sSTsSL7ElementRpzrlE6sortedSayABGyFSbAB_ABtcfu_TA",
     "partial apply for implicit closure #1 in Sequence<>.sorted()"},
    {"$ss13_FixedArray16VyxGSlsSl5index_8offsetBy07limitedE05IndexQzSgAH_SiAHtFTW",
     "protocol witness for Collection.index(_:offsetBy:limitedBy:) in conformance "
     "_FixedArray16<A>"},
    {"$sScs12ContinuationV11TerminationOyxq___GytIeghnr_AEIeghn_s5ErrorR_r0_lTRTA",
     "partial apply for thunk for @escaping @callee_guaranteed @Sendable (@in_guaranteed "
     "AsyncThrowingStream<A, B>.Continuation.Termination) -> (@out ())"},
    {"$s20FoundationEssentials6LocaleV8CurrencyVSgWOhTm", "outlined destroy of Locale.Currency?"},
    {"$ss10ArraySliceVys5UInt8VGAByxGSmsWlTm",
     "lazy protocol witness table accessor for type ArraySlice<UInt8> and conformance "
     "ArraySlice<A>"},
    {"$sSaySiGSayxGSEsSERzlWlTm",
     "lazy protocol witness table accessor for type [Int] and conformance <A> [A]"},
    {"$sSa12arrayLiteralSayxGxd_tcfCs5Int64V_Tg5", "specialized Array.init(arrayLiteral:)"},
    {"$sSa12_endMutationyyFyXl_Ts5", "specialized Array._endMutation()"},
    {"$s5Glibc11DBL_MAX_EXP_WZ", "one-time initialization function for DBL_MAX_EXP"},
    {"$sSa9removeAll15keepingCapacityySb_tFfA_SS9UTF16ViewV_Tg5",
     "specialized default argument 0 of Array.removeAll(keepingCapacity:)"},
    {"$ss21_ObjectiveCBridgeableP026_unconditionallyBridgeFromA1Cyx01_A5CTypeQzSgFZTj",
     "dispatch thunk of static _ObjectiveCBridgeable._unconditionallyBridgeFromObjectiveC(_:)"},
    {"$sScS8_StorageC4nextxSgyYaFyyYbcAByx_Gcfu_yyYbcfu0_TA",
     "partial apply for implicit closure #2 in implicit closure #1 in AsyncStream._Storage.next()"},
    {"$sScS8_StorageCfD", "AsyncStream._Storage.__deallocating_deinit"},
    {"$s10Foundation20PersonNameComponentsV06middleC0SSSgvpfi",
     "variable initialization expression of PersonNameComponents.middleName"},
    {"$ss7_Int128VSjs9MagnitudeSj_SLWT",
     "associated type witness table accessor for Numeric.Magnitude : Comparable in _Int128"},
    {"$ss15UnboundedRange_O3zzzoPyyABFZ", "static UnboundedRange_.... postfix(_:)"},
    {"$sSh8IteratorVwta", "assignWithTake for Set.Iterator"},
    {"$s7ElementSciQzSbIegHnr_ABSbIegHnd_SciRzlTRTATQ0_",
     "partial apply for thunk for @escaping @callee_guaranteed @async (@in_guaranteed "
     "A.AsyncSequence.Element) -> (@out Bool)"},
    {"$s12_RegexParser3ASTV4AtomVSHAASQWb",
     "base witness table accessor for Equatable in AST.Atom"},
    {"$sSDyxq_GSHsSHR_rlWI",
     "instantiation function for generic protocol witness table for <> [A : B]"},
    {"$sSD5IndexVyS2S_Gwet", "getEnumTagSinglePayload for [String : String].Index"},
    {"$s20FoundationNetworking17HTTPCookieStorageC9setCookieyyAA0C0CFyyXEfU_TA",
     "partial apply for closure #1 in HTTPCookieStorage.setCookie(_:)"},
    {"$s20FoundationEssentials17PredicateBindingsVyAcA0C11ExpressionsO8VariableVy_xG_xtxQpcRvzlufC",
     "PredicateBindings.init<each A>(_:)"},
    {"$ss4SIMDPsSF6ScalarRpzrlE1moiyxx_xtFZ", "static SIMD<>.* infix(_:_:)"},
    {"$s5Glibc4log2yS2fFTJrSpSr", "reverse-mode derivative of log2(_:)"},
    {"$s4main3fooyyF", "foo()"},
    {"_$s4main3fooyyF", "foo()"},
    {"$S4main3fooyyF", "foo()"},
    {"_$S4main3fooyyF", "foo()"},
    {"$s4main3fooyyF.cold.1", "foo()"},
    {"$s4main12vergenza_JFayyF", "vergenza_JFa()"},
    {"$s4main0012vergenza_JFayyF", "vergüenza()"},
    {"$s4main3fooyyF5InnerL_V3baryyF", "bar() in Inner #1 in foo()"},
    {"$s4main3fooyyF3barL0_yySiF", "bar #2 (_:) in foo()"},
    {"$s4main1CC1d1xySi_tF", "C.d(x:)"},
    {"$s4main1CCfd", "C.deinit"},
    {"$s4main1VVMa", "type metadata accessor for V"},
    {"$s4main3fooyyYaFTY0_", "foo()"},
    {"$s4main3fooyyYaFTu", "async function pointer to foo()"},
    {"$s4main007p_qcaDcoiyS2i_SitF", "«+» infix(_:_:)"},
    {"$s4main1CCACycfc", "C.init()"},
    {"$s4main1CCyS2icir", "C.subscript.read"},
    {"$s4main1CC1xSivW", "C.x.didset"},
    {"$s4main5outeryyF5innerL_yyFyycfU0_", "closure #2 in inner #1 () in outer()"},
    {"$s4main3fooyyFTo", "@objc foo()"},
    {"$s4main1xSivlu", "x.unsafeAddressor"},
    {"$s4main3foo1aySi1b_SS1ct_tF", "foo(a:)"},
};

TEST(SwiftDemangle, IsWhatSwiftDemangleSaid) {
  for (const Pair& name : kNames) EXPECT_EQ(Demangle(name.mangled), name.text) << name.mangled;
  EXPECT_EQ(Demangle("$e4main3fooyyF"), "foo()");  // Embedded Swift, which that tool refuses.
}

TEST(SwiftDemangle, WhatIsNotUnderstoodStaysMangled) {
  for (const std::string_view name :
       {"$s", "$S", "_$s", "$s4main", "$s4mainF", "$s4main3fooyyFqqq", "$s9main",
        "$s4main3fooyyFTz", "$sAA", "$s4main3fooySo_tF", "$s99999999999999999999a", "$s00",
        "$s4main3fooyy", "$sS2048i", "$s4main3foo\x01\x02\x03\x04yyF", "$safe", "$stack",
        "_$start"})
    EXPECT_EQ(Demangle(name), name);
  for (const std::string_view name : {"", "_", "$", "_$", "s4main3fooyyF", "$x", "$d"}) {
    EXPECT_FALSE(IsSwift(name)) << name;
    EXPECT_FALSE(DemangleSwift(name)) << name;
  }
}

void ExpectBounded(const std::string& name) {
  const std::optional<std::string> text = DemangleSwift(name);
  if (!text) return;
  EXPECT_FALSE(text->empty()) << name;
  EXPECT_LE(text->size(), size_t{64} << 10) << name;
}

TEST(SwiftDemangle, DamagedNames) {
  for (const Pair& pair : kNames) {
    const std::string name = pair.mangled;
    for (size_t size = 0; size < name.size(); ++size) ExpectBounded(name.substr(0, size));
    for (size_t i = 0; i < name.size(); ++i) {
      for (const char c : std::string_view("\0_09AaBGSLtyzZ\x80\xff", 15)) {
        std::string damaged = name;
        damaged[i] = c;
        ExpectBounded(damaged);
      }
      ExpectBounded(name.substr(0, i) + name.substr(2));
    }
  }
}

// Names that would become long, deep or slow without bounds.
TEST(SwiftDemangle, HostileNamesAreBounded) {
  const auto repeated = [](std::string_view text, size_t count) {
    std::string all;
    while (count-- > 0) all += text;
    return all;
  };
  std::string doubling = "$sSiSi_SitSg";
  for (int i = 0; i < 25; ++i) doubling += std::string("A") + static_cast<char>('A' + i) + "_tSg";
  for (const std::string& name :
       {doubling + "Ma", "$sSi" + repeated("Sg", 8000) + "Ma", "$sSi" + repeated("m", 16000) + "Ma",
        "$s" + repeated("S2048i", 2700) + "Ma", "$s4main" + repeated("1aV", 5000) + "Ma",
        "$s4main3fooyyF" + repeated("yycfU_", 2600),
        "$s4main3fooyyxl" + repeated("Rvz", 5000) + "lF",
        "$s4main3fooyyr" + repeated("999999999_", 1600) + "lF",
        "$s8abcdefgh" + repeated("0aaaaaaaaA0", 1400), "$sx" + repeated("_xt", 5000) + "Ma",
        "$s001000" + repeated("a", 1000) + "yyF", "$s4main3foo" + repeated("L_", 8000) + "yyF"}) {
    ASSERT_LE(name.size(), size_t{17} << 10);
    ExpectBounded(name);
  }
  EXPECT_FALSE(DemangleSwift("$s4main3fooyyF." + std::string(16 << 10, 'a')));
  EXPECT_FALSE(DemangleSwift("$sSi" + repeated("Sg", 8000) + "Ma"));  // Too deep.
}

// Every name above, and all that the toolchain's own library has, against the tool itself.
TEST(SwiftDemangle, IsWhatSwiftDemanglePrints) {
  if (!test::HasTool("swift-demangle")) GTEST_SKIP() << "no swift-demangle";
  std::vector<std::string> names = test::RunLines(
      "nm -D --defined-only \"$(dirname $(readlink -f $(command -v swift-demangle)))"
      "/../lib/swift/linux/libswiftCore.so\" | awk '$2 == \"T\" && $3 ~ /^\\$s/ {print $3}'");
  for (const Pair& pair : kNames) names.emplace_back(pair.mangled);
  std::string list;
  for (const std::string& name : names) list += name + '\n';
  const test::TemporaryDirectory directory;
  const std::vector<std::string> theirs =
      test::RunLines("swift-demangle --simplified --compact < " + directory.Write("names", list));
  ASSERT_EQ(theirs.size(), names.size());
  size_t unknown = 0, different = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string ours = Demangle(names[i]);
    if (ours == theirs[i]) continue;
    ++(ours == names[i] ? unknown : different);
    std::cout << names[i] << "\n  " << ours << "\n  " << theirs[i] << '\n';
  }
  std::cout << names.size() << " names, " << unknown << " unknown, " << different << " different\n";
  EXPECT_LE(unknown, names.size() / 100);
  EXPECT_LE(different, names.size() / 1000);
}

}  // namespace
}  // namespace stackray
