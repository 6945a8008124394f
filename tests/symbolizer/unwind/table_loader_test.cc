// Tables on their way into the store, loaded from this very process's mappings.
#include "symbolizer/unwind/table_loader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include "kernel/process_files.h"
#include "kernel/unique_fd.h"
#include "symbolizer/unwind/neighbours.h"
#include "tests/symbolizer/unwind/page_lookup.h"

namespace stackray {
namespace {

constexpr size_t kTableBytes = 16 << 20;

std::optional<code_range> RangeAt(uint32_t pid, uint64_t address) {
  const absl::StatusOr<std::vector<code_range>> ranges = ReadExecutableRanges(pid);
  if (ranges.ok())
    for (const code_range& range : *ranges)
      if (address >= range.start && address < range.end) return range;
  return std::nullopt;
}

class TableLoaderTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::optional<code_range> own = RangeAt(pid_, address_);
    ASSERT_TRUE(own.has_value());
    own_ = *own;
    if (own_.file_size_bytes == 0) GTEST_SKIP() << "/proc/self/map_files may not be read here";
    offset_ = address_ - own_.start + own_.file_offset;
    page_ = static_cast<uint32_t>(offset_ >> PAGE_TEXT_SHIFT);
  }
  miss_record Miss(uint32_t pid, const code_range& range, uint64_t offset) {
    return {.process = {.pid = pid}, .offset = offset, .range = range};
  }
  RowStore::PageState State(uint32_t page) { return store_.StateOf(IdentityOf(own_), page); }

  const uint32_t pid_ = static_cast<uint32_t>(getpid());
  const uint64_t address_ = reinterpret_cast<uint64_t>(&RangeAt);
  code_range own_ = {};
  uint64_t offset_ = 0;
  uint32_t page_ = 0;
  ExecutableFiles files_{10};
  MemoryRows rows_;
  RowStore store_{rows_, 8 << 20};
  TableLoader loader_{files_, store_, kTableBytes};
  PageLookup lookup_{rows_};
};

// They are loaded for a few milliseconds of CPU, in which ThreadSanitizer makes few pages.
#ifdef __SANITIZE_THREAD__
constexpr uint32_t kCertainNeighbours = 2;
#else
constexpr uint32_t kCertainNeighbours = 8;
#endif

// Those of a program's start-up code, see below: .init, _start.
constexpr uint32_t kDearPages = 2;

TEST_F(TableLoaderTest, AMissLoadsThePageAndItsNeighbours) {
  loader_.HandleMiss(Miss(pid_, own_, offset_));
  EXPECT_EQ(State(page_), RowStore::PageState::kPresent);
  const file_entry* entry = store_.FindFile(IdentityOf(own_));
  ASSERT_NE(entry, nullptr);
  uint32_t absent = 0;
  for (uint32_t distance = 1; distance <= kCertainNeighbours; ++distance)
    for (const uint32_t page : {page_ - distance, page_ + distance})
      absent += State(page) == RowStore::PageState::kAbsent;
  EXPECT_LE(absent, kDearPages);
  // On entry of a function the return address is at rsp: CFA = rsp + 8, rbp unchanged.
  const FoundCode found = lookup_.Find(*entry, offset_);
  EXPECT_EQ(found.end, END_NONE);
  EXPECT_EQ(found.code, CODE_BASE_RSP << CODE_BASE_SHIFT | 1);
}

// The C library's start-up code around _start has no tables, and a look at the instructions is
// dear.
TEST_F(TableLoaderTest, ANeighbourThatOnlyALookWouldFillWaitsUntilItIsAskedFor) {
  const uint64_t entry_offset = getauxval(AT_ENTRY) - own_.start + own_.file_offset;
  const auto entry_page = static_cast<uint32_t>(entry_offset >> PAGE_TEXT_SHIFT);
  if (entry_page == page_) GTEST_SKIP() << "all of this program's code is in one page";
  const uint64_t beside = entry_offset + PAGE_TEXT_BYTES;
  loader_.HandleMiss(Miss(pid_, own_, beside));
  EXPECT_EQ(State(entry_page + 1), RowStore::PageState::kPresent);
  EXPECT_EQ(State(entry_page), RowStore::PageState::kAbsent);
  EXPECT_EQ(State(entry_page + 2), RowStore::PageState::kPresent);
  loader_.HandleMiss(Miss(pid_, own_, entry_offset));
  EXPECT_EQ(State(entry_page), RowStore::PageState::kPresent);
}

TEST(Neighbours, AreManyUntilTheyProveToBeWaste) {
  Neighbours file;
  uint32_t counted = 0, used = 0;
  const auto count_used = [&] {
    ++counted;
    return used;
  };
  EXPECT_EQ(file.Worth(1, count_used), Neighbours::kMost);
  EXPECT_EQ(file.Worth(2000, count_used), Neighbours::kMost);
  EXPECT_EQ(counted, 0u) << "so few say nothing";
  used = 50;
  EXPECT_EQ(file.Worth(2100, count_used), Neighbours::kFew);
  EXPECT_EQ(counted, 1u);
  used = 300;
  EXPECT_EQ(file.Worth(2200, count_used), Neighbours::kFew) << "not judged again yet";
  EXPECT_EQ(file.Worth(2400, count_used), Neighbours::kMost);
  EXPECT_EQ(counted, 2u);
  EXPECT_EQ(file.Worth(100, count_used), Neighbours::kMost) << "most were evicted";
  EXPECT_EQ(counted, 2u);
}

// A program that is run for the first time: its file, and the page where every stack of it begins.
TEST_F(TableLoaderTest, AProgramIsLoadedAheadByItsPathWhenItsProcessIsGone) {
  char path[4096] = {};
  ASSERT_GT(readlink("/proc/self/exe", path, sizeof(path) - 1), 0);
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  ASSERT_EQ(waitpid(gone, nullptr, 0), gone);
  loader_.LoadAhead(static_cast<uint32_t>(gone), own_.file, path);
  ASSERT_NE(store_.FindFile(IdentityOf(own_)), nullptr);
  EXPECT_EQ(store_.statistics().pages, 1u);
  // A process that is gone has mapped it: what was opened ahead answers.
  loader_.HandleMiss(Miss(static_cast<uint32_t>(gone), own_, offset_));
  EXPECT_EQ(State(page_), RowStore::PageState::kPresent);
}

TEST_F(TableLoaderTest, AnotherFileUnderThePathIsNotTheProgram) {
  loader_.LoadAhead(pid_, own_.file, "/bin/true");  // The process lives and says which it is.
  EXPECT_NE(store_.FindFile(IdentityOf(own_)), nullptr);
  file_key other = own_.file;
  ++other.inode;
  loader_.LoadAhead(pid_, other, "/bin/true");
  EXPECT_EQ(store_.statistics().files, 2u) << "asked for once, and known as one without tables";
  EXPECT_EQ(store_.FindFile({.inode = other.inode, .device = other.device})->page_count, 0u);
}

// What a JIT keeps its code in: memory with a name, and no ELF file.
class MadeCode {
 public:
  MadeCode() : fd_(memfd_create("made code", MFD_CLOEXEC)) {
    const std::vector<uint8_t> text(kBytes, 0xc3);
    if (write(fd_.get(), text.data(), kBytes) == static_cast<ssize_t>(kBytes))
      at_ = mmap(nullptr, kBytes / 2, PROT_READ | PROT_EXEC, MAP_SHARED, fd_.get(), kBytes / 2);
  }
  ~MadeCode() {
    if (at_ != MAP_FAILED) munmap(at_, kBytes / 2);
  }
  std::optional<code_range> Range() const {
    return at_ == MAP_FAILED
               ? std::nullopt
               : RangeAt(static_cast<uint32_t>(getpid()), reinterpret_cast<uint64_t>(at_));
  }
  static constexpr size_t kBytes = 8 * PAGE_TEXT_BYTES;

 private:
  UniqueFd fd_;
  void* at_ = MAP_FAILED;
};

TEST_F(TableLoaderTest, CodeThatARuntimeMadeIsLeftByItsRule) {
  constexpr uint16_t kRule = CODE_BASE_RSP << CODE_BASE_SHIFT | 20, kOther = kRule + 1;
  constexpr uint32_t kRuntime = 3;
  const MadeCode made;
  const std::optional<code_range> range = made.Range();
  if (!range || range->kind != RANGE_FILE || range->file_size_bytes == 0)
    GTEST_SKIP() << "no executable memory with a name here";
  std::vector<FileIdentity> asked;
  TableLoader loader(
      files_, store_, kTableBytes,
      [this](const ExecutableFile& file, const ElfImage&) {
        return file.identity.inode == own_.file.inode ? kRuntime : 0;
      },
      [&](const FileIdentity& file, uint32_t runtime, uint64_t offset,
          std::span<const uint8_t> first_page) {
        asked.push_back(file);
        EXPECT_EQ(offset, MadeCode::kBytes / 2);
        EXPECT_EQ(first_page.size(), size_t{PAGE_TEXT_BYTES});
        EXPECT_EQ(first_page[0], 0xc3);
        return runtime == kRuntime ? std::optional(MadeCodeRules{
                                         .rule = kRule, .first_page = {{0, kRule}, {64, kOther}}})
                                   : std::nullopt;
      });
  const uint64_t half = MadeCode::kBytes / 2;
  loader.HandleMiss(Miss(pid_, *range, half + 100));
  ASSERT_EQ(asked, std::vector{IdentityOf(*range)});
  const file_entry* entry = store_.FindFile(IdentityOf(*range));
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->page_count, 4u) << "what is mapped";
  EXPECT_EQ(entry->runtime, 0u) << "the runtime is in another file";
  for (const uint64_t offset : {half, half + 100, half + PAGE_TEXT_BYTES + 100, 2 * half - 1}) {
    const FoundCode found = lookup_.Find(*entry, offset);
    EXPECT_EQ(found.end, END_NONE) << offset;
    EXPECT_EQ(found.code, offset == half + 100 ? kOther : kRule) << offset;
  }
}

TEST_F(TableLoaderTest, MemoryOfAProcessWithoutARuntimeHasNoTables) {
  const MadeCode made;
  const std::optional<code_range> range = made.Range();
  if (!range || range->kind != RANGE_FILE || range->file_size_bytes == 0)
    GTEST_SKIP() << "no executable memory with a name here";
  TableLoader loader(
      files_, store_, kTableBytes, [](const ExecutableFile&, const ElfImage&) { return 0u; },
      [](const FileIdentity&, uint32_t, uint64_t, std::span<const uint8_t>) {
        return std::optional(MadeCodeRules{.rule = 1});
      });
  loader.HandleMiss(Miss(pid_, *range, range->file_offset));
  const file_entry* entry = store_.FindFile(IdentityOf(*range));
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->page_count, 0u);
}

TEST_F(TableLoaderTest, TheFileAloneComesWithoutPages) {
  ASSERT_TRUE(loader_.LoadFile(pid_, own_).ok());
  ASSERT_NE(store_.FindFile(IdentityOf(own_)), nullptr);
  EXPECT_EQ(store_.statistics().pages, 0u);
  EXPECT_EQ(State(page_), RowStore::PageState::kAbsent);
}

TEST_F(TableLoaderTest, ClosedTablesAreOpenedAgain) {
  ASSERT_TRUE(loader_.LoadFile(pid_, own_).ok());
  loader_.Wipe();
  files_.Wipe();
  ASSERT_TRUE(loader_.LoadPage(pid_, own_, offset_).ok());
  EXPECT_EQ(State(page_), RowStore::PageState::kPresent);
}

TEST_F(TableLoaderTest, TheVdsoHasTables) {
  const absl::StatusOr<std::vector<code_range>> ranges = ReadExecutableRanges(pid_);
  ASSERT_TRUE(ranges.ok());
  for (const code_range& range : *ranges) {
    if (range.kind != RANGE_VDSO) continue;
    ASSERT_TRUE(loader_.LoadPage(pid_, range, 0x800).ok());
    const file_entry* entry = rows_.File({.inode = VDSO_INODE, .device = 0, .generation = 0});
    ASSERT_NE(entry, nullptr) << "BPF looks for it under this key";
    EXPECT_GT(entry->page_count, 0u);
    return;
  }
  GTEST_SKIP() << "no vDSO is mapped here";
}

TEST_F(TableLoaderTest, AProcessThatIsGoneFailsAndIsAskedForAgain) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  const auto gone = static_cast<uint32_t>(child);
  EXPECT_EQ(loader_.LoadFile(gone, own_).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_.FindFile(IdentityOf(own_)), nullptr);
  // The file is known, its tables are closed, and the page was asked for.
  ASSERT_TRUE(loader_.LoadFile(pid_, own_).ok());
  loader_.Wipe();
  files_.Wipe();
  const file_entry entry = *store_.FindFile(IdentityOf(own_));
  ASSERT_TRUE(lookup_.Find(entry, offset_).miss);
  loader_.HandleMiss(Miss(gone, own_, offset_));
  EXPECT_EQ(State(page_), RowStore::PageState::kAbsent);
  EXPECT_TRUE(lookup_.Find(entry, offset_).miss) << "nobody would ever ask again";
}

// A copy of this program, mapped and then written over in place by other content of one size.
TEST_F(TableLoaderTest, AFileThatIsOverwrittenInPlaceIsAnother) {
  const std::string path = testing::TempDir() + "/stackray_overwritten." + std::to_string(pid_);
  std::filesystem::copy_file("/proc/self/exe", path,
                             std::filesystem::copy_options::overwrite_existing);
  const auto map = [&] {
    const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return mmap(nullptr, own_.file_size_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0);
  };
  void* const before = map();
  ASSERT_NE(before, MAP_FAILED);
  const code_range first = RangeAt(pid_, reinterpret_cast<uint64_t>(before)).value();
  ASSERT_TRUE(loader_.LoadPage(pid_, first, offset_).ok());
  const ExecutableFilePtr file = files_.Get(pid_, first).value();
  EXPECT_TRUE(file->source->IsUnchanged());
  usleep(20'000);  // A tick of the file system's clock.
  {
    std::fstream other(path, std::ios::in | std::ios::out | std::ios::binary);
    const std::vector<char> nothing(4 << 20);
    other.seekp(4096);
    other.write(nothing.data(), static_cast<std::streamsize>(
                                    std::min<uint64_t>(nothing.size(), own_.file_size_bytes / 2)));
  }
  EXPECT_FALSE(file->source->IsUnchanged());
  const uint64_t end = own_.file_offset + (own_.end - own_.start);
  const uint64_t other_page = offset_ + 2 * PAGE_TEXT_BYTES < end ? offset_ + 2 * PAGE_TEXT_BYTES
                                                                  : offset_ - 2 * PAGE_TEXT_BYTES;
  EXPECT_TRUE(absl::IsUnavailable(loader_.LoadPage(pid_, first, other_page)));
  EXPECT_EQ(files_.Get(pid_, first).value(), file) << "what was read of it stays";
  void* const after = map();
  ASSERT_NE(after, MAP_FAILED);
  const code_range second = RangeAt(pid_, reinterpret_cast<uint64_t>(after)).value();
  EXPECT_NE(IdentityOf(second), IdentityOf(first));
  const auto again = files_.Get(pid_, second);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_NE((*again)->handle, file->handle);
  munmap(before, own_.file_size_bytes);
  munmap(after, own_.file_size_bytes);
  std::filesystem::remove(path);
}

TEST_F(TableLoaderTest, AnotherFileUnderTheSameMappingIsRefused) {
  code_range changed = own_;
  changed.file_mtime_ns ^= 1;
  EXPECT_FALSE(loader_.LoadPage(pid_, changed, offset_).ok());
  changed = own_;
  ++changed.file_size_bytes;
  EXPECT_FALSE(loader_.LoadPage(pid_, changed, offset_).ok());
  EXPECT_EQ(store_.statistics().files, 0u);
}

TEST_F(TableLoaderTest, AnonymousMemoryHasNoFile) {
  code_range anonymous = own_;
  anonymous.kind = RANGE_ANON;
  EXPECT_EQ(loader_.LoadFile(pid_, anonymous).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(TableLoaderTest, AFileThatIsNoElfHasNoTables) {
  const std::string path = testing::TempDir() + "/stackray_no_elf." + std::to_string(getpid());
  std::ofstream(path) << std::string(5000, 'x');
  FILE* file = fopen(path.c_str(), "r");
  ASSERT_NE(file, nullptr);
  void* memory = mmap(nullptr, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(file), 0);
  fclose(file);
  if (memory == MAP_FAILED)
    GTEST_SKIP() << "files in " << testing::TempDir() << " are not executable";
  const std::optional<code_range> range = RangeAt(pid_, reinterpret_cast<uint64_t>(memory));
  ASSERT_TRUE(range.has_value());
  EXPECT_TRUE(loader_.LoadPage(pid_, *range, 64).ok());
  const file_entry* entry = store_.FindFile(IdentityOf(*range));
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->page_count, 0u);
  munmap(memory, 8192);
  unlink(path.c_str());
}

TEST_F(TableLoaderTest, OffsetsOutsideOfTheFileLoadNothing) {
  for (const u64 offset : {u64{1} << 40, ~u64{0}, own_.file_size_bytes + (1 << 20)}) {
    EXPECT_TRUE(loader_.LoadPage(pid_, own_, offset).ok());
    loader_.HandleMiss(Miss(pid_, own_, offset));
  }
  EXPECT_EQ(store_.statistics().pages, 0u);
}

}  // namespace
}  // namespace stackray
