#include "symbolizer/cfi/jit_rows.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "symbolizer/cfi/page_encode.h"
#include "symbolizer/cfi/rule_encode.h"

namespace stackray::cfi {
namespace {

constexpr u16 kNone = CODE_SPECIAL(SPECIAL_NONE);

bool IsLarge(const CodeRows& rows) { return rows.end - rows.begin > JIT_REGION_BYTES; }

// The row's code in a page, whose rules have numbers of their own.
u16 CodeIn(const CodeRows& rows, const CodeRows::Row& row, RuleEncoder* encoder) {
  if (row.code >> CODE_BASE_SHIFT != CODE_BASE_RULE) return row.code;
  const u16 index = row.code & CODE_INDEX_MASK;
  return index < rows.rules.size() ? encoder->CodeOfRule(rows.rules[index]) : kNone;
}

// Appends the part of `rows` that lies in the page at `begin`.
void AppendTo(PageRows* page, uint64_t begin, const CodeRows& rows, RuleEncoder* encoder) {
  const uint64_t end = begin + PAGE_TEXT_BYTES;
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const CodeRows::Row& row = rows.rows[i];
    const uint64_t from = std::max(rows.begin + row.offset, begin);
    const uint64_t to = i + 1 < rows.rows.size() ? rows.begin + rows.rows[i + 1].offset : rows.end;
    if (from >= end || from >= to) continue;
    page->Append(static_cast<uint32_t>(from - begin), CodeIn(rows, row, encoder));
  }
  if (rows.end < end) page->Append(static_cast<uint32_t>(rows.end - begin), kNone);
}

}  // namespace

void JitRows::MarkChanged(const CodeRows& rows) {
  has_large_changed_ |= IsLarge(rows);
  if (IsLarge(rows)) return;
  for (uint64_t page = rows.begin >> PAGE_TEXT_SHIFT; page <= (rows.end - 1) >> PAGE_TEXT_SHIFT;
       ++page)
    changed_.insert(page);
}

JitRows::Map::iterator JitRows::Remove(Map::iterator known) {
  MarkChanged(known->second.rows);
  bytes_ -= known->second.rows.bytes();
  return rows_.erase(known);
}

void JitRows::Erase(uint64_t begin, uint64_t end) {
  auto at = rows_.lower_bound(begin);
  if (at != rows_.begin() && std::prev(at)->second.rows.end > begin) --at;
  while (at != rows_.end() && at->first < end) at = Remove(at);
}

void JitRows::EraseAll(From from) {
  for (auto at = rows_.begin(); at != rows_.end();)
    at = at->second.from == from ? Remove(at) : std::next(at);
}

void JitRows::Clear() {
  while (!rows_.empty()) Remove(rows_.begin());
}

bool JitRows::Put(CodeRows rows, From from) {
  if (rows.begin >= rows.end || rows.end > kUserEnd || rows.rows.empty()) return false;
  Erase(rows.begin, rows.end);
  if (bytes_ + rows.bytes() > limit_bytes_ || (IsLarge(rows) && rows.rows.size() > 1)) {
    ++left_out_;
    return false;
  }
  MarkChanged(rows);
  bytes_ += rows.bytes();
  const uint64_t begin = rows.begin;
  rows_.emplace(begin, Known{std::move(rows), from});
  return true;
}

const CodeRows* JitRows::large() const {
  const auto found =
      std::ranges::find_if(rows_, [](const auto& known) { return IsLarge(known.second.rows); });
  return found == rows_.end() ? nullptr : &found->second.rows;
}

std::set<uint64_t> JitRows::TakeChanged() {
  has_large_changed_ = false;
  return std::exchange(changed_, {});
}

std::set<uint64_t> JitRows::Pages() const {
  std::set<uint64_t> pages;
  for (const auto& [begin, known] : rows_) {
    if (IsLarge(known.rows)) continue;
    for (uint64_t page = begin >> PAGE_TEXT_SHIFT; page <= (known.rows.end - 1) >> PAGE_TEXT_SHIFT;
         ++page)
      pages.insert(page);
  }
  return pages;
}

std::vector<uint8_t> JitRows::EncodeLarge() const {
  const CodeRows* const rows = large();
  if (rows == nullptr) return {};
  PageRows page;
  RuleEncoder encoder(kX86_64);
  page.Append(0, CodeIn(*rows, rows->rows.front(), &encoder));
  return cfi::EncodePage(page.rows(), encoder.rules());
}

std::vector<uint8_t> JitRows::EncodePage(uint64_t page) const {
  const uint64_t begin = page << PAGE_TEXT_SHIFT;
  PageRows rows;
  RuleEncoder encoder(kX86_64);
  auto at = rows_.lower_bound(begin);
  if (at != rows_.begin() && std::prev(at)->second.rows.end > begin) --at;
  for (; at != rows_.end() && at->first < begin + PAGE_TEXT_BYTES; ++at)
    if (!IsLarge(at->second.rows)) AppendTo(&rows, begin, at->second.rows, &encoder);
  if (rows.rows().size() == 1 && rows.rows().front().code == kNone) return {};
  return cfi::EncodePage(rows.rows(), encoder.rules());
}

}  // namespace stackray::cfi
