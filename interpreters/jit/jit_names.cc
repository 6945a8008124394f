#include "interpreters/jit/jit_names.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/time/clock.h"
#include "interpreters/jit/jit_file.h"
#include "interpreters/symbol_finder.h"
#include "kernel/process_files.h"
#include "kernel/process_info.h"
#include "kernel/wall_clock.h"
#include "symbolizer/elf_image.h"

namespace stackray {
namespace {

constexpr std::string_view kDescriptor = "__jit_debug_descriptor";
constexpr size_t kMostFiles = 16'384;
// Owners of these functions' keys: no executable has such a handle.
constexpr uint64_t kJitOwner = uint64_t{1} << 55;

bool IsDescriptor(std::string_view name) { return name == kDescriptor; }

// Where the file's ELF address 0 is in a process that has mapped `range` of it.
std::optional<uint64_t> BaseOf(const ExecutableInfo& info, const code_range& range) {
  const uint64_t end = range.file_offset + (range.end - range.start);
  for (const ElfSegment& segment : info.segments)
    if (segment.executable && segment.file_offset < end &&
        range.file_offset < segment.file_offset + segment.file_bytes)
      return range.start - range.file_offset + segment.file_offset - segment.address;
  return std::nullopt;
}

}  // namespace

uint64_t JitNames::DescriptorIn(const ExecutableFile& file) {
  if (const auto known = descriptors_.find(file.identity); known != descriptors_.end())
    return known->second;
  if (descriptors_.size() >= kMostFiles) descriptors_.clear();
  uint64_t address = 0;
  const absl::StatusOr<ElfImage> image = ElfImage::Create(*file.source);
  for (const SymbolSection section : {SymbolSection::kDynamic, SymbolSection::kAll}) {
    if (!image.ok() || address != 0) break;
    if (section == SymbolSection::kDynamic &&
        !HasDynamicSymbol(*image, *file.source, kDescriptor).value_or(true))
      continue;
    const SymbolsByName found = FindSymbols(*image, *file.source, section, IsDescriptor);
    if (!found.empty()) address = found.begin()->second.address;
  }
  return descriptors_[file.identity] = address;
}

bool JitNames::FindDescriptors(uint32_t pid, absl::Time deadline,
                               std::vector<uint64_t>* addresses) {
  const absl::StatusOr<std::vector<code_range>> ranges = ReadExecutableRanges(pid);
  if (!ranges.ok()) return true;
  for (const code_range& range : *ranges) {
    if (range.kind != RANGE_FILE) continue;
    const absl::StatusOr<ExecutableFilePtr> file = files_.Get(pid, range);
    if (!file.ok() || !(*file)->info.is_elf) continue;
    const uint64_t address = DescriptorIn(**file);
    const std::optional<uint64_t> base = BaseOf((*file)->info, range);
    if (address != 0 && base) addresses->push_back(*base + address);
    if (absl::Now() >= deadline) return false;
  }
  return true;
}

JitNames::Known& JitNames::Of(const ProcessId& id) {
  if (const auto found = by_id_.find(id); found != by_id_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    return entries_.front();
  }
  entries_.push_front({.process = std::make_unique<JitProcess>(id)});
  by_id_[id] = entries_.begin();
  return entries_.front();
}

// Another process may have its number by now.
bool JitNames::IsThere(uint64_t now_ns, Known& known) const {
  constexpr uint64_t kAskedEveryNs = 500'000'000;
  if (known.is_gone || (known.seen_ns != 0 && now_ns - known.seen_ns < kAskedEveryNs))
    return !known.is_gone;
  known.is_gone = !IsSameProcess(known.process->id());
  known.seen_ns = now_ns;
  return !known.is_gone;
}

void JitNames::Follow(uint64_t time_ns, Known& known) {
  JitProcess& process = *known.process;
  const uint64_t now_ns = BootTimeNs();
  if (process.followed_ns() >= std::max<uint64_t>(time_ns, 1) || !IsThere(now_ns, known)) return;
  LiveProcessMemory memory(process.id().pid);
  process.Follow(
      now_ns, memory,
      [&](absl::Time deadline, std::vector<uint64_t>* addresses) {
        return FindDescriptors(process.id().pid, deadline, addresses);
      },
      &counts_);
  bytes_ += process.bytes() - known.bytes;
  known.bytes = process.bytes();
  TellRowsOf(now_ns, known);
}

// Also once in a while when nothing has changed: pages that nobody used may have been given away.
void JitNames::TellRowsOf(uint64_t now_ns, Known& known) {
  constexpr uint64_t kToldEveryNs = 1'000'000'000;
  if (!on_rows_) return;
  cfi::JitRows* const rows = known.process->rows();
  const bool has_rows = rows != nullptr && !rows->empty();
  if (!has_rows && !known.has_told_rows) return;
  const cfi::JitListState list = known.process->list_state();
  const bool is_same = has_rows == known.has_told_rows && list == known.told_list &&
                       (!has_rows || !rows->has_changed());
  if (is_same && (!has_rows || now_ns - known.told_ns < kToldEveryNs)) return;
  on_rows_(known.process->id(), list, has_rows ? rows : nullptr);
  known.has_told_rows = has_rows;
  known.told_list = list;
  known.told_ns = now_ns;
}

void JitNames::KeepLimit() {
  while ((bytes_ > limit_bytes_ || entries_.size() > kMostProcesses) && entries_.size() > 1) {
    if (entries_.back().has_told_rows) on_rows_(entries_.back().process->id(), {}, nullptr);
    bytes_ -= entries_.back().bytes;
    by_id_.erase(entries_.back().process->id());
    entries_.pop_back();
  }
}

std::optional<JitNames::Answer> JitNames::Find(const ProcessId& process, uint64_t address,
                                               uint64_t time_ns) {
  Known& known = Of(process);
  Follow(time_ns, known);
  KeepLimit();
  const JitFunction* const found = known.process->Find(address);
  if (found == nullptr) return std::nullopt;
  const uint64_t word = found->lines.empty() ? found->start : address;
  return Answer{.key = FrameKey::Make(FrameType::kNative, kJitOwner, word, found->serial),
                .function = found};
}

void JitNames::ReadAhead(const ProcessId& process) {
  const absl::StatusOr<std::vector<code_range>> ranges = ReadExecutableRanges(process.pid);
  if (!ranges.ok()) return;
  if (std::ranges::find(*ranges, RANGE_ANON, &code_range::kind) == ranges->end() &&
      !FindExecutableMapping(process.pid, IsMemoryFilePath).ok())
    return;
  Follow(BootTimeNs(), Of(process));
  KeepLimit();
}

// A process that has ended keeps what was read of it: nobody can read it again.
void JitNames::Wipe() {
  descriptors_.clear();
  for (Known& known : entries_) {
    known.is_gone = !IsSameProcess(known.process->id());
    if (known.is_gone) continue;
    known.process->Forget();
    bytes_ += known.process->bytes() - known.bytes;
    known.bytes = known.process->bytes();
  }
}

}  // namespace stackray
