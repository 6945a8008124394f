// Compares every row boundary of real files, from both sides, with readelf and llvm-dwarfdump. The
// arm64 libraries are those of Debian's packages for cross compilers (libstdc++6-arm64-cross): an
// x86-64 machine reads them as well.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "fmt/format.h"
#include "tests/symbolizer/cfi/blob_reader.h"
#include "tests/symbolizer/cfi/frame_oracle.h"
#include "tests/symbolizer/cfi/opened_tables.h"

namespace stackray {
namespace {

constexpr uint32_t kMaxPages = 400;  // Of larger files a random choice is compared.

struct Comparison {
  uint64_t compared = 0, rows = 0, bytes = 0, rules = 0;
  uint64_t none = 0, unsupported = 0, expressions = 0, filled = 0, starts = 0;
  std::vector<std::string> differences;
};

struct Page {
  uint32_t number = 0;
  std::vector<uint8_t> blob;
  DecodedPage decoded;
};

std::vector<Page> BuildSomePages(UnwindTables& tables, uint16_t machine, Comparison* comparison) {
  const PageRange range = tables.pages();
  std::set<uint32_t> numbers;
  std::mt19937 random(7);
  for (uint32_t i = 0; i < range.page_count && range.page_count <= kMaxPages; ++i)
    numbers.insert(range.first_page + i);
  while (numbers.size() < std::min(range.page_count, kMaxPages))
    numbers.insert(range.first_page + random() % range.page_count);
  std::vector<Page> pages;
  for (const uint32_t number : numbers) {
    absl::StatusOr<std::vector<uint8_t>> blob = tables.BuildPage(number);
    EXPECT_TRUE(blob.ok()) << blob.status();
    if (!blob.ok()) continue;
    DecodedPage decoded = DecodePage(*blob, machine);
    EXPECT_EQ(decoded.error, "") << "page " << number;
    if (!decoded.error.empty()) continue;
    comparison->bytes += blob->size();
    comparison->rows += decoded.row_starts.size();
    comparison->rules += decoded.rules.size();
    pages.push_back({number, std::move(*blob), std::move(decoded)});
  }
  return pages;
}

bool Same(const std::string& ours, const std::string& theirs) {
  if (ours == "u") return theirs.empty() || theirs == "u" || theirs == "s";
  return ours == theirs;
}

// Where rsp is said to be elsewhere than at the CFA, our rule's CFA is rsp, and what was relative
// to the CFA is relative to its register.
OracleRow RebasedOnRsp(OracleRow row) {
  if (row.rsp.empty() || row.rsp == "u" || row.rsp == "exp") return row;
  row.cfa = row.rsp.starts_with("c") ? "exp" : row.rsp + "+0";
  for (std::string* cell : {&row.rbp, &row.ra})
    if (cell->starts_with("c")) *cell = "exp";
  return row;
}

// No rules, or what the instructions say where a file has no entry.
bool IsWithoutEntry(const CodeText& ours) {
  return ours.guessed || ours.special == "NONE" || ours.special == "END" ||
         ours.special == "SIGNAL";
}

std::string ReadelfDifference(const CodeText& ours, const OracleRow* original) {
  if (original == nullptr) return IsWithoutEntry(ours) ? "" : "expected NONE";
  if (ours.guessed) return "guessed, though there are rules";
  const OracleRow rebased = RebasedOnRsp(*original);
  const OracleRow* row = &rebased;
  if (ours.special == "NONE") return "expected rules";
  if (ours.special == "END")
    return row->ra == "u" || row->ra.empty() ? "" : "the return address is defined";
  if (ours.special == "PLT") return row->cfa == "exp" && row->ra == "c-8" ? "" : "not PLT";
  if (ours.special == "SIGNAL")
    return row->cfa == "exp" && row->ra == "exp" && row->rbp == "exp" ? "" : "not a signal frame";
  if (ours.special == "UNSUPPORTED")
    return row->cfa == "exp" || row->rbp.find("exp") != std::string::npos ||
                   row->ra.find("exp") != std::string::npos
               ? ""
               : "should be supported";
  if (ours.cfa != row->cfa) return "CFA";
  if (!Same(ours.rbp, row->rbp)) return "rbp";
  if (ours.ra == "x15" && row->ra.empty()) return "";  // glibc's rawmemchr, whose column is x15's.
  return Same(ours.ra, row->ra) ? "" : "return address";
}

std::string LlvmDifference(const CodeText& ours, const OracleRow* row) {
  constexpr const char* kPlt =
      "DW_OP_breg7 RSP+8, DW_OP_breg16 RIP+0, DW_OP_lit15, DW_OP_and, DW_OP_lit11, DW_OP_ge, "
      "DW_OP_lit3, DW_OP_shl, DW_OP_plus";
  if (row == nullptr) return IsWithoutEntry(ours) ? "" : "expected NONE";
  if (ours.guessed) return "guessed, though there are rules";
  if (ours.special == "NONE") return "expected rules";
  if (ours.special == "END") return row->ra == "undefined" ? "" : "the return address is defined";
  if (ours.special == "PLT") return row->cfa == kPlt ? "" : "not PLT";
  if (ours.special == "SIGNAL")
    return row->cfa == "DW_OP_breg7 RSP+160, DW_OP_deref" && row->rbp == "[DW_OP_breg7 RSP+120]" &&
                   row->ra == "[DW_OP_breg7 RSP+168]"
               ? ""
               : "not a signal frame";
  if (ours.special == "UNSUPPORTED")
    return row->cfa.find("DW_OP_mul") != std::string::npos ||
                   row->cfa.find("DW_OP_and") != std::string::npos
               ? ""
               : "should be supported";
  if (!row->rsp.empty()) return "";  // Rebased: readelf's comparison has these.
  // No offset is printed where it is 0.
  const std::string cfa =
      row->cfa.find_first_of("+-") == std::string::npos ? row->cfa + "+0" : row->cfa;
  if (ours.cfa_exact != cfa) return "CFA";
  if (ours.rbp_exact != (row->rbp == "same" ? "" : row->rbp)) return "rbp";
  if (ours.ra_exact == "W15" && row->ra.empty()) return "";
  return ours.ra_exact == (row->ra == "same" ? "" : row->ra) ? "" : "return address";
}

// Every address at which either side changes its mind, and the byte before.
std::set<uint64_t> Boundaries(const Page& page, uint64_t begin, uint64_t end, uint64_t page_address,
                              const FrameOracle& oracle) {
  std::set<uint64_t> wanted;
  const auto add = [&](uint64_t address) {
    for (const uint64_t near : {address - 1, address})
      if (near >= begin && near < end) wanted.insert(near);
  };
  add(begin);
  add(end);
  for (const uint32_t start : page.decoded.row_starts) add(page_address + start);
  auto entry = std::ranges::lower_bound(oracle.entries(), begin, {}, &OracleEntry::begin);
  if (entry != oracle.entries().begin()) --entry;
  for (; entry != oracle.entries().end() && entry->begin < end; ++entry) {
    add(entry->end);
    for (const OracleRow& row : entry->rows) add(row.address);
  }
  return wanted;
}

bool IsStubOrSignalReturn(const ElfImage& elf, uint64_t address, const CodeText& ours) {
  const ElfSection* plt = elf.FindSection(".plt");
  if (plt != nullptr && address >= plt->address && address - plt->address < plt->size_bytes)
    return ours.cfa == "sp+0" || (ours.cfa == "sp+16" && ours.ra == "c-8");
  return ours.special == "SIGNAL";
}

// A return address behind this one is a function's first byte: it lies right before an entry, or
// where no entry is.
bool IsBeforeStart(const FrameOracle& oracle, uint64_t address, const CodeText& ours) {
  if (ours.special != "START") return false;
  const OracleEntry* next = oracle.EntryAt(address + 1);
  return oracle.EntryAt(address) == nullptr || (next != nullptr && next->begin == address + 1);
}

using Difference = std::string (*)(const CodeText&, const OracleRow*);

void ComparePage(const Page& page, const ElfImage& elf, const FrameOracle& oracle,
                 Difference difference, Comparison* comparison) {
  const uint64_t page_begin = uint64_t{page.number} << PAGE_TEXT_SHIFT;
  for (const ElfSegment& segment : elf.segments()) {
    const uint64_t first = std::max(page_begin, segment.file_offset);
    const uint64_t last =
        std::min(page_begin + PAGE_TEXT_BYTES, segment.file_offset + segment.file_bytes);
    if (!segment.executable || first >= last) continue;
    const uint64_t page_address = segment.address - segment.file_offset + page_begin;
    for (const uint64_t address :
         Boundaries(page, segment.address + first - segment.file_offset,
                    segment.address + last - segment.file_offset, page_address, oracle)) {
      const OracleEntry* entry = oracle.EntryAt(address);
      if (entry != nullptr && !entry->readable) continue;
      const OracleRow* row = entry == nullptr ? nullptr : FrameOracle::RowAt(*entry, address);
      const uint32_t offset = static_cast<uint32_t>(address - page_address);
      const CodeText ours =
          DescribeCode(page.decoded.code_at[offset], page.decoded.rules, elf.machine());
      ++comparison->compared;
      comparison->none += ours.special == "NONE";
      comparison->unsupported += ours.special == "UNSUPPORTED";
      comparison->expressions += ours.cfa == "exp";
      // What cfi/arm64_gaps.h knows of code that no entry describes.
      if (row == nullptr && ours.special != "NONE" && elf.machine() == EM_AARCH64 &&
          IsStubOrSignalReturn(elf, address, ours)) {
        ++comparison->filled;
        continue;
      }
      if (IsBeforeStart(oracle, address, ours)) {
        ++comparison->starts;
        continue;
      }
      const std::string what = difference(ours, row);
      if (!what.empty() && comparison->differences.size() < 10)
        comparison->differences.push_back(
            fmt::format("{:#x}: {}: ours {}{} rbp {} ra {}; theirs {} rbp {} ra {}", address, what,
                        ours.special, ours.cfa_exact, ours.rbp_exact, ours.ra_exact,
                        row ? row->cfa : "none", row ? row->rbp : "", row ? row->ra : ""));
    }
  }
}

enum class Oracle { kReadelf, kLlvm };

void CompareFile(const std::string& path, Oracle which) {
  const std::unique_ptr<OpenedTables> opened = OpenFile(path);
  if (absl::IsNotFound(opened->status)) GTEST_SKIP() << path << ": " << opened->status;
  ASSERT_TRUE(opened->tables) << opened->status;
  Comparison comparison;
  const std::vector<Page> pages =
      BuildSomePages(*opened->tables, opened->elf->machine(), &comparison);
  std::set<uint32_t> numbers;
  for (const Page& page : pages) numbers.insert(page.number);
  const FrameOracle::Wanted wanted = [&](uint64_t begin, uint64_t end) {
    const std::optional<uint64_t> first = opened->elf->OffsetOfAddress(begin);
    if (!first) return false;
    const auto page = numbers.lower_bound(static_cast<uint32_t>(*first >> PAGE_TEXT_SHIFT));
    return page != numbers.end() && uint64_t{*page} << PAGE_TEXT_SHIFT <= *first + (end - begin);
  };
  const std::optional<FrameOracle> oracle = which == Oracle::kReadelf
                                                ? FrameOracle::FromReadelf(path, wanted)
                                                : FrameOracle::FromLlvmDwarfdump(path, wanted);
  if (!oracle) GTEST_SKIP() << "the oracle is not installed";
  for (const Page& page : pages)
    ComparePage(page, *opened->elf, *oracle,
                which == Oracle::kReadelf ? &ReadelfDifference : &LlvmDifference, &comparison);
  const double bytes_per_row = static_cast<double>(comparison.bytes) /
                               static_cast<double>(std::max<uint64_t>(comparison.rows, 1));
  fmt::print(
      "{}: {} pages, {} rows, {:.2f} bytes a row, {} rules; {} addresses compared "
      "({} in no entry, {} CFA expressions, {} unsupported, {} filled in, {} before a start), {} "
      "KiB held\n",
      path, pages.size(), comparison.rows, bytes_per_row, comparison.rules, comparison.compared,
      comparison.none, comparison.expressions, comparison.unsupported, comparison.filled,
      comparison.starts, opened->tables->memory_bytes() / 1024);
  for (const std::string& text : comparison.differences) ADD_FAILURE() << text;
  EXPECT_GT(comparison.compared, 0u);
  const bool is_arm64 = opened->elf->machine() == EM_AARCH64;
  EXPECT_EQ(is_arm64 ? comparison.unsupported : 0, 0u);
  EXPECT_GT(is_arm64 ? comparison.filled : 1, 0u) << "no stub of the .plt";
  const bool is_large = comparison.rows > 10000;
  // arm64 changes its rules less often, so that the header of a page counts for more.
  EXPECT_LE(is_large ? bytes_per_row : 0, is_arm64 ? 5.25 : 4.5);
  const bool has_header = opened->elf->eh_frame_header_address().has_value();
  EXPECT_LE(has_header ? opened->tables->memory_bytes() : 0, 100u << 10);
}

std::string Resolve(const std::string& name) {
  if (name.starts_with("fixture:")) return std::string(CFI_FIXTURE_DIR "/") + name.substr(8);
  if (name.starts_with("/")) return name;
  // A library: wherever the loader would find it.
  for (const char* folder : {"/usr/bin/", "/lib/x86_64-linux-gnu/", "/usr/lib/x86_64-linux-gnu/",
                             "/usr/lib/llvm-14/lib/", "/lib64/", "/usr/lib64/"})
    if (access((folder + name).c_str(), R_OK) == 0) return folder + name;
  return name;
}

std::string CaseName(const testing::TestParamInfo<const char*>& info) {
  std::string name;
  for (const char* c = info.param; *c != '\0'; ++c)
    name += std::isalnum(static_cast<unsigned char>(*c)) ? *c : '_';
  return name;
}

class ReadelfAgrees : public testing::TestWithParam<const char*> {};
TEST_P(ReadelfAgrees, AtEveryRowBoundary) { CompareFile(Resolve(GetParam()), Oracle::kReadelf); }
INSTANTIATE_TEST_SUITE_P(Files, ReadelfAgrees,
                         testing::Values("libc.so.6", "ld-linux-x86-64.so.2", "libstdc++.so.6",
                                         "libm.so.6", "libcrypto.so.3", "libgcc_s.so.1", "python3",
                                         "gdb", "clang", "libLLVM-14.so.1", "libicudata.so.72",
                                         "fixture:static", "fixture:static_no_header",
                                         "fixture:no_header", "fixture:debug_frame",
                                         "fixture:debug_frame_packed", "fixture:odd_rules",
                                         "fixture:gnu_opcode"),
                         CaseName);

INSTANTIATE_TEST_SUITE_P(Arm64, ReadelfAgrees,
                         testing::Values("/usr/aarch64-linux-gnu/lib/libc.so.6",
                                         "/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1",
                                         "/usr/aarch64-linux-gnu/lib/libstdc++.so.6",
                                         "/usr/aarch64-linux-gnu/lib/libm.so.6",
                                         "/usr/aarch64-linux-gnu/lib/libgcc_s.so.1"),
                         CaseName);

// Others, by hand: paths separated by colons.
TEST(Arm64, ReadelfAgreesOnFilesThatAreNamed) {
  const char* files = std::getenv("STACKRAY_ARM64_FILES");
  if (files == nullptr) GTEST_SKIP() << "STACKRAY_ARM64_FILES names none";
  std::istringstream names(files);
  for (std::string name; std::getline(names, name, ':');) CompareFile(name, Oracle::kReadelf);
}

class LlvmAgrees : public testing::TestWithParam<const char*> {};
TEST_P(LlvmAgrees, AtEveryRowBoundary) { CompareFile(Resolve(GetParam()), Oracle::kLlvm); }
INSTANTIATE_TEST_SUITE_P(Files, LlvmAgrees,
                         testing::Values("libc.so.6", "ld-linux-x86-64.so.2", "libcrypto.so.3",
                                         "libgcc_s.so.1", "fixture:static", "fixture:odd_rules"),
                         CaseName);

INSTANTIATE_TEST_SUITE_P(Arm64, LlvmAgrees,
                         testing::Values("/usr/aarch64-linux-gnu/lib/libc.so.6",
                                         "/usr/aarch64-linux-gnu/lib/libgcc_s.so.1"),
                         CaseName);

}  // namespace
}  // namespace stackray
