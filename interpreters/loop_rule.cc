#include "interpreters/loop_rule.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <vector>

#include "bpf/shared/unwind_table.h"
#include "symbolizer/cfi/cfi_source.h"

namespace stackray {
namespace {

constexpr uint64_t kMostLoopBytes = 1 << 20;

// Adds up for how many bytes between `begin` and `end`, which are of the page, each code holds. The
// blob is our own.
void CountCodes(std::span<const uint8_t> blob, uint32_t begin, uint32_t end,
                std::map<uint16_t, uint64_t>* bytes) {
  page_header header;
  std::memcpy(&header, blob.data(), sizeof(header));
  uint16_t code = header.sentinel;
  uint32_t from = 0;
  const auto add = [&](uint32_t to) {
    const uint32_t first = std::max(from, begin), last = std::min(to, end);
    if (first < last) (*bytes)[code] += last - first;
  };
  for (uint32_t block = 0; block < PAGE_BLOCKS; ++block) {
    const uint32_t rows = header.start[block + 1] - header.start[block];
    const size_t keys = sizeof(header) + size_t{header.start[block]} * ROW_BYTES;
    for (uint32_t row = 0; row < rows; ++row) {
      const uint32_t at = (block << BLOCK_TEXT_SHIFT) + blob[keys + row];
      add(at);
      from = at;
      std::memcpy(&code, &blob[keys + rows + row * sizeof(code)], sizeof(code));
    }
  }
  add(PAGE_TEXT_BYTES);
}

}  // namespace

std::optional<uint16_t> LoopRule(const ElfImage& image, const ByteSource& source,
                                 const FileRange& loop) {
  if (loop.end <= loop.begin || loop.end - loop.begin > kMostLoopBytes) return std::nullopt;
  absl::StatusOr<UnwindTables> tables = UnwindTables::Create(source, image);
  if (!tables.ok()) return std::nullopt;
  std::map<uint16_t, uint64_t> bytes;  // By code.
  for (uint64_t page = loop.begin >> PAGE_TEXT_SHIFT; page <= (loop.end - 1) >> PAGE_TEXT_SHIFT;
       ++page) {
    const absl::StatusOr<std::vector<uint8_t>> blob =
        tables->BuildPage(static_cast<uint32_t>(page));
    if (!blob.ok()) return std::nullopt;
    const uint64_t text = page << PAGE_TEXT_SHIFT;
    CountCodes(*blob, static_cast<uint32_t>(std::max(loop.begin, text) - text),
               static_cast<uint32_t>(std::min<uint64_t>(loop.end - text, PAGE_TEXT_BYTES)), &bytes);
  }
  const auto most = std::max_element(
      bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == bytes.end() || most->first >> CODE_BASE_SHIFT > CODE_BASE_RBP) return std::nullopt;
  return most->first;
}

}  // namespace stackray
