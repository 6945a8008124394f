// The resolver's cache: bounded, and wiping it at any moment changes no answer.
#include "symbolizer/frame_names.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <utility>

#include "symbolizer/demangle.h"
#include "tests/oracles/symbol_oracle.h"
#include "tests/symbolizer/made_elf.h"

namespace stackray {
namespace {

struct File {
  test::OpenedFile opened;
  test::OracleSymbols oracle;
};

std::vector<File> Files() {
  std::vector<File> files;
  for (const std::string& path : test::InterestingFiles()) {
    if (std::filesystem::file_size(path) > 50'000'000) continue;
    files.push_back({*test::OpenFile(path), test::ReadOracle(path)});
  }
  return files;
}

TEST(FrameNames, DemangledNameWithTheSymbolBesideIt) {
  const std::optional<test::OpenedFile> self = test::OpenFile(test::OwnFile());
  const test::OracleSymbols oracle = test::ReadOracle(test::OwnFile());
  if (oracle.symbols.empty()) GTEST_SKIP() << "no readelf";
  FrameNames names(1 << 20);
  size_t mangled = 0, plain = 0;
  for (const test::OracleSymbol& symbol : oracle.symbols) {
    if (symbol.size == 0) continue;
    const std::vector<SourceLine> lines = names.Resolve(1, *self->source, symbol.start);
    ASSERT_EQ(lines.size(), 1u) << symbol.name;
    if (lines[0].system_name.empty()) {
      ++plain;
      EXPECT_TRUE(oracle.Covering(symbol.start).contains(lines[0].function));
    } else {
      ++mangled;
      EXPECT_TRUE(oracle.Covering(symbol.start).contains(lines[0].system_name));
      EXPECT_EQ(lines[0].function, Demangle(lines[0].system_name));
    }
  }
  EXPECT_GT(mangled, 100u);
  EXPECT_GT(plain, 0u);
  EXPECT_TRUE(names.Resolve(1, *self->source, 1).empty()) << "no symbol covers address 1";
}

// A file that is overwritten in place: its bytes and size stay readable, but are another version's.
class OverwrittenSource : public MemorySource {
 public:
  explicit OverwrittenSource(std::vector<uint8_t> bytes)
      : MemorySource(bytes_), bytes_(std::move(bytes)) {
    static_cast<MemorySource&>(*this) = MemorySource(bytes_);
  }
  bool IsUnchanged() const override { return !is_overwritten_; }
  void Overwrite(std::vector<uint8_t> bytes) {
    is_overwritten_ = true;
    std::copy(bytes.begin(), bytes.end(), bytes_.begin());
  }

 private:
  std::vector<uint8_t> bytes_;
  bool is_overwritten_ = false;
};

// Two functions of 16 bytes; names of one length.
std::vector<uint8_t> FileWith(const std::string& first, const std::string& second) {
  const auto function = [&](uint32_t name, uint64_t at) {
    return Elf64_Sym{.st_name = name,
                     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                     .st_other = 0,
                     .st_shndx = 1,
                     .st_value = test::kMadeBase + 256 + at,
                     .st_size = 16};
  };
  std::vector<uint8_t> file = test::MakeElf(
      {{".text", test::Bytes().U64(0).U64(0).U64(0).U64(0), SHF_ALLOC | SHF_EXECINSTR},
       {".strtab", test::Bytes().U8(0).Text(first).Text(second), 0, SHT_STRTAB},
       {".symtab",
        test::Bytes()
            .Add(Elf64_Sym{})
            .Add(function(1, 0))
            .Add(function(static_cast<uint32_t>(2 + first.size()), 16)),
        0, SHT_SYMTAB}});
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof(header));
  Elf64_Shdr symtab;
  uint8_t* const at = file.data() + header.e_shoff + 3 * sizeof(symtab);
  std::memcpy(&symtab, at, sizeof(symtab));
  symtab.sh_link = 2;
  symtab.sh_entsize = sizeof(Elf64_Sym);
  std::memcpy(at, &symtab, sizeof(symtab));
  return file;
}

TEST(FrameNames, AnOverwrittenFileHasTheNamesThatWereReadBefore) {
  constexpr uint64_t kFirst = test::kMadeBase + 256, kSecond = kFirst + 16;
  OverwrittenSource source(FileWith("old_a", "old_b"));
  FrameNames names(1 << 20);
  ASSERT_EQ(names.Resolve(1, source, kFirst).size(), 1u);
  source.Overwrite(FileWith("new_a", "new_b"));
  const std::vector<SourceLine> known = names.Resolve(1, source, kFirst + 4);
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(known[0].function, "old_a");
  EXPECT_TRUE(names.Resolve(1, source, kSecond).empty()) << "it was not read in time";
  names.Wipe();
  EXPECT_TRUE(names.Resolve(1, source, kFirst).empty());
  FrameNames others(1 << 20);
  EXPECT_TRUE(others.Resolve(1, source, kFirst).empty());
}

// A file that looks like Go's, with one function of 16 bytes.
std::vector<uint8_t> GoFileWith(const std::string& symbol) {
  const Elf64_Sym function = {.st_name = 1,
                              .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                              .st_other = 0,
                              .st_shndx = 1,
                              .st_value = test::kMadeBase + 256,
                              .st_size = 16};
  std::vector<uint8_t> file =
      test::MakeElf({{".text", test::Bytes().U64(0).U64(0), SHF_ALLOC | SHF_EXECINSTR},
                     {".go.buildinfo", test::Bytes().U64(0)},
                     {".strtab", test::Bytes().U8(0).Text(symbol), 0, SHT_STRTAB},
                     {".symtab", test::Bytes().Add(Elf64_Sym{}).Add(function), 0, SHT_SYMTAB}});
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof(header));
  Elf64_Shdr symtab;
  uint8_t* const at = file.data() + header.e_shoff + 4 * sizeof(symtab);
  std::memcpy(&symtab, at, sizeof(symtab));
  symtab.sh_link = 3;
  symtab.sh_entsize = sizeof(Elf64_Sym);
  std::memcpy(at, &symtab, sizeof(symtab));
  return file;
}

TEST(FrameNames, GoSymbolsGoWithoutTheirConventionButNotWithoutAName) {
  for (const auto& [symbol, name] :
       {std::pair("runtime.memmove.abi0", "runtime.memmove"), std::pair(".abi0", ".abi0"),
        std::pair(".abiinternal", ".abiinternal")}) {
    const std::vector<uint8_t> file = GoFileWith(symbol);
    const MemorySource source(file);
    FrameNames names(1 << 20);
    const std::vector<SourceLine> lines = names.Resolve(1, source, test::kMadeBase + 256);
    ASSERT_EQ(lines.size(), 1u) << symbol;
    EXPECT_EQ(lines[0].function, name);
  }
}

TEST(FrameNames, WipingAndEvictingChangeNoAnswer) {
  const std::vector<File> files = Files();
  ASSERT_GE(files.size(), 1u);
  FrameNames steady(64 << 20), wiped(64 << 20), tight(1);
  std::mt19937_64 random(7);
  size_t named = 0;
  for (int i = 0; i < 3000; ++i) {
    const size_t which = random() % files.size();
    const File& file = files[which];
    if (file.oracle.sections.empty()) continue;
    const auto [start, end] = file.oracle.sections[random() % file.oracle.sections.size()];
    const uint64_t address = start + random() % std::max<uint64_t>(end - start, 1);
    if (random() % 10 == 0) wiped.Wipe();
    const auto expected = steady.Resolve(which + 1, *file.opened.source, address);
    for (FrameNames* other : {&wiped, &tight}) {
      if (other == &tight && i > 100) continue;  // It reads a table for nearly every call.
      const auto lines = other->Resolve(which + 1, *file.opened.source, address);
      ASSERT_EQ(lines.size(), expected.size());
      if (!lines.empty()) {
        ASSERT_EQ(lines[0].function, expected[0].function);
      }
    }
    named += expected.size();
  }
  EXPECT_GT(named, 500u);
}

TEST(FrameNames, TablesAreBoundedInBytes) {
  const std::optional<test::OpenedFile> self = test::OpenFile(test::OwnFile());
  FrameNames one(1 << 30);
  one.Resolve(1, *self->source, 1);
  const size_t table_bytes = one.bytes();
  EXPECT_GT(table_bytes, 1000u);
  FrameNames three(2 * (3 * table_bytes + 10));  // Tables may take half of the cache.
  for (uint64_t handle = 1; handle <= 100; ++handle) {
    three.Resolve(handle, *self->source, 1);
    EXPECT_EQ(three.bytes(), std::min<uint64_t>(handle, 3) * table_bytes);
  }
  three.Wipe();
  EXPECT_EQ(three.bytes(), 0u);
}

TEST(FrameNames, NamesAreBoundedInBytesAndStayTheSame) {
  const std::optional<test::OpenedFile> self = test::OpenFile(test::OwnFile());
  const absl::StatusOr<ElfImage> image = ElfImage::Create(*self->source);
  ASSERT_TRUE(image.ok());
  FrameNames bare(1 << 30);
  bare.Resolve(1, *self->source, 1);  // In no symbol: the table alone.
  const size_t table_bytes = bare.bytes();
  constexpr size_t kCacheBytes = 64 << 10;
  FrameNames small(kCacheBytes), large(1 << 30);
  int named = 0;
  for (int round = 0; round < 2; ++round) {
    for (const ElfSegment& segment : image->segments()) {
      if (!segment.executable) continue;
      for (uint64_t at = 0; at < segment.memory_bytes; at += 97) {
        const auto a = small.Resolve(1, *self->source, segment.address + at);
        const auto b = large.Resolve(1, *self->source, segment.address + at);
        ASSERT_EQ(a.size(), b.size());
        if (a.empty()) continue;
        ++named;
        ASSERT_EQ(a[0].function, b[0].function);
        ASSERT_EQ(a[0].system_name, b[0].system_name);
        ASSERT_LE(small.bytes(), table_bytes + kCacheBytes);
      }
    }
  }
  EXPECT_GT(named, 1000);
  EXPECT_GT(large.bytes(), table_bytes + kCacheBytes) << "nothing was ever dropped";
}

TEST(FrameNames, FileThatIsNoElfHasNoNames) {
  const std::vector<uint8_t> text(10000, '#');
  FrameNames names(1 << 20);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(names.Resolve(1, MemorySource(text), 100).empty());
  EXPECT_GT(names.bytes(), 0u) << "that it has none is remembered";
}

// A file that cannot be read now may be readable later.
class FailingSource : public ByteSource {
 public:
  explicit FailingSource(const ByteSource& source) : source_(source) {}
  uint64_t size_bytes() const override { return source_.size_bytes(); }
  absl::Status ReadAt(uint64_t offset, std::span<uint8_t> out) const override {
    if (fails_ > 0 && --fails_ == 0) return absl::UnavailableError("disk");
    return source_.ReadAt(offset, out);
  }
  void FailAt(int call) { fails_ = call; }

 private:
  const ByteSource& source_;
  mutable int fails_ = 0;
};

TEST(FrameNames, FailedReadIsNotRemembered) {
  const std::optional<test::OpenedFile> self = test::OpenFile(test::OwnFile());
  const test::OracleSymbols oracle = test::ReadOracle(test::OwnFile());
  const auto symbol = std::find_if(oracle.symbols.begin(), oracle.symbols.end(),
                                   [](const auto& s) { return s.size > 0; });
  ASSERT_NE(symbol, oracle.symbols.end());
  size_t without = 0;
  for (int call = 1; call < 12; ++call) {
    FailingSource source(*self->source);
    FrameNames names(1 << 20);
    source.FailAt(call);
    if (names.Resolve(1, source, symbol->start).empty()) ++without;
    source.FailAt(0);
    EXPECT_EQ(names.Resolve(1, source, symbol->start).size(), 1u)
        << "after a failure of read " << call;
  }
  EXPECT_GT(without, 0u);
}

}  // namespace
}  // namespace stackray
