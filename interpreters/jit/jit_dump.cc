#include "interpreters/jit/jit_dump.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "interpreters/process_memory.h"

namespace stackray {
namespace {

constexpr uint32_t kMagic = 0x4A695444, kOtherMagic = 0x4454694A;  // "JiTD".
constexpr uint32_t kVersion = 1;
#ifdef STACKRAY_ARM64
constexpr uint16_t kOwnMachine = EM_AARCH64;
#else
constexpr uint16_t kOwnMachine = EM_X86_64;
#endif
constexpr uint64_t kHeaderBytes = 40, kMaxHeaderBytes = 4096;
constexpr uint64_t kRecordHeaderBytes = 16;

enum RecordKind : uint32_t { kLoad = 0, kMove = 1, kDebugInfo = 2, kClose = 3, kUnwinding = 4 };

// struct jr_code_load behind its header: pid, tid, vma, address, size, index; the name follows.
constexpr uint64_t kLoadAddress = 16, kLoadSize = 24, kLoadName = 40;
// struct jr_code_move behind its header: pid, tid, vma, old address, new address, size, index.
constexpr uint64_t kMoveFrom = 16, kMoveTo = 24, kMoveSize = 32, kMoveBytes = 48;
// struct jr_code_unwinding_info behind its header: bytes in all, of them the last ones that are
// .eh_frame_hdr, bytes that are mapped; then both sections.
constexpr uint64_t kEntriesHeader = 8, kEntriesAt = 24, kEntriesAlignment = 8;
// struct jr_code_debug_info behind its header: address, count; entries of address, line,
// discriminator and the file's name follow.
constexpr uint64_t kLinesCount = 8, kFirstLine = 16, kLineHead = 16;
constexpr std::string_view kSameFile = "\xff";  // As the entry before.

// Up to the first zero, or to the end of what was read.
std::string_view TextAt(std::span<const uint8_t> bytes, uint64_t offset) {
  if (offset >= bytes.size()) return {};
  const std::string_view rest(reinterpret_cast<const char*>(bytes.data()) + offset,
                              bytes.size() - offset);
  return rest.substr(0, rest.find('\0'));
}

}  // namespace

absl::Status JitDumpReader::ReadHeader(const ByteSource& source) {
  std::array<uint8_t, kHeaderBytes> header;
  if (absl::Status status = source.ReadAt(0, header); !status.ok()) return status;
  const auto magic = NumberAt<uint32_t>(header, 0);
  const auto total = NumberAt<uint32_t>(header, 8), machine = NumberAt<uint32_t>(header, 12);
  if (magic == kOtherMagic) return absl::UnimplementedError("a jitdump of the other byte order");
  if (magic != kMagic) return absl::DataLossError("no jitdump");
  // CPython 3.13 writes no machine.
  const bool is_ours = machine == 0 || machine == EM_X86_64 || machine == EM_AARCH64;
  if (NumberAt<uint32_t>(header, 4) != kVersion || !is_ours)
    return absl::UnimplementedError("a jitdump of another version or machine");
  if (total < kHeaderBytes || total > kMaxHeaderBytes)
    return absl::DataLossError("a jitdump whose header makes no sense");
  offset_ = total;
  return absl::OkStatus();
}

void JitDumpReader::TakeLines(std::span<const uint8_t> body) {
  Lines taken{.code = NumberAt<uint64_t>(body, 0), .lines = {}, .files = {}};
  const auto count = NumberAt<uint64_t>(body, kLinesCount);
  uint64_t at = kFirstLine;
  for (uint64_t i = 0; i < count && at + kLineHead < body.size(); ++i) {
    const std::string_view file = TextAt(body, at + kLineHead);
    if (file != kSameFile || taken.files.empty())
      if (taken.files.empty() || taken.files.back() != file)
        taken.files.emplace_back(file.substr(0, kMaxJitNameBytes));
    taken.lines.push_back({.address = NumberAt<uint64_t>(body, at),
                           .line = NumberAt<int32_t>(body, at + 8),
                           .file = static_cast<uint32_t>(taken.files.size() - 1)});
    at += kLineHead + file.size() + 1;
  }
  std::ranges::stable_sort(taken.lines, {}, &JitLine::address);
  taken.lines.shrink_to_fit();
  lines_ = std::move(taken);
}

void JitDumpReader::TakeEntries(std::span<const uint8_t> body) {
  const auto total = NumberAt<uint64_t>(body, 0), header = NumberAt<uint64_t>(body, kEntriesHeader);
  entries_.clear();
  if (header > total || body.size() < kEntriesAt || total - header > body.size() - kEntriesAt) {
    ++damaged_;
    return;
  }
  const auto entries = body.subspan(kEntriesAt, total - header);
  entries_.assign(entries.begin(), entries.end());
}

// Of a function that has none, what was there before is gone as well.
void JitDumpReader::PutRows(uint64_t start, uint64_t size_bytes, cfi::JitRows& rows) {
  if (start >= cfi::JitRows::kUserEnd || size_bytes > cfi::JitRows::kUserEnd - start) return;
  rows.Erase(start, start + size_bytes);
  if (entries_.empty()) return;
  const uint64_t at =
      start + (size_bytes + kEntriesAlignment - 1) / kEntriesAlignment * kEntriesAlignment;
  const cfi::AddressRange code{start, start + size_bytes};
  for (cfi::CodeRows& one : cfi::ReadCodeRows({.bytes = entries_, .address = at},
                                              *cfi::Machine::Of(kOwnMachine), {&code, 1}))
    rows.Put(std::move(one), cfi::JitRows::From::kDump);
  entries_.clear();
}

void JitDumpReader::TakeLoad(std::span<const uint8_t> body, JitCode& code, cfi::JitRows& rows) {
  PutRows(NumberAt<uint64_t>(body, kLoadAddress), NumberAt<uint64_t>(body, kLoadSize), rows);
  JitFunction function{.start = NumberAt<uint64_t>(body, kLoadAddress),
                       .size_bytes = NumberAt<uint64_t>(body, kLoadSize),
                       .name = std::string(TextAt(body, kLoadName).substr(0, kMaxJitNameBytes))};
  if (lines_ && lines_->code == function.start) {
    function.lines = std::move(lines_->lines);
    function.files = std::move(lines_->files);
  }
  lines_.reset();
  ++(!function.name.empty() && code.Put(std::move(function)) ? functions_ : damaged_);
}

// Rows do not move with their code: its entries say nothing of its new place.
void JitDumpReader::TakeMove(std::span<const uint8_t> body, JitCode& code, cfi::JitRows& rows) {
  const auto from = NumberAt<uint64_t>(body, kMoveFrom), to = NumberAt<uint64_t>(body, kMoveTo);
  if (body.size() < kMoveBytes || !code.Move(from, to)) {
    ++damaged_;
    return;
  }
  const auto size = std::min(NumberAt<uint64_t>(body, kMoveSize), JitCode::kMaxFunctionBytes);
  entries_.clear();
  PutRows(from, size, rows);
  PutRows(to, size, rows);
}

void JitDumpReader::TakeRecord(uint32_t kind, std::span<const uint8_t> body, JitCode& code,
                               cfi::JitRows& rows) {
  switch (kind) {
    case kLoad: TakeLoad(body, code, rows); return;
    case kDebugInfo: TakeLines(body); return;
    case kMove: TakeMove(body, code, rows); return;
    case kUnwinding: TakeEntries(body); return;
    default: return;  // kClose; what a later version brings.
  }
}

absl::Status JitDumpReader::ReadOn(const ByteSource& source, JitCode& code, cfi::JitRows& rows,
                                   const std::function<bool()>& is_over) {
  if (!status_.ok()) return status_;
  const uint64_t end = source.size_bytes();
  if (offset_ == 0) {
    if (end < kHeaderBytes) return absl::OkStatus();  // Not written yet.
    if (absl::Status status = ReadHeader(source); !status.ok()) return status_ = status;
  }
  std::vector<uint8_t> body;
  while (offset_ < end && end - offset_ >= kRecordHeaderBytes && !(is_over && is_over())) {
    std::array<uint8_t, kRecordHeaderBytes> header;
    if (absl::Status status = source.ReadAt(offset_, header); !status.ok()) return status;
    const auto kind = NumberAt<uint32_t>(header, 0), total = NumberAt<uint32_t>(header, 4);
    if (total < kRecordHeaderBytes)
      return status_ = absl::DataLossError("a jitdump record shorter than its header");
    if (total > end - offset_) return absl::OkStatus();  // Half written.
    // Of a function its code is not needed.
    const uint64_t most = kind == kLoad ? kLoadName + kMaxJitNameBytes : kMaxRecordRead;
    const bool is_read = kind <= kDebugInfo || kind == kUnwinding;
    body.resize(is_read ? std::min<uint64_t>(total - kRecordHeaderBytes, most) : 0);
    if (absl::Status status = source.ReadAt(offset_ + kRecordHeaderBytes, body); !status.ok())
      return status;
    TakeRecord(kind, body, code, rows);
    offset_ += total;
  }
  return absl::OkStatus();
}

}  // namespace stackray
