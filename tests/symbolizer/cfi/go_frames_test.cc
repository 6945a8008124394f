// Rows of Go's own table against what readelf says of the .debug_frame that Go's linker made: of a program built here, at
// every row boundary. Both count how far rsp is from the return address; where the runtime changes stacks, only ours knows.
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "fmt/format.h"
#include "symbolizer/cfi/go_switch.h"
#include "tests/symbolizer/cfi/blob_reader.h"
#include "tests/symbolizer/cfi/frame_oracle.h"
#include "tests/symbolizer/cfi/opened_tables.h"

namespace stackray {
namespace {

TEST(GoFrames, CountAsDebugFrame) {
  const std::string path = STACKRAY_BINARY_DIR "/tests/fixtures/native/go_runtime";
  if (access(path.c_str(), X_OK) != 0) GTEST_SKIP() << "no Go here";
  const std::unique_ptr<OpenedTables> opened = OpenFile(path);
  ASSERT_TRUE(opened->tables) << opened->status;
  ASSERT_TRUE(opened->tables->changes_stacks());
  const absl::StatusOr<ElfImage> elf = ElfImage::Create(*opened->source);
  ASSERT_TRUE(elf.ok());
  const auto oracle = FrameOracle::FromReadelf(path, [](uint64_t, uint64_t) { return true; });
  if (!oracle) GTEST_SKIP() << "no readelf";
  const PageRange range = opened->tables->pages();
  uint64_t compared = 0, different = 0, saved = 0, changes = 0;
  std::set<std::string> kinds;
  for (uint32_t i = 0; i < range.page_count; ++i) {
    const auto blob = opened->tables->BuildPage(range.first_page + i);
    ASSERT_TRUE(blob.ok()) << blob.status();
    const DecodedPage page = DecodePage(*blob);
    ASSERT_EQ(page.error, "");
    for (const uint32_t offset : page.row_starts) {
      const auto address =
          elf->AddressOfOffset((uint64_t{range.first_page + i} << PAGE_TEXT_SHIFT) + offset);
      if (!address) continue;
      const CodeText ours = DescribeCode(page.code_at[offset], page.rules);
      if (!ours.special.empty() || !ours.cfa.starts_with("rsp")) {
        ++changes;
        kinds.insert(ours.special + ours.cfa.substr(0, 3));
        continue;
      }
      const OracleEntry* entry = oracle->EntryAt(*address);
      if (entry == nullptr) continue;
      const OracleRow* row = FrameOracle::RowAt(*entry, *address);
      if (row == nullptr) continue;
      ++compared;
      saved += ours.rbp == "c-16" ? 1 : 0;
      different += ours.cfa != row->cfa ? 1 : 0;
      if (ours.cfa != row->cfa && different <= 5)
        ADD_FAILURE() << fmt::format("{:x}: ours {}, readelf's {}", *address, ours.cfa, row->cfa);
    }
  }
  EXPECT_GT(compared, 5000u);
  EXPECT_EQ(different, 0u);
  EXPECT_GT(saved, compared / 4);  // Every function with a frame.
  EXPECT_GT(changes, 10u);
  std::fprintf(stderr,
               "measured: %llu rows as readelf, %llu with rbp saved, %llu changes of stacks\n",
               static_cast<unsigned long long>(compared), static_cast<unsigned long long>(saved),
               static_cast<unsigned long long>(changes));
}

// Any bytes at all: no override reaches over the function's end.
TEST(GoFrames, OverridesStayInTheFunction) {
  uint32_t state = 1;
  for (int round = 0; round < 2000; ++round) {
    std::vector<uint8_t> text(1 + round % 300);
    for (uint8_t& byte : text) {
      state = state * 1664525 + 1013904223;
      byte = static_cast<uint8_t>(state >> 24);
    }
    // Moves into rsp, so that there is something to find.
    constexpr uint8_t kWrite[] = {0x48, 0x8b, 0x62, 0x38};
    if (text.size() > 40) std::copy(std::begin(kWrite), std::end(kWrite), text.begin() + 20);
    const std::vector<cfi::GoDepth> depths = {{0, 0}, {5, 8}, {9, 40}, {200, 0}};
    for (const char* name :
         {"runtime.systemstack", "runtime.morestack", "runtime.mcall", "gogo", "runtime.asmcgocall",
          "runtime.cgocallback", "runtime.rt0_go", "runtime.sigpanic", "runtime.goexit", "other"}) {
      const cfi::GoRuntime runtime{.curg_offset = 0xb8, .thread_place = ~uint64_t{7}};
      const cfi::GoFunctionText function{.name = name,
                                         .address = 0x401000,
                                         .bytes = text,
                                         .depths = depths,
                                         .writes_sp = true,
                                         .saves_rbp = round % 2 == 0};
      for (const cfi::GoOverride& found : cfi::FindGoOverrides(function, &runtime, 0)) {
        EXPECT_LE(found.begin, found.end);
        EXPECT_TRUE(found.is_special || found.rule.ra_kind != VALUE_SAME);
      }
    }
    (void)cfi::ReadGoRuntime(text, 0x401000);
  }
}

}  // namespace
}  // namespace stackray
