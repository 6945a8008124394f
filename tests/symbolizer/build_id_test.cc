// Build ids against readelf and the go tool, the htlhash against Python's hashlib.
#include "symbolizer/build_id.h"

#include <gtest/gtest.h>

#include "kernel/elf_notes.h"
#include "symbolizer/executable_info.h"
#include "tests/symbolizer/oracle.h"

namespace stackray {
namespace {

using test::OpenFile;
using test::RunLines;

std::optional<ElfImage> ImageOf(const std::string& path) {
  const std::optional<test::OpenedFile> file = OpenFile(path);
  if (!file) return std::nullopt;
  absl::StatusOr<ElfImage> image = ElfImage::Create(*file->source);
  return image.ok() ? std::optional(*std::move(image)) : std::nullopt;
}

TEST(BuildId, GnuIsWhatReadelfPrints) {
  if (!test::HasTool("readelf")) GTEST_SKIP() << "no readelf";
  size_t compared = 0;
  for (const std::string& path : test::InterestingFiles()) {
    const std::vector<std::string> lines =
        RunLines("readelf -nW '" + path + "' | sed -n 's/.*Build ID: //p'");
    const std::optional<ElfImage> image = ImageOf(path);
    ASSERT_TRUE(image) << path;
    EXPECT_EQ(GnuBuildId(*image), lines.empty() ? "" : lines[0]) << path;
    compared += lines.size();
  }
  EXPECT_GE(compared, 2u);
}

TEST(BuildId, GoIsWhatTheGoToolPrints) {
  std::string go = test::HasTool("go") ? "go" : "/usr/local/go/bin/go";
  if (go != "go" && !std::filesystem::exists(go)) GTEST_SKIP() << "no go";
  size_t compared = 0;
  for (const std::string& path :
       RunLines("root=$(" + go + " env GOROOT); ls $root/bin/* $root/pkg/tool/*/*")) {
    const std::optional<ElfImage> image = ImageOf(path);
    if (!image) continue;
    const std::vector<std::string> lines = RunLines(go + " tool buildid '" + path + "'");
    ASSERT_EQ(lines.size(), 1u) << path;
    EXPECT_EQ(GoBuildId(*image), lines[0]);
    ++compared;
  }
  EXPECT_GE(compared, 2u);
}

TEST(BuildId, SurvivesWithoutSectionHeaders) {
  std::vector<uint8_t> bytes = test::ReadAll(test::OwnFile());
  const absl::StatusOr<ElfImage> whole = ElfImage::Create(MemorySource(bytes));
  std::fill_n(bytes.begin() + 40, 8, 0);  // e_shoff.
  const absl::StatusOr<ElfImage> bare = ElfImage::Create(MemorySource(bytes));
  ASSERT_TRUE(whole.ok() && bare.ok());
  EXPECT_FALSE(whole->sections().empty());
  EXPECT_TRUE(bare->sections().empty());
  EXPECT_EQ(GnuBuildId(*bare), GnuBuildId(*whole));
  EXPECT_FALSE(GnuBuildId(*bare).empty());
}

// Notes in the kernel's form: several owners in a row, each padded to 4 bytes.
TEST(BuildId, NotesAreWalkedAndDamageEndsTheWalk) {
  std::vector<uint8_t> notes = {6,   0, 0, 0, 5, 0, 0, 0, 1,   0,   0,   0, 'L',  'i',  'n', 'u',
                                'x', 0, 0, 0, 1, 2, 3, 4, 5,   0,   0,   0, 4,    0,    0,   0,
                                3,   0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 0xab, 0x0c, 0xff};
  EXPECT_EQ(GnuBuildIdOfNotes(notes), "ab0cff");
  for (size_t size = 0; size < notes.size(); ++size)
    EXPECT_EQ(GnuBuildIdOfNotes(std::span(notes).first(size)), "") << size;
  notes[4] = 0xff;  // The first note's contents reach far behind the end.
  notes[7] = 0xff;
  EXPECT_EQ(GnuBuildIdOfNotes(notes), "");
}

TEST(Htlhash, IsWhatHashlibComputes) {
  if (!test::HasTool("python3")) GTEST_SKIP() << "no python3";
  const test::TemporaryDirectory directory;
  std::string files;
  std::vector<std::string> hashes;
  for (const size_t size : {0, 1, 100, 4095, 4096, 4097, 8191, 8192, 100000}) {
    std::string text;
    for (size_t i = 0; i < size; ++i) text += static_cast<char>(i * 31 + i / 256);
    const std::string path = directory.Write(std::to_string(size), text);
    files += ' ' + path;
    const absl::StatusOr<std::string> hash = Htlhash(*OpenFile(path)->source);
    ASSERT_TRUE(hash.ok());
    hashes.push_back(*hash);
  }
  const std::string script = directory.Write("hash.py", R"(
import hashlib, sys
for name in sys.argv[1:]:
    data = open(name, 'rb').read()
    tail = data[-4096:] if data else b''
    print(hashlib.sha256(data[:4096] + tail + len(data).to_bytes(8, 'big')).hexdigest()[:32])
)");
  EXPECT_EQ(RunLines("python3 " + script + files), hashes);
}

TEST(ExecutableInfo, MappingIsTheExecutableSegmentThatReadelfPrints) {
  if (!test::HasTool("readelf")) GTEST_SKIP() << "no readelf";
  for (const std::string& path : test::InterestingFiles()) {
    const absl::StatusOr<ExecutableInfo> info = DescribeExecutable(*OpenFile(path)->source, path);
    ASSERT_TRUE(info.ok() && info->is_elf);
    size_t segments = 0;
    for (const std::string& line : RunLines("readelf -lW '" + path + "' | grep ' LOAD .*E '")) {
      std::istringstream fields(line);
      std::string type, offset, address, physical, file_bytes, memory_bytes;
      fields >> type >> offset >> address >> physical >> file_bytes >> memory_bytes;
      const uint64_t start = std::stoull(address, nullptr, 16);
      const uint64_t file_offset = std::stoull(offset, nullptr, 16);
      const MappingInfo mapping = MappingOf(*info, start + 5);
      EXPECT_EQ(mapping.start, start);
      EXPECT_EQ(mapping.limit, start + std::stoull(memory_bytes, nullptr, 16));
      EXPECT_EQ(mapping.file_offset, file_offset);
      EXPECT_EQ(mapping.path, path);
      EXPECT_EQ(mapping.htlhash.size(), 32u);
      EXPECT_EQ(AddressOfFileOffset(*info, file_offset + 5), start + 5);
      ++segments;
    }
    EXPECT_GE(segments, 1u) << path;
    EXPECT_EQ(AddressOfFileOffset(*info, info->size_bytes), std::nullopt);
    const MappingInfo nowhere = MappingOf(*info, ~uint64_t{0});
    EXPECT_EQ(nowhere.start, 0u);
    EXPECT_EQ(nowhere.limit, 0u);
  }
}

TEST(ExecutableInfo, FileThatIsNoElfIsOneMappingOfOffsets) {
  const std::vector<uint8_t> bytes(5000, 'x');
  const absl::StatusOr<ExecutableInfo> info = DescribeExecutable(MemorySource(bytes), "a.jar");
  ASSERT_TRUE(info.ok());
  EXPECT_FALSE(info->is_elf);
  const MappingInfo mapping = MappingOf(*info, 4999);
  EXPECT_EQ(mapping.start, 0u);
  EXPECT_EQ(mapping.limit, 5000u);
  EXPECT_EQ(mapping.htlhash.size(), 32u);
  EXPECT_TRUE(mapping.gnu_build_id.empty());
  EXPECT_EQ(AddressOfFileOffset(*info, 4999), 4999u);
  EXPECT_EQ(AddressOfFileOffset(*info, 5000), std::nullopt);
}

}  // namespace
}  // namespace stackray
