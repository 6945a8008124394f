// Demangling against c++filt, on every mangled name of real libraries.
#include "symbolizer/demangle.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <set>

#include "tests/symbolizer/oracle.h"

namespace stackray {
namespace {

using test::RunLines;

std::vector<std::string> MangledNames() {
  std::set<std::string> names;
  for (const std::string& path : test::InterestingFiles()) {
    size_t taken = 0;
    for (const std::string& line :
         RunLines("(readelf -sW --dyn-syms '" + path + "' | awk '{print $8}' | grep '^_[ZRG]')")) {
      if (++taken > 20000) break;
      names.insert(line.substr(0, line.find('@')));
    }
  }
  return {names.begin(), names.end()};
}

TEST(Demangle, IsWhatCppfiltPrints) {
  if (!test::HasTool("c++filt") || !test::HasTool("readelf")) GTEST_SKIP() << "no binutils";
  const std::vector<std::string> names = MangledNames();
  ASSERT_GT(names.size(), 3000u);
  const test::TemporaryDirectory directory;
  std::string list;
  for (const std::string& name : names) list += name + '\n';
  const std::vector<std::string> theirs = RunLines("c++filt < " + directory.Write("names", list));
  ASSERT_EQ(theirs.size(), names.size());
  size_t changed = 0, rust = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    ASSERT_EQ(Demangle(names[i]), theirs[i]) << names[i];
    if (names[i] != theirs[i]) ++changed;
    if (names[i].starts_with("_R") || names[i].find("17h") != std::string::npos) ++rust;
  }
  std::cout << names.size() << " names, " << changed << " demangled, " << rust << " of Rust\n";
  EXPECT_GT(changed, names.size() / 2);
}

TEST(Demangle, KnownForms) {
  EXPECT_EQ(Demangle("_ZN3foo3barEi"), "foo::bar(int)");
  EXPECT_EQ(Demangle("_ZN3foo3barEi.cold"), "foo::bar(int) [clone .cold]");
  EXPECT_EQ(Demangle("_RNvCs1234_7mycrate3foo"), "mycrate[3c1c0]::foo");
  EXPECT_EQ(Demangle("_ZN4core3fmt5write17h0123456789abcdefE"),
            "core::fmt::write::h0123456789abcdef");
}

TEST(Demangle, OtherNamesStayAsTheyAre) {
  for (const std::string_view name : {"", "_", "_Z", "main", "main.main", "__libc_start_main",
                                      "_ZN3fo", "_Zzzzz", "_R", "i", "\xff\xfe\x01", "malloc@plt"})
    EXPECT_EQ(Demangle(name), name);
  EXPECT_EQ(Demangle(std::string_view("_ZN3foo3barEi\0tail", 18)), "foo::bar(int)");
}

TEST(Demangle, NamesOfD) {
  if (!test::HasTool("c++filt")) GTEST_SKIP() << "no c++filt";
  size_t changed = 0;
  for (const char* name :
       {"_Dmain", "_D8demangle4testFZv", "_D8demangle4testFAyaZv", "_D3std5stdio4File5writeMFAyaZv",
        "_D4core6memory2GC6mallocFNbmkxC8TypeInfoZPv", "_D8demangle9__T4testZ4testFZv",
        "_D6object6ObjectQkFZv", "_DYNAMIC", "_D", "_D0", "_D8demangle",
        "_D99999999999999999999a"}) {
    const std::string expected =
        test::RunLines("c++filt -s dlang '" + std::string(name) + "'").front();
    EXPECT_EQ(Demangle(name), expected);
    changed += expected == name ? 0 : 1;
  }
  EXPECT_GE(changed, 6u);
}

// Every type is a map of the one before to itself: 120 bytes would become 84 MB.
TEST(Demangle, NameOfDThatExplodesComesBackAsItIs) {
  const auto reference = [](size_t distance) {
    std::string text;
    if (distance >= 26) text += static_cast<char>('A' + distance / 26);
    return "Q" + text + static_cast<char>('a' + distance % 26);
  };
  for (const size_t levels : {10, 22}) {
    std::string name = "_D1aFHii";
    size_t previous = 5;
    for (size_t i = 0; i < levels; ++i) {
      const size_t start = name.size();
      name += 'H';
      name += reference(name.size() - previous);
      name += reference(name.size() - previous);
      previous = start;
    }
    name += "Zv";
    const std::string text = Demangle(name);
    EXPECT_LE(text.size(), size_t{64} << 10);
    EXPECT_EQ(text == name, levels == 22) << text.size();
  }
}

TEST(Demangle, NamesOfOcaml) {
  EXPECT_EQ(Demangle("camlStdlib__List__map_487"), "Stdlib.List.map_487");
  EXPECT_EQ(Demangle("camlStdlib__List.map_487"), "Stdlib.List.map_487");
  EXPECT_EQ(Demangle("camlStdlib__$40_121"), "Stdlib.@_121");
  EXPECT_EQ(Demangle("camlDune__exe__Main__fun_3"), "Dune.exe.Main.fun_3");
  for (const char* plain : {"caml_alloc", "caml", "camlX", "camel", "camlstart__x"})
    EXPECT_EQ(Demangle(plain), plain);
  EXPECT_EQ(Demangle("camlA$4"), "A$4");
  EXPECT_EQ(Demangle("camlA__"), "A__");
}

// Each level repeats the one before twice, so the printed name doubles: 2^60 bytes without a bound.
TEST(Demangle, NameThatExplodesComesBackAsItIs) {
  std::string pairs = "_Z1f1PIiiE";  // P<int, int>, then P<S, S> of what came before.
  constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (size_t i = 0; i < 30; ++i) {
    const std::string previous = "S" + std::string(1, kDigits[i]) + "_";
    pairs += "S_I" + previous + previous + "E";
  }
  EXPECT_EQ(Demangle(pairs), pairs);
}

TEST(Demangle, DeepNamesFitASmallStack) {
  std::vector<std::string> names;
  for (const size_t depth : {100, 500, 1000, 5000, 16000}) {
    names.push_back("_Z1f" + std::string(depth, 'P') + "i");
    names.push_back("_Z1f" + std::string(depth / 2, 'F') + "v" + std::string(depth / 2, 'E'));
    names.push_back("_RNv" + std::string(depth, 'I') + "C3foo");
    std::string rust = "_R";
    for (size_t i = 0; i < depth / 3; ++i) rust += "INv";
    names.push_back(rust + "C3foo");
    names.push_back("_RYT" + std::string(depth, 'S') + "u");
  }
  // A thread with the stack that the contract asks for. ThreadSanitizer's own needs are not in the
  // contract.
#ifdef __SANITIZE_THREAD__
  constexpr size_t kFactor = 4;
#else
  constexpr size_t kFactor = 1;
#endif
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kFactor * kDemangleStackBytes);
  pthread_t thread;
  const auto run = [](void* list) -> void* {
    for (const std::string& name : *static_cast<std::vector<std::string>*>(list))
      EXPECT_FALSE(Demangle(name).empty());
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &names), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace
}  // namespace stackray
