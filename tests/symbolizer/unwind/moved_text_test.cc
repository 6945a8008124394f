// Copies of a file's text in this process's own memory, where the file's mappings say that the text
// would be.
#include "symbolizer/unwind/moved_text.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <vector>

#include "kernel/process_files.h"
#include "tests/recorder/memory_rows.h"

namespace stackray {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint32_t kNobody = 0x7ffffffe;

// The verdicts as BPF would find them.
class Verdicts : public MemoryRows {
 public:
  void PutMovedText(const moved_key& key, const moved_text& text) override {
    texts[key.start] = text;
  }
  void RemoveMovedText(const moved_key& key) override { texts.erase(key.start); }
  std::map<uint64_t, moved_text> texts;
};

// This test's own program, mapped once more: its first page from the file, its text as a copy.
class MovedText : public testing::Test {
 protected:
  void SetUp() override {
    const UniqueFd fd(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    struct stat info;
    ASSERT_EQ(fstat(fd.get(), &info), 0);
    presumed_.kind = RANGE_ANON;
    presumed_.file.inode = info.st_ino;
    presumed_.file.device = KernelDevice(info.st_dev);
    presumed_.file_size_bytes = static_cast<uint64_t>(info.st_size);
    presumed_.file_mtime_s = info.st_mtim.tv_sec;
    presumed_.file_mtime_ns = static_cast<uint32_t>(info.st_mtim.tv_nsec);
    const FdSource source(fd.get(), presumed_.file_size_bytes);
    const absl::StatusOr<ExecutableInfo> program = DescribeExecutable(source, "");
    ASSERT_TRUE(program.ok());
    const auto text = std::ranges::find_if(
        program->segments, [](const ElfSegment& segment) { return segment.executable; });
    ASSERT_NE(text, program->segments.end());
    offset_ = text->file_offset & ~(kPageBytes - 1);
    const uint64_t at = text->address & ~(kPageBytes - 1);
    bytes_ = std::min<uint64_t>(text->file_bytes, 32 * kPageBytes) & ~(kPageBytes - 1);
    void* all =
        mmap(nullptr, at + bytes_ + kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(all, MAP_FAILED);
    base_ = static_cast<uint8_t*>(all);
    ASSERT_NE(mmap(base_, kPageBytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd.get(), 0), MAP_FAILED);
    copy_ = base_ + at;
    ASSERT_EQ(mprotect(copy_, bytes_, PROT_READ | PROT_WRITE), 0);
    ASSERT_EQ(pread(fd.get(), copy_, bytes_, static_cast<off_t>(offset_)),
              static_cast<ssize_t>(bytes_));
    presumed_.start = presumed_.file_offset = reinterpret_cast<uint64_t>(copy_);
    presumed_.end = presumed_.start + bytes_;
    mapped_bytes_ = at + bytes_ + kPageBytes;
  }
  void TearDown() override {
    if (base_ != nullptr) munmap(base_, mapped_bytes_);
  }

  std::optional<code_range> Compare(uint32_t pid = static_cast<uint32_t>(getpid())) {
    return CompareWithFile(pid, presumed_, files_);
  }

  uint8_t *base_ = nullptr, *copy_ = nullptr;
  size_t bytes_ = 0, mapped_bytes_ = 0;
  uint64_t offset_ = 0;
  code_range presumed_ = {};
  ExecutableFiles files_{10};
};

TEST_F(MovedText, ACopyIsItsFiles) {
  ASSERT_TRUE(IsPresumedText(presumed_));
  const std::optional<code_range> text = Compare();
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(text->kind, RANGE_FILE);
  EXPECT_EQ(text->file_offset, offset_);
  EXPECT_EQ(text->start, presumed_.start);
  EXPECT_EQ(text->file.inode, presumed_.file.inode);
}

// Breakpoints and patched jumps are written into the memory.
TEST_F(MovedText, AFewOtherBytesChangeNothing) {
  for (size_t i = 0; i < 10; ++i) copy_[100 * i] ^= 0xff;
  EXPECT_TRUE(Compare().has_value());
}

TEST_F(MovedText, OnePageOfOtherCodeIsNotTheFiles) {
  std::memset(copy_ + bytes_ - kPageBytes, 0x90, kPageBytes);
  EXPECT_EQ(Compare(), std::nullopt);
}

TEST_F(MovedText, ZerosProveNothing) {
  std::memset(copy_, 0, bytes_);
  EXPECT_EQ(Compare(), std::nullopt);
}

TEST_F(MovedText, AnotherFilesSizeIsAnotherFile) {
  ++presumed_.file_size_bytes;
  EXPECT_EQ(Compare(), std::nullopt);
}

TEST_F(MovedText, OfAProcessThatIsGoneNothingIsSaid) { EXPECT_EQ(Compare(kNobody), std::nullopt); }

TEST_F(MovedText, UnreadableMemoryIsNotTheFiles) {
  ASSERT_EQ(munmap(copy_ + kPageBytes, kPageBytes), 0);
  EXPECT_EQ(Compare(), std::nullopt);
}

TEST_F(MovedText, VerdictsReachTheKernelAndAreLookedAtAgain) {
  Verdicts rows;
  MovedTexts texts(files_, rows);
  const process_key self = {.pid = static_cast<u32>(getpid()), .exec_id = 1, .start_time_ns = 2};
  ASSERT_TRUE(texts.Find(self, presumed_).has_value());
  ASSERT_TRUE(rows.texts.contains(presumed_.start));
  EXPECT_EQ(rows.texts[presumed_.start].end, presumed_.end);
  EXPECT_EQ(rows.texts[presumed_.start].file_offset, offset_);
  EXPECT_EQ(rows.texts[presumed_.start].is_of_file, 1u);
  texts.Recheck();
  EXPECT_EQ(texts.size(), 1u);
  std::memset(copy_, 0x90, bytes_);  // Code of another kind has taken its place.
  EXPECT_TRUE(texts.Find(self, presumed_).has_value());
  texts.Recheck();
  EXPECT_EQ(texts.size(), 0u);
  EXPECT_TRUE(rows.texts.empty());
  EXPECT_EQ(texts.Find(self, presumed_), std::nullopt);
  EXPECT_EQ(rows.texts[presumed_.start].is_of_file, 0u);
  texts.Recheck();  // The copy may have been in the making.
  EXPECT_TRUE(rows.texts.empty());
}

TEST_F(MovedText, VerdictsAreBounded) {
  Verdicts rows;
  MovedTexts texts(files_, rows);
  for (uint32_t i = 0; i < 2 * MAX_MOVED_TEXTS; ++i) {
    code_range range = presumed_;
    range.start = range.file_offset = 0x10000 + i * kPageBytes;
    range.end = range.start + kPageBytes;
    EXPECT_EQ(texts.Find({.pid = kNobody, .exec_id = 0, .start_time_ns = 1}, range), std::nullopt);
  }
  EXPECT_EQ(texts.size(), size_t{MAX_MOVED_TEXTS});
  EXPECT_EQ(rows.texts.size(), size_t{MAX_MOVED_TEXTS});
}

TEST(RebaseWords, MovesTheFramesOfTheRangeAlone) {
  const auto word = [](uint64_t kind, uint64_t range, uint64_t offset) {
    return kind << FRAME_KIND_SHIFT | range << FRAME_RANGE_SHIFT | offset;
  };
  std::vector<uint64_t> words = {
      word(FRAME_EXACT, 1, 0x7f0000001234),
      word(FRAME_RETURN, 0, 0x5000),
      word(FRAME_RUNTIME, 1, 0x7f0000001234),
      word(FRAME_RETURN, 1, 0x7f0000001234),  // The second of a runtime's.
      word(FRAME_RUN_END, 1, 0x7ffc00000000),
      word(FRAME_RETURN | FRAME_OF_RUNTIME, 1, 0x7f0000002000),
      word(FRAME_NO_RANGE, 1, 0x7f0000001234)};
  std::vector<uint64_t> expected = words;
  expected[0] = word(FRAME_EXACT, 1, 0x3234);
  expected[5] = word(FRAME_RETURN | FRAME_OF_RUNTIME, 1, 0x4000);
  code_range before = {}, now = {};
  before.start = now.start = 0x7f0000001000;
  before.file_offset = before.start;
  now.file_offset = 0x3000;
  Rebase(words, 1, before, now);
  EXPECT_EQ(words, expected);
}

}  // namespace
}  // namespace stackray
