// The working part of UnwindTables: collects the rows of one page. See cfi_source.h for the
// contract.
#ifndef STACKRAY_SYMBOLIZER_CFI_PAGE_BUILDER_H_
#define STACKRAY_SYMBOLIZER_CFI_PAGE_BUILDER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "symbolizer/cfi/arm64_gaps.h"
#include "symbolizer/cfi/cfa_program.h"
#include "symbolizer/cfi/cfi_source.h"
#include "symbolizer/cfi/fde_index.h"
#include "symbolizer/cfi/first_functions.h"
#include "symbolizer/cfi/frame_entries.h"
#include "symbolizer/cfi/frame_section.h"
#include "symbolizer/cfi/go_frames.h"
#include "symbolizer/cfi/page_encode.h"
#include "symbolizer/cfi/rule_encode.h"
#include "symbolizer/cfi/sframe.h"
#include "symbolizer/cfi/start_marks.h"
#include "symbolizer/cfi/x86_64_gaps.h"

namespace stackray {

class UnwindTables::Builder : private cfi::StartContext {
 public:
  // An executable segment's bytes in the file.
  struct Code {
    uint64_t file_begin = 0, file_end = 0, address = 0;
  };
  // `code` ascends by file_begin, is not empty and ends below 2^46. `stubs` and `functions`: see
  // cfi/arm64_gaps.h.
  Builder(const ByteSource& source, const cfi::FrameSection& section, std::vector<Code> code,
          std::optional<cfi::Arm64Stubs> stubs, std::vector<uint64_t> functions);
  void KeepRbx() { encoder_.KeepRbx(); }  // See RuleEncoder; before the first BuildPage().
  void KeepR12();                         // As KeepRbx(), before entries are read.

  // Another section of the same file, for code that the first one does not cover. Before the first
  // BuildPage().
  void FillFrom(std::unique_ptr<Builder> more) { more_ = std::move(more); }

  // An SFrame section, asked after all others (null: none). Before the first BuildPage().
  void FillFrom(std::unique_ptr<cfi::SframeTable> sframe) { sframe_ = std::move(sframe); }

  // What is looked at where no section covers it: as `code`, ascending. And where the program
  // begins, which nobody calls. Before the first BuildPage().
  void LookAt(std::vector<Code> instructions, uint64_t entry) {
    instructions_ = std::move(instructions);
    entry_ = entry;
  }

  // Their frames are outermost ones. Before the first BuildPage().
  void EndAt(std::vector<cfi::AddressRange> functions) { first_functions_ = std::move(functions); }

  // See UnwindTables::HandToRuntime().
  void HandToRuntime(std::vector<uint64_t> bytes) { bytes_of_runtime_ = std::move(bytes); }

  // A Go program's own table, which is asked first. Before the first BuildPage().
  void AskFirst(std::unique_ptr<cfi::GoFrames> go) { go_ = std::move(go); }

  bool changes_stacks() const { return go_ != nullptr; }

  PageRange pages() const;
  // See UnwindTables::BuildPageIfCheap() for kLargeOnly.
  absl::StatusOr<std::vector<uint8_t>> BuildPage(uint32_t page, cfi::GapEffort effort);
  size_t memory_bytes() const;

 private:
  enum class Result { kDone, kBudgetUsed, kTableDamaged, kReadFailed };
  // Part of the page that is one segment's.
  struct Piece {
    uint64_t begin = 0, end = 0;  // ELF addresses.
    uint32_t page_offset = 0;     // Of `begin`.
    uint32_t OffsetOf(uint64_t address) const {
      return page_offset + static_cast<uint32_t>(address - begin);
    }
  };

  struct CodeInPage;
  static std::vector<CodeInPage> PiecesIn(std::span<const Code> segments, uint32_t page);

  absl::Status OpenEntries();
  absl::Status EnsureIndex();
  bool EntryAgrees(uint64_t i);
  absl::Status ScanInstead();
  absl::Status ReadStatus() const;
  absl::Status CollectRows(uint32_t page);
  absl::StatusOr<bool> FillGaps(uint32_t page, cfi::GapEffort effort);
  absl::Status FillFromSframe(uint32_t page);
  absl::Status CollectGoRows(uint32_t page, cfi::PageRows* rows);
  bool IsFull(const cfi::PageRows& rows, uint32_t page) const;
  std::optional<uint64_t> OffsetOf(uint64_t address) const override;
  std::optional<uint32_t> FunctionBytes(uint64_t address) override;
  void EndAtFirstFunctions(uint32_t page);
  void MarkBytesOfRuntime(uint32_t page);
  Result CollectPage(uint32_t page);
  Result CollectPiece(const Piece& piece);
  absl::Status FillArm64Gaps(uint32_t page);
  std::optional<uint64_t> FirstEntryFor(uint64_t address);
  void AddStart(uint64_t address, const Piece& piece);
  Result AddEntry(const cfi::IndexedEntry& indexed, const Piece& piece);
  void AddRows(const cfi::FrameEntry& entry, const Piece& piece);
  Result Failure() const;

  const ByteSource& source_;
  cfi::FrameSection section_;
  const std::vector<Code> code_;
  const std::optional<cfi::Arm64Stubs> stubs_;
  const std::vector<uint64_t> functions_;
  std::vector<uint8_t> inflated_;                // A compressed .debug_frame's contents,
  std::optional<MemorySource> inflated_source_;  // and the same as a source.
  std::optional<cfi::FrameEntries> entries_;
  std::unique_ptr<cfi::FdeIndex> index_;
  bool index_is_header_ = false;
  cfi::CfaProgram program_;
  cfi::PageRows rows_;
  std::vector<cfi::FunctionStart>
      starts_;  // Of the page at hand, ascending; where another's rows end there, or before.
  uint64_t entries_end_ = 0;  // Of those that were added to the piece at hand.
  cfi::RuleEncoder encoder_;
  std::vector<Code> instructions_;
  std::vector<cfi::AddressRange> first_functions_;
  std::vector<uint64_t> bytes_of_runtime_;
  uint64_t entry_ = 0;
  std::unique_ptr<cfi::GoFrames> go_;  // Null: not a Go program.
  std::unique_ptr<Builder> more_;      // Null: there is one section only.
  std::unique_ptr<cfi::SframeTable> sframe_;
  int64_t budget_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_CFI_PAGE_BUILDER_H_
