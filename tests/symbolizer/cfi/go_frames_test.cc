// Rows of Go's own table against what readelf says of the .debug_frame that Go's linker made: of a
// program built here, at every row boundary. Both count how far the stack pointer is from the
// return address, or on arm64 from the frame's upper end; where the runtime changes stacks, only
// ours knows.
#include <elf.h>
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

// What a signal's handler has put between two frames is in our rules alone.
bool IsSignalFrame(const DecodedPage& page, u16 code) {
  return code >> CODE_BASE_SHIFT == CODE_BASE_RULE &&
         page.rules[code & CODE_INDEX_MASK].signal_frame != 0;
}

void CompareWithDebugFrame(const std::string& path, uint16_t machine) {
  const std::string stack_pointer = machine == EM_AARCH64 ? "sp" : "rsp";
  if (access(path.c_str(), X_OK) != 0) GTEST_SKIP() << "no Go here";
  const std::unique_ptr<OpenedTables> opened = OpenFile(path);
  ASSERT_TRUE(opened->tables) << opened->status;
  ASSERT_TRUE(opened->tables->changes_stacks());
  const absl::StatusOr<ElfImage> elf = ElfImage::Create(*opened->source);
  ASSERT_TRUE(elf.ok());
  const auto oracle = FrameOracle::FromReadelf(path, [](uint64_t, uint64_t) { return true; });
  if (!oracle) GTEST_SKIP() << "no readelf";
  const PageRange range = opened->tables->pages();
  uint64_t compared = 0, different = 0, unsaid = 0, saved = 0, changes = 0;
  std::set<std::string> kinds;
  for (uint32_t i = 0; i < range.page_count; ++i) {
    const auto blob = opened->tables->BuildPage(range.first_page + i);
    ASSERT_TRUE(blob.ok()) << blob.status();
    const DecodedPage page = DecodePage(*blob, machine);
    ASSERT_EQ(page.error, "");
    for (const uint32_t offset : page.row_starts) {
      const auto address =
          elf->AddressOfOffset((uint64_t{range.first_page + i} << PAGE_TEXT_SHIFT) + offset);
      if (!address) continue;
      const CodeText ours = DescribeCode(page.code_at[offset], page.rules, machine);
      if (!ours.special.empty() || !ours.cfa.starts_with(stack_pointer) ||
          IsSignalFrame(page, page.code_at[offset])) {
        ++changes;
        kinds.insert(ours.special + ours.cfa.substr(0, 3));
        continue;
      }
      const OracleEntry* entry = oracle->EntryAt(*address);
      if (entry == nullptr) continue;
      const OracleRow* row = FrameOracle::RowAt(*entry, *address);
      if (row == nullptr) continue;
      ++compared;
      saved += ours.rbp.starts_with("c-") ? 1 : 0;
      // "The same" as in the caller: in x30. Of outermost functions (mstart) Go's linker says
      // nothing, though it is stored.
      const std::string ra = row->ra == "s" ? "u" : row->ra;
      const bool is_outermost = row->ra == "u" && ours.ra.starts_with("c-");
      unsaid += is_outermost ? 1 : 0;
      const bool is_equal =
          ours.cfa == row->cfa && (machine != EM_AARCH64 || ours.ra == ra || is_outermost);
      different += is_equal ? 0 : 1;
      if (!is_equal && different <= 5)
        ADD_FAILURE() << fmt::format("{:x}: ours {} {}, readelf's {} {}", *address, ours.cfa,
                                     ours.ra, row->cfa, row->ra);
    }
  }
  EXPECT_GT(compared, 5000u);
  EXPECT_EQ(different, 0u);
  if (machine == EM_AARCH64) {
    EXPECT_LE(unsaid, 4u);
  }
  EXPECT_GT(saved, compared / 4);  // Every function with a frame.
  EXPECT_GT(changes, 10u);
  std::fprintf(stderr,
               "measured: %llu rows as readelf, %llu with rbp saved, %llu changes of stacks\n",
               static_cast<unsigned long long>(compared), static_cast<unsigned long long>(saved),
               static_cast<unsigned long long>(changes));
}

TEST(GoFrames, CountAsDebugFrame) {
  CompareWithDebugFrame(STACKRAY_BINARY_DIR "/tests/fixtures/native/go_runtime", EM_X86_64);
}

TEST(GoFrames, CountAsDebugFrameOnArm64) {
  CompareWithDebugFrame(STACKRAY_BINARY_DIR "/tests/symbolizer/cfi/go_arm64", EM_AARCH64);
}

// As Go's assembler writes racecall: rsp into r12, g0's stack from m (r13), and back behind the
// call.
constexpr uint8_t kDetectorsCall[] = {0x4d, 0x8b, 0x6e, 0x30,  // mov 0x30(%r14), %r13
                                      0x49, 0x89, 0xe4,        // mov %rsp, %r12
                                      0x4d, 0x8b, 0x55, 0x00,  // mov 0(%r13), %r10
                                      0x4d, 0x39, 0xf2,        // cmp %r14, %r10
                                      0x74, 0x04,              // je: it is on g0's stack already
                                      0x49, 0x8b, 0x62, 0x38,  // mov 0x38(%r10), %rsp
                                      0x48, 0x83, 0xe4, 0xf0,  // and $-16, %rsp
                                      0xff, 0xd0,              // call *%rax
                                      0x4c, 0x89, 0xe4,        // mov %r12, %rsp
                                      0xc3};
constexpr uint64_t kSwitched = 20, kBack = 29;

TEST(GoFrames, TheDetectorsCallerIsInR12) {
  const std::vector<cfi::GoDepth> depths = {{0, 0}};
  const cfi::GoRuntime runtime{.curg_offset = 0xb8, .thread_place = ~uint64_t{7}};
  std::vector<uint8_t> text(std::begin(kDetectorsCall), std::end(kDetectorsCall));
  cfi::GoFunctionText function{
      .name = "racecall", .address = 0x401000, .bytes = text, .depths = depths, .writes_sp = true};
  ASSERT_TRUE(cfi::NeedsGoRuntime(function));
  const std::vector<cfi::GoOverride> found = cfi::FindGoOverrides(function, &runtime, 0);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].begin, kSwitched);
  EXPECT_EQ(found[0].end, kBack);
  EXPECT_EQ(found[0].rule.cfa_kind, CFA_GO_KEPT);
  EXPECT_EQ(found[0].rule.cfa_offset, 8);
  EXPECT_EQ(found[0].rule.cfa_add, 0xb8);
  EXPECT_EQ(found[0].rule.ra_offset, -8);

  const auto is_cut = [](const std::vector<cfi::GoOverride>& overrides) {
    return overrides.size() == 1 && overrides[0].is_special &&
           overrides[0].special == SPECIAL_UNSUPPORTED && overrides[0].begin == kSwitched;
  };
  EXPECT_TRUE(is_cut(cfi::FindGoOverrides(function, nullptr, 0)));
  text[27] = 0x89, text[28] = 0xdc;  // From another register.
  function.bytes = text;
  EXPECT_TRUE(is_cut(cfi::FindGoOverrides(function, &runtime, 0)));
}

TEST(GoFrames, TheDetectorsCallbackSavesR12) {
  constexpr uint8_t kThunk[] = {0x75, 0x01,                          // jne: the short way
                                0xc3,                                // ret
                                0x48, 0x83, 0xec, 0x30,              // sub $0x30, %rsp
                                0x48, 0x89, 0x6c, 0x24, 0x28,        // mov %rbp, 0x28(%rsp)
                                0x4c, 0x89, 0x64, 0x24, 0x08,        // mov %r12, 8(%rsp)
                                0x49, 0xc7, 0xc4, 0,    0,    0, 0,  // mov $0, %r12
                                0x90};
  const cfi::GoFunctionText function{
      .name = "runtime.racecallbackthunk", .address = 0x401000, .bytes = kThunk};
  const std::vector<cfi::GoOverride> found = cfi::FindGoOverrides(function, nullptr, 0);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().begin, 0u);
  EXPECT_EQ(found.front().rule.cfa_offset, 8);
  EXPECT_EQ(found.front().rule.rbx_kind, VALUE_REGISTER);
  const unwind_rule& last = found.back().rule;
  EXPECT_EQ(found.back().end, std::size(kThunk));
  EXPECT_EQ(last.cfa_offset, 0x38);
  EXPECT_EQ(last.rbp_offset, -0x10);
  EXPECT_EQ(last.keeps_r12, 1);
  EXPECT_EQ(last.rbx_kind, VALUE_AT_CFA);
  EXPECT_EQ(last.rbx_offset, -0x30);
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
    constexpr uint8_t kArm64Write[] = {0x1f, 0x00, 0x00, 0x91};  // mov sp, x0
    if (text.size() > 40) std::copy(std::begin(kWrite), std::end(kWrite), text.begin() + 20);
    if (text.size() > 80)
      std::copy(std::begin(kArm64Write), std::end(kArm64Write), text.begin() + 60);
    const std::vector<cfi::GoDepth> depths = {{0, 0}, {5, 8}, {9, 40}, {200, 0}};
    for (const char* name :
         {"runtime.systemstack", "runtime.morestack", "runtime.mcall", "gogo", "runtime.asmcgocall",
          "runtime.cgocallback", "runtime.rt0_go", "runtime.sigpanic", "runtime.goexit",
          "runtime.clone", "runtime.morestack_noctxt", "racecall", "runtime.racecallbackthunk",
          "other"}) {
      const cfi::GoRuntime runtime{.curg_offset = 0xb8, .thread_place = ~uint64_t{7}};
      const cfi::GoFunctionText function{.name = name,
                                         .address = 0x401000,
                                         .bytes = text,
                                         .depths = depths,
                                         .writes_sp = true,
                                         .saves_rbp = round % 2 == 0};
      std::vector<cfi::GoOverride> overrides = cfi::FindGoOverrides(function, &runtime, 0);
      const std::vector<cfi::GoOverride> arm64 = cfi::FindArm64GoOverrides(function, &runtime);
      overrides.insert(overrides.end(), arm64.begin(), arm64.end());
      for (const cfi::GoOverride& found : overrides) {
        EXPECT_LE(found.begin, found.end);
        EXPECT_TRUE(found.is_special || found.rule.ra_kind != VALUE_SAME);
      }
    }
    (void)cfi::ReadGoRuntime(text, 0x401000);
    (void)cfi::ReadArm64GoRuntime(text);
    (void)cfi::BeginsArm64GoFrame(text, text.size());
    (void)cfi::StoresArm64GoFp(text, text.size() + 4);
  }
}

}  // namespace
}  // namespace stackray
