// Mappings and files of this very process, compared with what the C library says about them.
#include "kernel/process_files.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>

namespace stackray {
namespace {

std::optional<code_range> RangeAt(const void* address) {
  const absl::StatusOr<std::vector<code_range>> ranges =
      ReadExecutableRanges(static_cast<uint32_t>(getpid()));
  if (ranges.ok())
    for (const code_range& range : *ranges)
      if (reinterpret_cast<uint64_t>(address) >= range.start &&
          reinterpret_cast<uint64_t>(address) < range.end)
        return range;
  return std::nullopt;
}

class ProcessFiles : public testing::Test {
 protected:
  void SetUp() override {
    const std::optional<code_range> range = RangeAt(reinterpret_cast<const void*>(&RangeAt));
    ASSERT_TRUE(range.has_value());
    own_ = *range;
    ASSERT_EQ(stat("/proc/self/exe", &info_), 0);
    if (own_.file_size_bytes == 0) GTEST_SKIP() << "/proc/self/map_files may not be read here";
  }
  absl::StatusOr<OpenedFile> Open(const code_range& range, const std::string& hint = "") {
    return OpenRangeFile(static_cast<uint32_t>(getpid()), range, hint);
  }
  code_range own_ = {};
  struct stat info_ = {};
};

TEST_F(ProcessFiles, OurOwnCodeIsInOurOwnFile) {
  EXPECT_EQ(own_.kind, RANGE_FILE);
  EXPECT_EQ(own_.file_size_bytes, static_cast<uint64_t>(info_.st_size));
  EXPECT_EQ(own_.file_mtime_s, info_.st_mtim.tv_sec);
  EXPECT_EQ(own_.file_mtime_ns, static_cast<uint64_t>(info_.st_mtim.tv_nsec));
  const absl::StatusOr<OpenedFile> file = Open(own_);
  ASSERT_TRUE(file.ok()) << file.status();
  struct stat opened;
  ASSERT_EQ(fstat(file->fd.get(), &opened), 0);
  EXPECT_EQ(opened.st_ino, info_.st_ino);
  EXPECT_EQ(file->path, std::filesystem::read_symlink("/proc/self/exe").string());
  EXPECT_FALSE(file->deleted);
}

TEST_F(ProcessFiles, TheKernelSaysOneMapping) {
  const auto pid = static_cast<uint32_t>(getpid());
  if (absl::IsUnimplemented(FindExecutableRange(pid, own_.start).status()))
    GTEST_SKIP() << "not before Linux 6.11";
  const absl::StatusOr<std::vector<code_range>> ranges = ReadExecutableRanges(pid);
  ASSERT_TRUE(ranges.ok());
  for (const code_range& range : *ranges) {
    for (const uint64_t address : {range.start, range.end - 1}) {
      const absl::StatusOr<code_range> found = FindExecutableRange(pid, address);
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_EQ(std::memcmp(&*found, &range, sizeof(range)), 0) << std::hex << address;
    }
  }
  int on_stack = 0;
  EXPECT_TRUE(
      absl::IsNotFound(FindExecutableRange(pid, reinterpret_cast<uint64_t>(&on_stack)).status()));
  const pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      FindExecutableRange(static_cast<uint32_t>(child), own_.start).status()));
}

// 6,000 mappings of one file cost one stat, and as many of a file that is another by now some
// tries.
TEST_F(ProcessFiles, VeryManyMappingsOfOneFileCostOneLook) {
  const std::string path = testing::TempDir() + "/stackray_many." + std::to_string(getpid());
  std::ofstream(path) << std::string(2 * 4096, 'm');
  UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(file.valid());
  constexpr size_t kMappings = 6000;
  void* const room = mmap(nullptr, kMappings * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(room, MAP_FAILED);
  for (size_t i = 0; i < kMappings; ++i)  // All of one page, so that none is merged with the next.
    ASSERT_NE(mmap(static_cast<char*>(room) + i * 4096, 4096, PROT_READ | PROT_EXEC,
                   MAP_PRIVATE | MAP_FIXED, file.get(), 0),
              MAP_FAILED);
  const absl::StatusOr<std::vector<code_range>> ranges =
      ReadExecutableRanges(static_cast<uint32_t>(getpid()));
  ASSERT_TRUE(ranges.ok());
  size_t seen = 0;
  code_range last = {};
  for (const code_range& range : *ranges) {
    if (range.start < reinterpret_cast<uint64_t>(room) ||
        range.start >= reinterpret_cast<uint64_t>(room) + kMappings * 4096)
      continue;
    ++seen;
    EXPECT_EQ(range.file_size_bytes, 2u * 4096);
    last = range;
  }
  EXPECT_EQ(seen, kMappings);
  last.file_mtime_ns ^= 1;
  timespec begin, end;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  EXPECT_FALSE(Open(last).ok());
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  const double seconds = static_cast<double>(end.tv_sec - begin.tv_sec) +
                         1e-9 * static_cast<double>(end.tv_nsec - begin.tv_nsec);
  EXPECT_LT(seconds, 0.1) << "an open for each mapping";
  munmap(room, kMappings * 4096);
  std::filesystem::remove(path);
}

TEST_F(ProcessFiles, AProgramIsFoundByItsPathOrItsProcess) {
  const auto pid = static_cast<uint32_t>(getpid());
  const std::string path = std::filesystem::read_symlink("/proc/self/exe").string();
  code_range seen = {};
  absl::StatusOr<OpenedFile> file = OpenProgramFile(0, own_.file, path, &seen);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->path, path);
  EXPECT_EQ(seen.kind, RANGE_FILE);
  EXPECT_EQ(seen.file_size_bytes, own_.file_size_bytes);
  EXPECT_EQ(seen.file_mtime_s, own_.file_mtime_s);
  EXPECT_EQ(seen.file_mtime_ns, own_.file_mtime_ns);
  EXPECT_TRUE(OpenProgramFile(pid, own_.file, "/no/such/file", &seen).ok());
  EXPECT_TRUE(absl::IsNotFound(OpenProgramFile(0, own_.file, "/no/such/file", &seen).status()));
  EXPECT_TRUE(absl::IsNotFound(OpenProgramFile(0, own_.file, "/bin/true", &seen).status()));
  file_key other = own_.file;
  ++other.inode;
  EXPECT_TRUE(absl::IsFailedPrecondition(OpenProgramFile(pid, other, path, &seen).status()));
}

TEST_F(ProcessFiles, ALibraryIsFoundByItsCode) {
  Dl_info library;
  void* code = dlsym(RTLD_DEFAULT, "qsort");
  ASSERT_NE(code, nullptr);
  ASSERT_NE(dladdr(code, &library), 0);
  const std::optional<code_range> range = RangeAt(code);
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->start - range->file_offset, reinterpret_cast<uint64_t>(library.dli_fbase));
  const absl::StatusOr<OpenedFile> file = Open(*range);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(std::filesystem::equivalent(file->path, library.dli_fname));
}

TEST_F(ProcessFiles, BoundsThatMovedAreFoundByInode) {
  code_range moved = own_;
  moved.start += 4096;
  moved.end += 4096;
  EXPECT_TRUE(Open(moved).ok());
  moved.file.inode ^= 1;
  EXPECT_EQ(Open(moved).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ProcessFiles, AReplacedFileIsRefused) {
  code_range other = own_;
  other.file_mtime_ns ^= 1;
  EXPECT_EQ(Open(other).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Open(other, "/proc/self/exe").status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ProcessFiles, AHintHelpsWhenTheProcessIsGone) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  const auto gone = static_cast<uint32_t>(child);
  EXPECT_EQ(ReadExecutableRanges(gone).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(OpenRangeFile(gone, own_, "").status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(OpenRangeFile(gone, own_, "/proc/self/exe").ok());
  EXPECT_FALSE(OpenRangeFile(gone, own_, "/dev/null").ok());
}

TEST_F(ProcessFiles, ADeletedFileCanStillBeRead) {
  const std::string path = testing::TempDir() + "/stackray_deleted." + std::to_string(getpid());
  std::ofstream(path) << std::string(4096, 'd');
  FILE* opened = fopen(path.c_str(), "r");
  ASSERT_NE(opened, nullptr);
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(opened), 0);
  fclose(opened);
  unlink(path.c_str());
  if (memory == MAP_FAILED) GTEST_SKIP() << testing::TempDir() << " is mounted noexec";
  const std::optional<code_range> range = RangeAt(memory);
  ASSERT_TRUE(range.has_value());
  const absl::StatusOr<OpenedFile> file = Open(*range);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->deleted);
  EXPECT_EQ(file->path, std::filesystem::path(path).lexically_normal().string());
  munmap(memory, 4096);
}

TEST_F(ProcessFiles, AnonymousCodeIsItsOwnAddress) {
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "anonymous memory may not be executable here";
  const std::optional<code_range> range = RangeAt(memory);
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->kind, RANGE_ANON);
  EXPECT_EQ(range->file_offset, range->start);
  munmap(memory, 4096);
}

TEST(KernelDevice, IsTheKernelsEncoding) {
  EXPECT_EQ(KernelDevice(makedev(8, 1)), 8u << 20 | 1);
  EXPECT_EQ(KernelDevice(makedev(259, 300)), 259u << 20 | 300);
}

}  // namespace
}  // namespace stackray
