// Names of code against readelf, addr2line and objdump, on files of many makers.
#include "symbolizer/symbol_table.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "tests/oracles/symbol_oracle.h"

namespace stackray {
namespace {

using test::OpenFile;
using test::OracleSymbols;
using test::RunLines;

struct Loaded {
  test::OpenedFile file;
  SymbolTable table;
  std::optional<std::string> Find(uint64_t address) const {
    return table.FindName(*file.source, address);
  }
};

std::optional<Loaded> Load(const std::string& path) {
  std::optional<test::OpenedFile> file = OpenFile(path);
  if (!file) return std::nullopt;
  const absl::StatusOr<ElfImage> image = ElfImage::Create(*file->source);
  if (!image.ok()) return std::nullopt;
  absl::StatusOr<SymbolTable> table = SymbolTable::Create(*image, *file->source);
  if (!table.ok()) return std::nullopt;
  return Loaded{*std::move(file), *std::move(table)};
}

// Ends and middles of symbols, and any addresses of executable sections.
std::vector<uint64_t> Addresses(const OracleSymbols& oracle, size_t count) {
  std::mt19937_64 random(20240817);
  std::vector<uint64_t> addresses;
  for (size_t i = 0; i < count && !oracle.symbols.empty(); ++i) {
    const test::OracleSymbol& symbol = oracle.symbols[random() % oracle.symbols.size()];
    addresses.push_back(symbol.start);
    addresses.push_back(symbol.start + symbol.size);
    if (symbol.size == 0) continue;
    addresses.push_back(symbol.start + symbol.size - 1);
    addresses.push_back(symbol.start + random() % symbol.size);
  }
  for (size_t i = 0; i < count && !oracle.sections.empty(); ++i) {
    const auto [start, end] = oracle.sections[random() % oracle.sections.size()];
    if (end > start) addresses.push_back(start + random() % (end - start));
  }
  return addresses;
}

class SymbolFiles : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!test::HasTool("readelf")) GTEST_SKIP() << "no readelf";
    loaded_ = Load(GetParam());
    ASSERT_TRUE(loaded_) << GetParam();
    oracle_ = test::ReadOracle(GetParam());
  }
  std::optional<Loaded> loaded_;
  OracleSymbols oracle_;
};

TEST_P(SymbolFiles, NamesTheInnermostSymbolThatCoversTheAddress) {
  size_t named = 0, labels = 0, stubs = 0, unnamed = 0;
  for (const uint64_t address : Addresses(oracle_, 4000)) {
    const std::optional<std::string> name = loaded_->Find(address);
    if (const auto covering = oracle_.Covering(address); !covering.empty()) {
      ASSERT_TRUE(name) << std::hex << address << " should be " << *covering.begin();
      ASSERT_TRUE(covering.contains(*name)) << std::hex << address << ' ' << *name;
      ++named;
    } else if (!name) {
      ++unnamed;
    } else if (name->ends_with("@plt")) {
      ++stubs;
    } else {
      ASSERT_TRUE(oracle_.Labels(address).contains(*name)) << std::hex << address << ' ' << *name;
      ++labels;
    }
  }
  RecordProperty("named", static_cast<int>(named));
  std::cout << GetParam() << ": " << named << " named, " << labels << " by labels, " << stubs
            << " stubs, " << unnamed << " without a name; " << loaded_->table.range_count()
            << " ranges in " << loaded_->table.bytes() << " bytes\n";
  EXPECT_GT(named, 1000u);
}

// addr2line's choice among aliases differs here and there; where it and we name the same range is
// what must agree.
TEST_P(SymbolFiles, AgreesWithAddr2line) {
  if (!test::HasTool("addr2line") || !test::HasTool("strip")) GTEST_SKIP() << "no binutils";
  if (std::filesystem::file_size(GetParam()) > 50'000'000) GTEST_SKIP() << "addr2line is slow here";
  const test::TemporaryDirectory directory;
  // Without DWARF, whose inlines it would print, and without what leads to DWARF elsewhere.
  const std::string bare = directory.File("bare");
  RunLines("strip -g -o '" + bare + "' '" + GetParam() + "'");
  const absl::StatusOr<ElfImage> image = ElfImage::Create(*OpenFile(bare)->source);
  ASSERT_TRUE(image.ok());
  std::fstream contents(bare, std::ios::in | std::ios::out | std::ios::binary);
  for (const auto& [name, offset] :
       {std::pair(".note.gnu.build-id", 16), std::pair(".gnu_debuglink", 0)})
    if (const ElfSection* section = image->FindSection(name))
      contents.seekp(static_cast<std::streamoff>(section->file_offset) + offset).write("other", 5);
  contents.close();
  std::vector<uint64_t> addresses = Addresses(oracle_, 1000);
  std::erase_if(addresses, [&](uint64_t a) { return oracle_.Covering(a).empty(); });
  std::ostringstream list;
  for (const uint64_t address : addresses) list << std::hex << "0x" << address << '\n';
  directory.Write("addresses", list.str());
  const std::vector<std::string> lines =
      RunLines("addr2line -f -e '" + bare + "' < '" + directory.File("addresses") + "'");
  ASSERT_EQ(lines.size(), 2 * addresses.size());
  size_t same = 0, alias = 0;
  for (size_t i = 0; i < addresses.size(); ++i) {
    const std::string theirs = lines[2 * i].substr(0, lines[2 * i].find('@', 1));
    if (loaded_->Find(addresses[i]) == theirs)
      ++same;
    else if (oracle_.Covering(addresses[i]).contains(theirs))
      ++alias;
  }
  std::cout << GetParam() << ": of " << addresses.size() << ", " << same << " the same, " << alias
            << " an alias\n";
  EXPECT_GE(same + alias, addresses.size() * 99 / 100);
}

TEST_P(SymbolFiles, NamesTheSameStubsAsObjdump) {
  if (!test::HasTool("objdump")) GTEST_SKIP() << "no objdump";
  size_t stubs = 0;
  for (const std::string& line : RunLines("objdump -d -j .plt -j .plt.sec -j .plt.got '" +
                                          GetParam() + "' | grep '@plt>:'")) {
    const uint64_t address = std::stoull(line, nullptr, 16);
    const size_t open = line.find('<');
    std::string theirs = line.substr(open + 1, line.rfind(">:") - open - 1);
    if (theirs.starts_with("*ABS*")) continue;  // A stub of an IFUNC, which has no symbol.
    if (const size_t version = theirs.find('@'); version != theirs.rfind("@plt"))
      theirs = theirs.substr(0, version) + "@plt";
    ASSERT_EQ(loaded_->Find(address), theirs) << line;
    ++stubs;
  }
  std::cout << GetParam() << ": " << stubs << " stubs\n";
}

std::string TestName(const testing::TestParamInfo<std::string>& info) {
  std::string name = std::filesystem::path(info.param).filename().string();
  for (char& c : name)
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(Files, SymbolFiles, testing::ValuesIn(test::InterestingFiles()), TestName);

// One assembly file with the cases that decide about labels, overlaps and aliases.
class Assembled : public testing::Test {
 protected:
  void Assemble(const std::string& code) {
    if (!test::HasTool("as") || !test::HasTool("ld")) GTEST_SKIP() << "no assembler";
    const std::string source = directory_.Write("case.s", code), file = directory_.File("case");
    RunLines("as -o '" + file + ".o' '" + source + "' && ld -Ttext=0x401000 -o '" + file + "' '" +
             file + ".o'");
    loaded_ = Load(file);
    if (!loaded_) GTEST_SKIP() << "this machine's assembler made no file";
  }
  std::string At(uint64_t offset) const { return loaded_->Find(0x401000 + offset).value_or("-"); }
  test::TemporaryDirectory directory_;
  std::optional<Loaded> loaded_;
};

TEST_F(Assembled, LabelsReachTheNextSymbolAndStayOutOfSizedOnes) {
  Assemble(R"(
.text
.globl _start
_start: .skip 16
.type sized, %function
sized: .skip 8
inside_sized: .skip 8
.size sized, . - sized
.skip 16
tail_label: .skip 5000
)");
  if (IsSkipped()) return;
  EXPECT_EQ(At(0), "_start");
  EXPECT_EQ(At(15), "_start");
  EXPECT_EQ(At(16), "sized");
  EXPECT_EQ(At(24), "sized") << "a label inside says less than the function";
  EXPECT_EQ(At(31), "sized");
  EXPECT_EQ(At(32), "-") << "behind a sized function nothing goes on";
  EXPECT_EQ(At(48), "tail_label");
  EXPECT_EQ(At(48 + 4095), "tail_label");
  EXPECT_EQ(At(48 + 4096), "-") << "the bound of a label";
}

TEST_F(Assembled, InnermostRangeAndPreferredAlias) {
  Assemble(R"(
.text
.globl _start
.type _start, %function
.type outer, %function
.type nested, %function
.type __alias, %function
.type alias, %function
.type weak, %function
.type local_alias, %function
.globl alias, __alias
.weak weak
_start: nop
.skip 7
.size _start, 8
outer: .skip 8
nested: .skip 8
.size nested, 8
.skip 8
.size outer, 24
local_alias:
__alias:
alias:
weak: .skip 4
.size weak, 4
.size alias, 4
.size __alias, 4
.size local_alias, 4
.data
.globl data_symbol
data_symbol: .quad 0
)");
  if (IsSkipped()) return;
  EXPECT_EQ(At(8), "outer");
  EXPECT_EQ(At(16), "nested");
  EXPECT_EQ(At(23), "nested");
  EXPECT_EQ(At(24), "outer") << "behind the nested function the outer one goes on";
  EXPECT_EQ(At(31), "outer");
  EXPECT_EQ(At(32), "alias");
  EXPECT_EQ(At(35), "alias");
  EXPECT_EQ(At(36), "-");
  EXPECT_EQ(loaded_->Find(0), std::nullopt);
  EXPECT_EQ(loaded_->Find(~uint64_t{0}), std::nullopt);
}

TEST(SymbolTable, StrippedFileKeepsItsDynamicNames) {
  if (!test::HasTool("strip")) GTEST_SKIP() << "no strip";
  const test::TemporaryDirectory directory;
  const std::string stripped = directory.File("stripped");
  RunLines("strip -o '" + stripped + "' '" + test::OwnFile() + "'");
  const std::optional<Loaded> full = Load(test::OwnFile()), bare = Load(stripped);
  ASSERT_TRUE(full && bare);
  EXPECT_LT(bare->table.range_count(), full->table.range_count() / 2);
  EXPECT_GT(bare->table.range_count(), 10u) << "the PLT at least";
}

TEST(SymbolTable, SymbolsOverTheBoundAreLeftOut) {
  const std::optional<test::OpenedFile> file = OpenFile(test::OwnFile());
  ASSERT_TRUE(file);
  const absl::StatusOr<ElfImage> image = ElfImage::Create(*file->source);
  ASSERT_TRUE(image.ok());
  const absl::StatusOr<SymbolTable> table = SymbolTable::Create(*image, *file->source, 100);
  ASSERT_TRUE(table.ok());
  EXPECT_GT(table->range_count(), 10u);
  EXPECT_LE(table->range_count(), 200u);
  EXPECT_LT(table->bytes(), 4000u);
}

}  // namespace
}  // namespace stackray
