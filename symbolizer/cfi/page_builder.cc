#include "symbolizer/cfi/page_builder.h"

#include <algorithm>
#include <utility>

#include "symbolizer/cfi/inflate_section.h"

namespace stackray {

using cfi::FdeIndex;
using cfi::FrameEntries;
using cfi::FrameEntry;
using cfi::IndexedEntry;

namespace {

constexpr u16 kNone = CODE_SPECIAL(SPECIAL_NONE);
constexpr u16 kUnsupported = CODE_SPECIAL(SPECIAL_UNSUPPORTED);
// Instructions and entries that one page may cost. The busiest real page seen needs about 10,000.
constexpr int64_t kPageBudget = 1 << 20;
constexpr int64_t kEntryCost = 8;
constexpr int kMaxEmptyEntries = 16;
constexpr uint64_t kLeastGapBytes = 16;
constexpr uint64_t kMaxInflatedBytes = 32 << 20;

}  // namespace

// Code of one segment in a page; begin and end are offsets in the page.
struct UnwindTables::Builder::CodeInPage {
  const Code* segment;
  uint32_t begin;
  uint32_t end;
  uint64_t address;
  uint64_t file_offset;

  uint32_t size() const { return end - begin; }
};

// Where segments overlap in the file, the first one has the bytes.
std::vector<UnwindTables::Builder::CodeInPage> UnwindTables::Builder::PiecesIn(
    std::span<const Code> segments, uint32_t page) {
  const uint64_t page_begin = static_cast<uint64_t>(page) << PAGE_TEXT_SHIFT;
  std::vector<CodeInPage> pieces;
  uint64_t done = page_begin;
  for (const Code& segment : segments) {
    const uint64_t begin = std::max(segment.file_begin, done);
    const uint64_t end = std::min(segment.file_end, page_begin + PAGE_TEXT_BYTES);
    if (begin >= end) continue;
    pieces.push_back({.segment = &segment,
                      .begin = static_cast<uint32_t>(begin - page_begin),
                      .end = static_cast<uint32_t>(end - page_begin),
                      .address = segment.address + (begin - segment.file_begin),
                      .file_offset = begin});
    done = end;
  }
  return pieces;
}

UnwindTables::Builder::Builder(const ByteSource& source, const cfi::FrameSection& section,
                               std::vector<Code> code, std::optional<cfi::Arm64Stubs> stubs,
                               std::vector<uint64_t> functions)
    : source_(source),
      section_(section),
      code_(std::move(code)),
      stubs_(stubs),
      functions_(std::move(functions)),
      encoder_(*section.region.machine) {}

void UnwindTables::Builder::KeepR12() {
  section_.region.machine = &cfi::kX86_64KeepsR12;
  encoder_.KeepR12();
  if (more_ != nullptr) more_->KeepR12();
}

PageRange UnwindTables::Builder::pages() const {
  uint64_t last = 0;
  for (const Code& code : code_) last = std::max(last, (code.file_end - 1) >> PAGE_TEXT_SHIFT);
  const uint64_t first = code_.front().file_begin >> PAGE_TEXT_SHIFT;
  return {static_cast<uint32_t>(first), static_cast<uint32_t>(last - first + 1)};
}

absl::StatusOr<std::vector<uint8_t>> UnwindTables::Builder::BuildPage(uint32_t page,
                                                                      cfi::GapEffort effort) {
  const PageRange range = pages();
  if (page < range.first_page || page - range.first_page >= range.page_count)
    return absl::InvalidArgumentError("the page is not one of this file's code");
  if (go_ != nullptr) {
    encoder_.Clear();
    cfi::PageRows rows;
    if (absl::Status status = CollectGoRows(page, &rows); !status.ok()) return status;
    if (IsFull(rows, page)) return cfi::EncodePage(rows.rows(), encoder_.rules());
    if (!section_.region.machine->is_arm64() && !encoder_.keeps_r12() && go_->HasRaceDetector())
      KeepR12();
  }
  if (absl::Status status = CollectRows(page); !status.ok()) return status;
  const absl::StatusOr<bool> filled = FillGaps(page, effort);
  if (!filled.ok()) return filled.status();
  if (!*filled) return std::vector<uint8_t>();
  EndAtFirstFunctions(page);
  cfi::MarkAlignment(&rows_);
  MarkBytesOfRuntime(page);
  if (go_ != nullptr) {
    cfi::PageRows rows;  // Again, because the rules' numbers are others now.
    if (absl::Status status = CollectGoRows(page, &rows); !status.ok()) return status;
    rows.FillFrom(rows_.rows());
    return cfi::EncodePage(rows.rows(), encoder_.rules());
  }
  return cfi::EncodePage(rows_.rows(), encoder_.rules());
}

absl::Status UnwindTables::Builder::CollectGoRows(uint32_t page, cfi::PageRows* rows) {
  for (const CodeInPage& code : PiecesIn(code_, page)) {
    const cfi::GoFrames::Piece piece{.begin = code.address,
                                     .end = code.address + code.size(),
                                     .file_offset = code.file_offset,
                                     .page_offset = code.begin};
    if (absl::Status status = go_->AppendRows(piece, &encoder_, rows); !status.ok()) return status;
    if (code.end < PAGE_TEXT_BYTES) rows->Append(code.end, kNone);
  }
  return absl::OkStatus();
}

// Whether the rows say something of all of the page's code, but for what is padding.
bool UnwindTables::Builder::IsFull(const cfi::PageRows& rows, uint32_t page) const {
  const uint64_t page_begin = static_cast<uint64_t>(page) << PAGE_TEXT_SHIFT;
  const std::span<const cfi::PageRow> all = rows.rows();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].code != kNone) continue;
    const uint64_t begin = page_begin + all[i].offset;
    const uint64_t end = page_begin + (i + 1 < all.size() ? all[i + 1].offset : PAGE_TEXT_BYTES);
    for (const Code& code : instructions_)
      if (std::min(end, code.file_end) >= std::max(begin, code.file_begin) + kLeastGapBytes)
        return false;
  }
  return true;
}

absl::Status UnwindTables::Builder::CollectRows(uint32_t page) {
  if (absl::Status status = EnsureIndex(); !status.ok()) return status;
  Result result = CollectPage(page);
  if (result == Result::kTableDamaged && index_is_header_) {
    if (absl::Status status = ScanInstead(); !status.ok()) return status;
    result = CollectPage(page);
  }
  if (result == Result::kReadFailed) return ReadStatus();
  return cfi::MarkStarts(source_, starts_, *section_.region.machine, this, &encoder_, &rows_);
}

void UnwindTables::Builder::EndAtFirstFunctions(uint32_t page) {
  if (first_functions_.empty()) return;
  for (const CodeInPage& code : PiecesIn(code_, page))
    for (const cfi::AddressRange& function : first_functions_) {
      const uint64_t begin = std::max(function.begin, code.address);
      const uint64_t end = std::min(function.end, code.address + code.size());
      if (begin < end)
        rows_.Overwrite(code.begin + static_cast<uint32_t>(begin - code.address),
                        code.begin + static_cast<uint32_t>(end - code.address),
                        CODE_SPECIAL(SPECIAL_END));
    }
}

void UnwindTables::Builder::MarkBytesOfRuntime(uint32_t page) {
  const uint64_t begin = static_cast<uint64_t>(page) << PAGE_TEXT_SHIFT;
  auto at = std::ranges::lower_bound(bytes_of_runtime_, begin);
  for (; at != bytes_of_runtime_.end() && *at < begin + PAGE_TEXT_BYTES; ++at) {
    const auto offset = static_cast<uint32_t>(*at - begin);
    rows_.Overwrite(offset, offset + 1, CODE_SPECIAL(SPECIAL_RUNTIME));
  }
}

std::optional<uint64_t> UnwindTables::Builder::OffsetOf(uint64_t address) const {
  for (const Code& code : code_)
    if (address - code.address < code.file_end - code.file_begin)
      return code.file_begin + (address - code.address);
  return std::nullopt;
}

std::optional<uint32_t> UnwindTables::Builder::FunctionBytes(uint64_t address) {
  const std::optional<uint64_t> first = FirstEntryFor(address);
  const std::optional<IndexedEntry> indexed = first ? index_->Entry(*first) : std::nullopt;
  FrameEntry entry;
  if (!indexed || budget_ < 0 ||
      entries_->Read(indexed->position, &budget_, &entry) != FrameEntries::ReadResult::kOk)
    return std::nullopt;
  const uint64_t size = entry.end - entry.begin;
  if (entry.begin != address || size == 0 || size > INT32_MAX) return std::nullopt;
  return static_cast<uint32_t>(size);
}

// What this section does not cover: by the other section, and then by looking at the instructions.
// False: the effort allowed is too little for it.
absl::StatusOr<bool> UnwindTables::Builder::FillGaps(uint32_t page, cfi::GapEffort effort) {
  if (more_ != nullptr) {
    if (absl::Status status = more_->CollectRows(page); !status.ok()) return status;
    std::vector<cfi::PageRow> rows(more_->rows_.rows().begin(), more_->rows_.rows().end());
    for (cfi::PageRow& row : rows)
      if (row.code >> CODE_BASE_SHIFT == CODE_BASE_RULE)
        row.code = encoder_.CodeOfRule(more_->encoder_.rules()[row.code & CODE_INDEX_MASK]);
    rows_.FillFrom(rows);
  }
  if (sframe_ != nullptr)
    if (absl::Status status = FillFromSframe(page); !status.ok()) return status;
  if (section_.region.machine->is_arm64()) {
    if (absl::Status status = FillArm64Gaps(page); !status.ok()) return status;
    return true;
  }
  for (const CodeInPage& code : PiecesIn(instructions_, page)) {
    const cfi::GapPiece piece{.page_begin = code.begin,
                              .page_end = code.end,
                              .file_offset = code.file_offset,
                              .address = code.address,
                              .segment_file_begin = code.segment->file_begin,
                              .segment_file_end = code.segment->file_end,
                              .entry = entry_};
    const absl::StatusOr<bool> filled = cfi::FillX86Gaps(source_, piece, effort, &encoder_, &rows_);
    if (!filled.ok() || !*filled) return filled;
  }
  return true;
}

absl::Status UnwindTables::Builder::FillFromSframe(uint32_t page) {
  cfi::PageRows found;
  for (const CodeInPage& code : PiecesIn(code_, page)) {
    const cfi::SframeTable::Piece piece{
        .begin = code.address, .end = code.address + code.size(), .page_offset = code.begin};
    if (absl::Status status = sframe_->AppendRows(piece, &encoder_, &found); !status.ok())
      return status;
    if (code.end < PAGE_TEXT_BYTES) found.Append(code.end, kNone);
  }
  rows_.FillFrom(found.rows());
  return absl::OkStatus();
}

absl::Status UnwindTables::Builder::FillArm64Gaps(uint32_t page) {
  const std::vector<CodeInPage> pieces = PiecesIn(code_, page);
  if (pieces.empty()) return absl::OkStatus();
  // Only the first piece of code: who links two segments into one page does not write stubs into
  // the second.
  const CodeInPage& code = pieces.front();
  const cfi::TextPiece piece{.begin = code.begin,
                             .end = code.end,
                             .address = code.address,
                             .file_offset = code.file_offset};
  return cfi::FillArm64Gaps(source_, piece, stubs_, functions_, &rows_);
}

absl::Status UnwindTables::Builder::OpenEntries() {
  if (entries_) return absl::OkStatus();
  cfi::FrameRegion region = section_.region;
  if (region.compressed) {
    absl::StatusOr<std::vector<uint8_t>> plain =
        cfi::InflateSection(source_, region.file_offset, region.size_bytes, kMaxInflatedBytes);
    // A damaged section is one without entries; only a failed read may be better next time.
    if (absl::IsUnavailable(plain.status()) || absl::IsOutOfRange(plain.status()))
      return plain.status();
    if (plain.ok()) inflated_ = std::move(*plain);
    inflated_source_.emplace(inflated_);
    region.file_offset = region.scan_begin = 0;
    region.size_bytes = region.scan_end = inflated_.size();
    entries_.emplace(&*inflated_source_, region);
  } else {
    entries_.emplace(&source_, region);
  }
  return absl::OkStatus();
}

absl::Status UnwindTables::Builder::EnsureIndex() {
  if (absl::Status status = OpenEntries(); !status.ok()) return status;
  entries_->ClearStatus();
  if (index_ != nullptr) {
    index_->ClearStatus();
    return absl::OkStatus();
  }
  if (!section_.table) return ScanInstead();
  index_ = cfi::MakeHeaderIndex(&source_, *section_.table, section_.region);
  index_is_header_ = true;
  const bool ends_agree = EntryAgrees(0) && EntryAgrees(index_->size() - 1);
  if (absl::Status status = ReadStatus(); !status.ok()) {
    index_.reset();
    return status;
  }
  return ends_agree ? absl::OkStatus() : ScanInstead();
}

// Whether the index says of one entry what the entry itself does.
bool UnwindTables::Builder::EntryAgrees(uint64_t i) {
  const std::optional<IndexedEntry> indexed = index_->Entry(i);
  if (!indexed) return false;
  FrameEntry entry;
  budget_ = kPageBudget;
  const FrameEntries::ReadResult result = entries_->Read(indexed->position, &budget_, &entry);
  return result == FrameEntries::ReadResult::kBadCommon ||
         (result == FrameEntries::ReadResult::kOk && entry.begin == indexed->address);
}

absl::Status UnwindTables::Builder::ScanInstead() {
  uint64_t code_begin = ~uint64_t{0}, code_end = 0;
  for (const Code& code : code_) {
    code_begin = std::min(code_begin, code.address);
    code_end = std::max(code_end, code.address + (code.file_end - code.file_begin));
  }
  absl::StatusOr<std::unique_ptr<FdeIndex>> index =
      cfi::ScanEntries(&*entries_, code_begin, code_end);
  if (!index.ok()) return index.status();
  index_ = std::move(*index);
  index_is_header_ = false;
  return absl::OkStatus();
}

absl::Status UnwindTables::Builder::ReadStatus() const {
  return index_->status().ok() ? entries_->status() : index_->status();
}

UnwindTables::Builder::Result UnwindTables::Builder::Failure() const {
  return ReadStatus().ok() ? Result::kTableDamaged : Result::kReadFailed;
}

UnwindTables::Builder::Result UnwindTables::Builder::CollectPage(uint32_t page) {
  rows_.Clear();
  starts_.clear();
  encoder_.Clear();
  budget_ = kPageBudget;
  for (const CodeInPage& code : PiecesIn(code_, page)) {
    const Result result = CollectPiece({code.address, code.address + code.size(), code.begin});
    if (result == Result::kTableDamaged || result == Result::kReadFailed) return result;
    if (code.end < PAGE_TEXT_BYTES) rows_.Append(code.end, kNone);
  }
  return Result::kDone;
}

UnwindTables::Builder::Result UnwindTables::Builder::CollectPiece(const Piece& piece) {
  const std::optional<uint64_t> first = FirstEntryFor(piece.begin);
  if (!first) return Failure();
  uint64_t previous_address = 0;
  entries_end_ = 0;
  for (uint64_t i = *first; i < index_->size(); ++i) {
    const std::optional<IndexedEntry> indexed = index_->Entry(i);
    if (!indexed) return Failure();
    if (indexed->address < previous_address) return Result::kTableDamaged;
    previous_address = indexed->address;
    if (indexed->address == piece.end) AddStart(piece.end, piece);
    if (indexed->address >= piece.end) break;
    budget_ -= kEntryCost;
    const Result result = budget_ < 0 ? Result::kBudgetUsed : AddEntry(*indexed, piece);
    if (result == Result::kBudgetUsed) {
      const uint32_t offset = piece.OffsetOf(std::max(indexed->address, piece.begin));
      rows_.Truncate(offset);
      rows_.Append(offset, kUnsupported);
    }
    if (result != Result::kDone) return result;
  }
  return Result::kDone;
}

// The entry in force at `address`: the last one that begins there or below and is not empty.
std::optional<uint64_t> UnwindTables::Builder::FirstEntryFor(uint64_t address) {
  const std::optional<uint64_t> count = index_->CountUpTo(address);
  if (!count || *count == 0) return count;
  uint64_t first = *count - 1;
  for (int step = 0; step < kMaxEmptyEntries && first > 0; ++step, --first) {
    const std::optional<IndexedEntry> indexed = index_->Entry(first);
    if (!indexed) return std::nullopt;
    FrameEntry entry;
    if (entries_->Read(indexed->position, &budget_, &entry) != FrameEntries::ReadResult::kOk ||
        entry.begin != entry.end)
      break;
  }
  return first;
}

void UnwindTables::Builder::AddStart(uint64_t address, const Piece& piece) {
  if (address <= piece.begin || entries_end_ > address) return;
  const cfi::FunctionStart start{address, piece.OffsetOf(address - 1)};
  if (starts_.empty() || starts_.back().page_offset < start.page_offset) starts_.push_back(start);
}

UnwindTables::Builder::Result UnwindTables::Builder::AddEntry(const IndexedEntry& indexed,
                                                              const Piece& piece) {
  FrameEntry entry;
  switch (entries_->Read(indexed.position, &budget_, &entry)) {
    case FrameEntries::ReadResult::kNoEntry: return Failure();
    case FrameEntries::ReadResult::kBadCommon: {
      const uint32_t offset = piece.OffsetOf(std::max(indexed.address, piece.begin));
      rows_.Truncate(offset);
      rows_.Append(offset, kUnsupported);
      return Result::kDone;
    }
    case FrameEntries::ReadResult::kOk: break;
  }
  if (entry.begin != indexed.address) return Result::kTableDamaged;
  if (entry.begin < entry.end) AddStart(entry.begin, piece);
  if (entry.begin < entry.end && entry.end > piece.begin) AddRows(entry, piece);
  entries_end_ = std::max(entries_end_, entry.end);
  return budget_ < 0 ? Result::kBudgetUsed : Result::kDone;
}

void UnwindTables::Builder::AddRows(const FrameEntry& entry, const Piece& piece) {
  rows_.Truncate(piece.OffsetOf(std::max(entry.begin, piece.begin)));
  program_.Start(entry.common->context, entry.begin, entry.end, entry.instructions,
                 entry.instructions_address, &budget_);
  while (program_.NextRow() && program_.row_begin() < piece.end) {
    if (program_.row_end() <= piece.begin) continue;
    const u16 code = program_.damaged()
                         ? kUnsupported
                         : encoder_.Encode(program_.state(), entry.common->signal_frame);
    rows_.Append(piece.OffsetOf(std::max(program_.row_begin(), piece.begin)), code);
  }
  if (entry.end < piece.end) rows_.Append(piece.OffsetOf(entry.end), kNone);
}

size_t UnwindTables::Builder::memory_bytes() const {
  size_t bytes = sizeof(*this) + inflated_.capacity() + program_.memory_bytes() +
                 rows_.memory_bytes() + encoder_.memory_bytes() +
                 starts_.capacity() * sizeof(cfi::FunctionStart) +
                 (code_.capacity() + instructions_.capacity()) * sizeof(Code) +
                 bytes_of_runtime_.capacity() * sizeof(uint64_t);
  if (entries_) bytes += entries_->memory_bytes();
  if (more_ != nullptr) bytes += more_->memory_bytes();
  if (go_ != nullptr) bytes += go_->memory_bytes();
  if (sframe_ != nullptr) bytes += sframe_->memory_bytes();
  if (index_ != nullptr) bytes += index_->memory_bytes();
  return bytes;
}

}  // namespace stackray
