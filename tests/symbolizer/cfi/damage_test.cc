// Real files, damaged: any outcome is fine but a crash, a hang, or a blob that breaks its contract.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <random>

#include "fmt/format.h"
#include "tests/symbolizer/cfi/blob_reader.h"
#include "tests/symbolizer/cfi/opened_tables.h"

namespace stackray {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<uint8_t> ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Tally {
  uint64_t files = 0, opened = 0, pages = 0, errors = 0;
  double slowest_page_ms = 0;
};

void BuildAllPages(std::vector<uint8_t> bytes, Tally* tally) {
  const std::unique_ptr<OpenedTables> opened = OpenBytes(std::move(bytes));
  ++tally->files;
  if (!opened->tables) return;
  ++tally->opened;
  const PageRange range = opened->tables->pages();
  for (uint32_t i = 0; i < std::min(range.page_count, 64u); ++i) {
    const Clock::time_point start = Clock::now();
    const absl::StatusOr<std::vector<uint8_t>> blob =
        opened->tables->BuildPage(range.first_page + i);
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    tally->slowest_page_ms = std::max(tally->slowest_page_ms, ms);
    ++tally->pages;
    tally->errors += !blob.ok();
    ASSERT_EQ(blob.ok() ? DecodePage(*blob).error : "", "");
  }
}

struct Range {
  uint64_t begin = 0, end = 0;
};

// Where damage hits what this folder reads.
std::vector<Range> FrameRanges(const std::vector<uint8_t>& bytes) {
  const MemorySource source(bytes);
  const absl::StatusOr<ElfImage> elf = ElfImage::Create(source);
  std::vector<Range> ranges = {{0, 1024}};
  if (!elf.ok()) return ranges;
  for (const char* name : {".eh_frame", ".eh_frame_hdr"})
    if (const ElfSection* section = elf->FindSection(name))
      ranges.push_back({section->file_offset, section->file_offset + section->size_bytes});
  return ranges;
}

class Damaged : public testing::TestWithParam<const char*> {};

TEST_P(Damaged, BytesNeverBreakAnything) {
  const std::vector<uint8_t> good = ReadBytes(GetParam());
  if (good.empty()) GTEST_SKIP() << GetParam() << " is not there";
  const std::vector<Range> ranges = FrameRanges(good);
  ASSERT_GE(ranges.size(), 2u);
  std::mt19937_64 random(11);
  Tally tally;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(4);
  while (Clock::now() < end) {
    std::vector<uint8_t> bytes = good;
    const int changes = 1 << random() % 8;
    for (int i = 0; i < changes; ++i) {
      const Range& range = ranges[random() % ranges.size()];
      uint8_t& byte = bytes[range.begin + random() % (range.end - range.begin)];
      byte = random() % 2 == 0 ? static_cast<uint8_t>(random())
                               : static_cast<uint8_t>(byte ^ 1 << random() % 8);
    }
    BuildAllPages(std::move(bytes), &tally);
    if (HasFatalFailure()) return;
  }
  fmt::print("{}: {} damaged files, {} opened, {} pages ({} errors), slowest page {:.1f} ms\n",
             GetParam(), tally.files, tally.opened, tally.pages, tally.errors,
             tally.slowest_page_ms);
  EXPECT_GT(tally.opened, tally.files / 4);
  EXPECT_LT(tally.slowest_page_ms, 2000);
}

TEST_P(Damaged, TruncationNeverBreaksAnything) {
  const std::vector<uint8_t> good = ReadBytes(GetParam());
  if (good.empty()) GTEST_SKIP() << GetParam() << " is not there";
  Tally tally;
  std::mt19937_64 random(12);
  for (int i = 0; i < 60; ++i) {
    std::vector<uint8_t> bytes = good;
    bytes.resize(i == 0 ? 0 : random() % good.size());
    BuildAllPages(std::move(bytes), &tally);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(tally.opened, 0u);
}

INSTANTIATE_TEST_SUITE_P(Files, Damaged,
                         testing::Values("/lib/x86_64-linux-gnu/libgcc_s.so.1",
                                         "/lib64/ld-linux-x86-64.so.2", "/bin/true"),
                         [](const auto& parameter) {
                           return fmt::format("file{}", parameter.index);
                         });

}  // namespace
}  // namespace stackray
