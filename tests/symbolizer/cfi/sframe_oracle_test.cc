// SFrame as an assembler writes it: a program's rows against what readelf prints of the section,
// and against those of its own .eh_frame, at every address. Further files, of other versions and
// machines: STACKRAY_SFRAME_FILES="FILE …", and the readelf that knows them:
// STACKRAY_SFRAME_READELF.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>

#include "fmt/format.h"
#include "symbolizer/cfi/sframe.h"
#include "tests/symbolizer/cfi/blob_reader.h"
#include "tests/symbolizer/cfi/opened_tables.h"
#include "tests/symbolizer/oracle.h"

namespace stackray {
namespace {

std::vector<uint8_t> ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct File {
  std::string path, readelf;
};

std::vector<File> Files() {
  std::vector<File> files;
  for (const char* name : {"sframe", "sframe_static"})
    if (const std::string path = std::string(CFI_FIXTURE_DIR "/") + name; !ReadBytes(path).empty())
      files.push_back({path, "readelf"});
  const char* more = std::getenv("STACKRAY_SFRAME_FILES");
  std::istringstream words(more == nullptr ? "" : more);
  const char* readelf = std::getenv("STACKRAY_SFRAME_READELF");
  for (std::string word; words >> word;)
    files.push_back({word, readelf == nullptr ? "readelf" : readelf});
  return files;
}

// So that nothing but .sframe is left: the other sections' names and the header's kind are others.
std::vector<uint8_t> WithoutEhFrame(std::vector<uint8_t> bytes) {
  const auto replace = [&bytes](std::string_view what, std::string_view with) {
    for (auto at = bytes.begin();;) {
      at = std::search(at, bytes.end(), what.begin(), what.end());
      if (at == bytes.end()) return;
      at = std::copy(with.begin(), with.end(), at);
    }
  };
  replace(".eh_frame", ".xx_xxxxx");
  replace(".debug_frame", ".xxxxx_xxxxx");
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  for (int i = 0; i < header.e_phnum; ++i) {
    uint8_t* at = bytes.data() + header.e_phoff + static_cast<size_t>(i) * sizeof(Elf64_Phdr);
    Elf64_Phdr program;
    std::memcpy(&program, at, sizeof(program));
    if (program.p_type == PT_GNU_EH_FRAME) std::memset(at, 0, 4);
  }
  return bytes;
}

// "CFA frame-pointer" of each address; nothing where there is no row, or one from instructions.
class RowMap {
 public:
  explicit RowMap(OpenedTables* opened) {
    for (const ElfSegment& segment : opened->elf->segments())
      if (segment.executable) Add(opened, segment);
  }
  const std::map<uint64_t, std::string>& rows() const { return rows_; }
  std::string At(uint64_t address) const {
    const auto row = rows_.find(address);
    return row == rows_.end() ? "" : row->second;
  }

 private:
  void Add(OpenedTables* opened, const ElfSegment& segment) {
    const uint16_t machine = opened->elf->machine();
    const PageRange range = opened->tables->pages();
    for (uint32_t i = range.first_page; i < range.first_page + range.page_count; ++i) {
      const absl::StatusOr<std::vector<uint8_t>> blob = opened->tables->BuildPage(i);
      if (!blob.ok()) continue;
      const DecodedPage page = DecodePage(*blob, machine);
      for (uint64_t at = 0; at < PAGE_TEXT_BYTES; ++at) {
        const uint64_t offset = uint64_t{i} * PAGE_TEXT_BYTES + at;
        if (offset < segment.file_offset || offset >= segment.file_offset + segment.file_bytes)
          continue;
        const uint64_t address = segment.address + (offset - segment.file_offset);
        const CodeText text = DescribeCode(page.code_at[at], page.rules, machine);
        std::string row = text.cfa + " " + text.rbp + " " + text.ra;
        if (text.special == "PLT")
          row = fmt::format("rsp{:+} u c-8", (address & 15) >= 11 ? 16 : 8);
        else if (!text.special.empty())
          row = text.special;
        if (!text.guessed && row != "NONE") rows_[address] = std::move(row);
      }
    }
  }

  std::map<uint64_t, std::string> rows_;
};

// Rows by address, in readelf's words.
std::map<uint64_t, std::string> RowsOfReadelf(const File& file, bool is_arm64) {
  std::map<uint64_t, std::string> rows;
  uint64_t begin = 0, size = 0, block = 0;
  std::vector<std::pair<uint64_t, std::string>> found;
  const auto finish = [&] {
    for (uint64_t at = 0; at < size && !found.empty(); ++at) {
      const uint64_t place = block == 0 ? begin + at : at % block;
      auto row =
          std::ranges::upper_bound(found, place, {}, &std::pair<uint64_t, std::string>::first);
      if (row != found.begin()) rows[begin + at] = std::prev(row)->second;
    }
    found.clear();
  };
  const std::string sp = is_arm64 ? "sp" : "rsp", fp = is_arm64 ? "x29" : "rbp";
  for (const std::string& line :
       test::RunLines(file.readelf + " --sframe=.sframe " + file.path + " 2>/dev/null")) {
    unsigned long long pc = 0, bytes = 0;
    std::istringstream words(line);
    std::string first, cfa, frame, ra;
    words >> first >> cfa >> frame >> ra;
    if (sscanf(line.c_str(), " func idx [%*u]: pc = 0x%llx, size = %llu", &pc, &bytes) == 2) {
      finish();
      begin = pc;
      size = bytes;
      block = 0;
    } else if (first == "STARTPC[m]") {
      block = size == 8 ? 8 : 16;  // .plt.got's stubs have 8 bytes.
    } else if (first.size() == 16 &&
               first.find_first_not_of("0123456789abcdef") == std::string::npos) {
      if (cfa == "RA") {  // "RA undefined".
        found.emplace_back(std::stoull(first, nullptr, 16), "END");
        continue;
      }
      cfa = cfa.starts_with("sp")   ? sp + cfa.substr(2)
            : cfa.starts_with("fp") ? fp + cfa.substr(2)
                                    : cfa;
      if (ra.ends_with("[s]")) ra.resize(ra.size() - 3);
      for (std::string* cell : {&cfa, &frame})
        if (cell->starts_with("(")) *cell = "exp";  // What lies there.
      if (!is_arm64) ra = "c-8";
      found.emplace_back(std::stoull(first, nullptr, 16), cfa + " " + frame + " " + ra);
    }
  }
  finish();
  return rows;
}

// GNU ld (2.44, 2.47) says of .plt.got's stubs that their caller pushed twice. Such rows are
// refused.
bool IsLinkersError(const std::string& readelfs, const std::string& eh_frames) {
  return readelfs == "rsp+16 u c-8" && eh_frames == "rsp+8 u c-8";
}

TEST(SframeOracle, RowsAreReadelfsAndThoseOfEhFrame) {
  size_t compared = 0;
  for (const File& file : Files()) {
    const std::string& path = file.path;
    SCOPED_TRACE(path);
    const std::unique_ptr<OpenedTables> both = OpenFile(path);
    const std::unique_ptr<OpenedTables> alone = OpenBytes(WithoutEhFrame(ReadBytes(path)));
    ASSERT_TRUE(both->tables && alone->tables) << alone->status;
    ASSERT_EQ(UnwindTables::FirstOf(*alone->source, *alone->elf), UnwindTables::Kind::kSframe);
    const RowMap eh_frame(both.get()), sframe(alone.get());
    const bool is_arm64 = both->elf->machine() == EM_AARCH64;
    const std::map<uint64_t, std::string> theirs = RowsOfReadelf(file, is_arm64);
    ASSERT_GT(theirs.size(), 100u);
    size_t wrong = 0, missing = 0;
    for (const auto& [address, row] : theirs)
      if (sframe.At(address) != row && !IsLinkersError(row, eh_frame.At(address)) && ++wrong < 5)
        ADD_FAILURE() << fmt::format("{:x}: {} is {} for readelf", address, sframe.At(address),
                                     row);
    EXPECT_EQ(wrong, 0u);
    size_t other = 0;
    for (const auto& [address, row] : eh_frame.rows()) {
      if (!theirs.contains(address)) {
        ++missing;
        continue;
      }
      const std::string ours = sframe.At(address);
      // The byte before a function's first one is marked where that function has an entry; .sframe
      // may have none.
      if (row == "START") continue;
      if (!ours.empty() && ours != row && ++other < 5)
        ADD_FAILURE() << fmt::format("{:x}: {} is {} in .eh_frame", address, ours, row);
    }
    EXPECT_EQ(other, 0u);
    fmt::print(
        "{}: {} addresses of readelf's, {} rows of .eh_frame, of which {} are not in .sframe\n",
        path.substr(path.rfind('/') + 1), theirs.size(), eh_frame.rows().size(), missing);
    compared += theirs.size();
  }
  if (compared == 0) GTEST_SKIP() << "no assembler here that writes SFrame";
}

}  // namespace
}  // namespace stackray
