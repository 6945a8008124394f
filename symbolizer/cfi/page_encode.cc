#include "symbolizer/cfi/page_encode.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace stackray::cfi {
namespace {

constexpr u16 kNone = CODE_SPECIAL(SPECIAL_NONE);
constexpr size_t kUsualRows = 1024;

static_assert(sizeof(page_header) + ROW_BYTES * PAGE_TEXT_BYTES < (1u << 16),
              "a row at every byte: offsets of rows still fit 16 bits");
static_assert(sizeof(page_header) + ROW_BYTES * PAGE_TEXT_BYTES + 16 +
                      PAGE_MAX_RULES * sizeof(unwind_rule) <
                  CHUNK_BYTES,
              "any page fits a chunk");

size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Writes the rows of one 256-byte block: all keys, then all codes.
uint8_t* WriteBlock(std::span<const PageRow> rows, uint8_t* out) {
  for (const PageRow& row : rows) *out++ = static_cast<uint8_t>(row.offset);
  for (const PageRow& row : rows) {
    *out++ = static_cast<uint8_t>(row.code);
    *out++ = static_cast<uint8_t>(row.code >> 8);
  }
  return out;
}

}  // namespace

void PageRows::Clear() {
  if (rows_.capacity() > kUsualRows) std::vector<PageRow>().swap(rows_);
  rows_.assign(1, PageRow{0, kNone});
}

void PageRows::FillFrom(std::span<const PageRow> other) {
  const std::vector<PageRow> mine = std::exchange(rows_, {PageRow{0, kNone}});
  u16 own = kNone, others = kNone;
  for (size_t i = 0, j = 0; i < mine.size() || j < other.size();) {
    const uint32_t at = std::min<uint32_t>(i < mine.size() ? mine[i].offset : PAGE_TEXT_BYTES,
                                           j < other.size() ? other[j].offset : PAGE_TEXT_BYTES);
    if (i < mine.size() && mine[i].offset == at) own = mine[i++].code;
    if (j < other.size() && other[j].offset == at) others = other[j++].code;
    Append(at, own == kNone ? others : own);
  }
}

void PageRows::Replace(u16 code) {
  rows_.back().code = code;
  if (rows_.size() > 1 && rows_[rows_.size() - 2].code == code) rows_.pop_back();
}

void PageRows::Truncate(uint32_t offset) {
  while (rows_.size() > 1 && rows_.back().offset >= offset) rows_.pop_back();
  if (offset == 0) rows_.front().code = kNone;
}

void PageRows::Overwrite(uint32_t begin, uint32_t end, u16 code) {
  const std::vector<PageRow> before = std::exchange(rows_, {{0, kNone}});
  u16 in_force = kNone;
  bool is_written = false;
  const auto write = [&] {
    Append(begin, code);
    if (end < PAGE_TEXT_BYTES) Append(end, in_force);
    is_written = true;
  };
  for (const PageRow& row : before) {
    if (row.offset >= end && !is_written) write();
    if (row.offset < begin || row.offset >= end) Append(row.offset, row.code);
    in_force = row.code;
  }
  if (!is_written) write();
}

std::vector<uint8_t> EncodePage(std::span<const PageRow> rows, std::span<const unwind_rule> rules) {
  assert(!rows.empty() && rows.front().offset == 0 && rows.size() <= PAGE_TEXT_BYTES + 1);
  assert(rules.size() <= PAGE_MAX_RULES);
  const std::span<const PageRow> stored = rows.subspan(1);
  page_header header{};
  header.sentinel = rows.front().code;
  header.rule_count = static_cast<u16>(rules.size());
  const size_t row_end = sizeof(header) + stored.size() * ROW_BYTES;
  header.rules_offset = static_cast<u32>(RoundUp(row_end, 8));
  header.size_bytes =
      static_cast<u32>(RoundUp(header.rules_offset + rules.size_bytes(), HANDLE_UNIT));
  std::vector<uint8_t> blob(header.size_bytes);
  uint8_t* out = blob.data() + sizeof(header);
  size_t row = 0;
  for (size_t block = 0; block < PAGE_BLOCKS; ++block) {
    const size_t first = row;
    while (row < stored.size() && (stored[row].offset >> BLOCK_TEXT_SHIFT) == block) ++row;
    out = WriteBlock(stored.subspan(first, row - first), out);
    header.start[block + 1] = static_cast<u16>(row);
  }
  std::memcpy(blob.data(), &header, sizeof(header));
  if (!rules.empty())
    std::memcpy(blob.data() + header.rules_offset, rules.data(), rules.size_bytes());
  return blob;
}

}  // namespace stackray::cfi
