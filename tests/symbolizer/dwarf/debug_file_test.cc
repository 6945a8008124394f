// Small programs, built in every way that debug information comes: DebugFile says what
// llvm-symbolizer says.
#include "symbolizer/dwarf/debug_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/symbolizer/dwarf/line_oracle.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::test {
namespace {

struct Build {
  const char* name;
  const char* command;    // "{}" twice: the source and the program.
  const char* arguments;  // Of the oracle.
};
void PrintTo(const Build& build, std::ostream* out) { *out << build.name; }

class DebugFileOf : public testing::TestWithParam<Build> {};

TEST_P(DebugFileOf, SaysWhatLlvmSays) {
  const std::string command = GetParam().command;
  const std::string compiler = command.substr(0, command.find(' '));
  if (NewestLlvm().path.empty()) GTEST_SKIP() << "no llvm-symbolizer here";
  if (!HasTool(compiler)) GTEST_SKIP() << "no " << compiler << " here";
  const TemporaryDirectory directory;
  const std::string program = directory.File("program");
  const std::string source = STACKRAY_SOURCE_DIR "/tests/symbolizer/dwarf/programs/inlines.cc";
  RunLines(fmt::format("cd '{}' && ", directory.File("")) +
           fmt::format(fmt::runtime(command), source, program));
  const auto opened = OpenFile(program);
  if (!opened) GTEST_SKIP() << "this compiler does not build it: " << command;
  const std::vector<uint64_t> addresses = RandomTextAddresses(program, 800);
  const auto expected = AskLlvm(program, addresses, GetParam().arguments);
  ASSERT_EQ(expected.size(), addresses.size());
  const auto file = dwarf::DebugFile::Open(*opened->source, SettingsFor(program));
  ASSERT_NE(file, nullptr);
  const Comparison result =
      Compare(addresses, expected, [&](uint64_t address) { return file->Resolve(address); });
  EXPECT_GT(result.asked, addresses.size() / 2);
  EXPECT_GT(result.inlined, addresses.size() / 20);
  EXPECT_EQ(result.functions_differ, 0u) << result.examples;
  EXPECT_EQ(result.stacks_differ, 0u) << result.examples;
}

INSTANTIATE_TEST_SUITE_P(
    Builds, DebugFileOf,
    testing::Values(
        Build{"gcc_dwarf2", "g++ -O2 -g -gdwarf-2 {} -o {}", ""},
        Build{"gcc_dwarf2_strict", "g++ -O2 -gdwarf-2 -gstrict-dwarf {} -o {}", ""},
        Build{"gcc_dwarf2_compressed", "g++ -O2 -gdwarf-2 -gstrict-dwarf -gz {} -o {}", ""},
        Build{"gcc_dwarf3", "g++ -O2 -g -gdwarf-3 {} -o {}", ""},
        Build{"gcc_dwarf4", "g++ -O2 -g -gdwarf-4 {} -o {}", ""},
        Build{"gcc_dwarf5", "g++ -O2 -g -gdwarf-5 {} -o {}", ""},
        Build{"gcc_dwarf5_wide", "g++ -O2 -g -gdwarf-5 -gdwarf64 {} -o {}", ""},
        Build{"gcc_compressed", "g++ -O2 -g -gz {} -o {}", ""},
        Build{"gcc_sections", "g++ -O2 -g -ffunction-sections -Wl,--gc-sections {} -o {}", ""},
        Build{"gcc_type_units", "g++ -O2 -g -fdebug-types-section {} -o {}", ""},
        Build{"gcc_lines_only", "g++ -O2 -g1 {} -o {}", ""},
        Build{"gcc_lto", "g++ -O2 -g -flto {} -o {}", ""},
        Build{"gcc_split4", "g++ -O2 -gdwarf-4 -gsplit-dwarf {} -o {}", ""},
        Build{"gcc_split5", "g++ -O2 -gdwarf-5 -gsplit-dwarf {} -o {}", ""},
        Build{"clang_dwarf4", "clang++ -O2 -g -gdwarf-4 {} -o {}", ""},
        Build{"clang_dwarf5", "clang++ -O2 -g -gdwarf-5 {} -o {}", ""}),
    [](const auto& tested) { return tested.param.name; });

// Directory 0 of DWARF 5 is the unit's own, so it does not stand twice before a file's name.
// (addr2line 2.40 and llvm-symbolizer 14 write it twice.)
TEST(DebugFile, RelativeDirectoriesOfUnitsStandOnce) {
  if (!HasTool("g++")) GTEST_SKIP() << "no g++ here";
  const TemporaryDirectory directory;
  const std::string program = directory.File("program");
  RunLines(fmt::format("cd '{0}' && cp '" STACKRAY_SOURCE_DIR
                       "/tests/symbolizer/dwarf/programs/inlines.cc' . && "
                       "g++ -O2 -gdwarf-5 -ffile-prefix-map='{0}'=./made inlines.cc -o program",
                       std::filesystem::canonical(directory.File("")).string()));
  const auto opened = OpenFile(program);
  ASSERT_TRUE(opened);
  const auto file = dwarf::DebugFile::Open(*opened->source, SettingsFor(program));
  ASSERT_NE(file, nullptr);
  size_t known = 0;
  for (const uint64_t address : RandomTextAddresses(program, 200))
    for (const SourceLine& line : file->Resolve(address)) {
      EXPECT_EQ(line.file, "./made/inlines.cc");
      ++known;
    }
  EXPECT_GT(known, 100u);
}

// 800 functions, each inlined into the one before: the innermost are where the time is spent.
TEST(DebugFile, OfVeryManyInlinedFunctionsTheInnermostStay) {
  if (!HasTool("g++")) GTEST_SKIP() << "no g++ here";
  const TemporaryDirectory directory;
  const std::string program = directory.File("program");
  const std::string source = STACKRAY_SOURCE_DIR "/tests/symbolizer/dwarf/programs/deep_inlines.cc";
  RunLines(
      fmt::format("g++ -std=c++17 -O1 -g -ftemplate-depth=1000 '{}' -o '{}'", source, program));
  const auto opened = OpenFile(program);
  ASSERT_TRUE(opened);
  const auto file = dwarf::DebugFile::Open(*opened->source, SettingsFor(program));
  ASSERT_NE(file, nullptr);
  std::vector<SourceLine> deepest;
  for (const uint64_t address : RandomTextAddresses(program, 5000)) {
    std::vector<SourceLine> lines = file->Resolve(address);
    if (lines.empty() || lines[0].function != "void Level<0>(unsigned int)") continue;
    deepest = std::move(lines);
    break;
  }
  ASSERT_EQ(deepest.size(), 100u + 1 + 20 + 1);
  EXPECT_THAT(deepest[0].line, testing::AnyOf(8, 9));
  EXPECT_EQ(deepest[99].function, "void Level<99>(unsigned int)");
  EXPECT_EQ(deepest[99].line, 14);
  EXPECT_EQ(deepest[100].function, "[cut: 681 more inlined functions]");
  EXPECT_EQ(deepest[101].function, "void Level<781>(unsigned int)");
  EXPECT_EQ(deepest[120].function, "void Level<800>(unsigned int)");
  EXPECT_EQ(deepest[120].line, 14);
  EXPECT_EQ(deepest[121].function, "main");
  EXPECT_EQ(deepest[121].line, 18);
}

class PackedSections : public testing::TestWithParam<const char*> {};

// The oracle of this machine may not unpack them (zstd since LLVM 15, zlib-gnu up to then), so the
// program before it was packed is the oracle.
TEST_P(PackedSections, SayTheSame) {
  for (const char* tool : {"g++", "objcopy"})
    if (!HasTool(tool)) GTEST_SKIP() << "no " << tool << " here";
  const TemporaryDirectory directory;
  const std::string plain = directory.File("plain"), packed = directory.File("packed");
  RunLines(fmt::format("g++ -O2 -g '{}' -o '{}' && objcopy --compress-debug-sections={} '{}' '{}'",
                       STACKRAY_SOURCE_DIR "/tests/symbolizer/dwarf/programs/inlines.cc", plain,
                       GetParam(), plain, packed));
  const auto opened_plain = OpenFile(plain), opened = OpenFile(packed);
  ASSERT_TRUE(opened_plain);
  if (!opened) GTEST_SKIP() << "this objcopy does not know " << GetParam();
  ASSERT_LT(opened->source->size_bytes(), opened_plain->source->size_bytes());
  const auto expected = dwarf::DebugFile::Open(*opened_plain->source, SettingsFor(plain));
  const auto found = dwarf::DebugFile::Open(*opened->source, SettingsFor(packed));
  ASSERT_NE(expected, nullptr);
  ASSERT_NE(found, nullptr);
  size_t inlined = 0;
  for (const uint64_t address : RandomTextAddresses(plain, 500)) {
    const auto lines = AsOracleFrames(expected->Resolve(address));
    EXPECT_EQ(Describe(AsOracleFrames(found->Resolve(address))), Describe(lines));
    inlined += lines.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(inlined, 25u);
}

INSTANTIATE_TEST_SUITE_P(Ways, PackedSections, testing::Values("zlib", "zlib-gnu", "zstd"),
                         [](const auto& tested) {
                           return std::string(tested.param) == "zlib-gnu" ? "zlib_gnu"
                                                                          : tested.param;
                         });

}  // namespace
}  // namespace stackray::test
