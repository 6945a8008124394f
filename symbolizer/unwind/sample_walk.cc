#include "symbolizer/unwind/sample_walk.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "kernel/foreign/foreign_reads.h"
#include "kernel/process_files.h"

namespace stackray {
namespace {

constexpr uint64_t kStackPageBytes = 4096;

bool ReadProcessMemory(uint32_t pid, uint64_t address, void* to, size_t bytes) {
  const iovec remote[] = {{reinterpret_cast<void*>(address), bytes}};
  return ReadForeignMemory(pid, remote, {static_cast<uint8_t*>(to), bytes}) ==
         static_cast<ssize_t>(bytes);
}

// As is_list_unchanged() of bpf/jit_rows.h.
bool IsListUnchanged(uint32_t pid, const jit_process& process) {
  std::array<uint64_t, JIT_LIST_WORDS> words = {};
  constexpr size_t kDescriptorBytes = JIT_DESCRIPTOR_WORDS * sizeof(uint64_t);
  return ReadProcessMemory(pid, process.list, words.data(), kDescriptorBytes) &&
         ReadProcessMemory(pid, words[JIT_FIRST_ENTRY] + JIT_ENTRY_WORDS_AT,
                           words.data() + JIT_DESCRIPTOR_WORDS,
                           JIT_ENTRY_WORDS * sizeof(uint64_t)) &&
         std::ranges::equal(words, process.list_words);
}

constexpr bool IsMiss(uint32_t end) { return end == END_UNKNOWN_FILE || end == END_MISSING_PAGE; }

// A stretch of the sampled stack, with zeros where a page could not be read.
struct Stretch {
  uint64_t address;
  std::span<const uint8_t> bytes;

  bool Has(uint64_t at) const { return at - address < bytes.size(); }
  // No frame record is in a page of nothing but zeros: return addresses are not 0.
  bool IsAbsent(uint64_t at) const {
    const uint64_t page = at & ~(kStackPageBytes - 1);
    const uint64_t begin = std::max(page, address) - address;
    const uint64_t end = std::min(page + kStackPageBytes - address, uint64_t{bytes.size()});
    const auto of_page = bytes.subspan(begin, end - begin);
    return std::all_of(of_page.begin(), of_page.end(), [](uint8_t byte) { return byte == 0; });
  }
  // How many bytes from `at` are here, in its page.
  size_t Left(uint64_t at) const {
    const uint64_t end =
        std::min((at | (kStackPageBytes - 1)) + 1 - address, uint64_t{bytes.size()});
    return end - (at - address);
  }
};

// Answers from one record and the row store. All calls happen under the loader's lock.
class RecordEnvironment : public WalkEnvironment {
 public:
  RecordEnvironment(const RawSample& sample, const StackAbove& above, TableLoader& loader,
                    RowMemory& memory, const MadeCodeCallersOf& made_code_callers,
                    const stackray::FindStackRuntime& find_stack_runtime, const LiveThread* live)
      : sample_(sample),
        stretches_{Stretch{sample.raw_begin(), sample.raw_stack},
                   Stretch{above.address, above.bytes}},
        loader_(loader),
        memory_(memory),
        made_code_callers_(made_code_callers),
        find_stack_runtime_(find_stack_runtime),
        live_(live) {}

  bool Read(uint64_t address, std::span<uint8_t> to) override {
    return ReadStack(address, to) || (live_ != nullptr && live_->read(address, to)) ||
           ReadCode(address, to);
  }

  // The record holds the executable mappings that its process had, but for writable code that is
  // new, and for what is behind the first SAMPLE_MAX_RANGES.
  std::optional<code_range> FindRange(uint64_t pc) override {
    if (std::optional<code_range> range = RangeOf(pc, sample_.ranges)) return range;
    if (!HasMoreRanges() && (sample_.record->flags & SAMPLE_OLDER_RANGES) == 0) return std::nullopt;
    std::optional<code_range> range = FindMappedNow(pc);
    if (const file_entry* entry = range ? FileOf(*range) : nullptr; entry != nullptr)
      range->runtime = static_cast<uint16_t>(entry->runtime);
    return range;
  }

  // May an unknown mapping be one that was not in the record, now that the process is gone?
  bool LacksRanges() const { return HasMoreRanges() && is_gone_; }

  range_table DescribeTable(const code_range& range) override {
    if (range.kind == RANGE_ANON) return {.state = RANGE_NO_TABLE};
    const file_entry* entry = loader_.store().FindFile(IdentityOf(range));
    if (entry == nullptr) return {.state = RANGE_NOT_LOADED};
    return {.directory = entry->directory,
            .first_page = entry->first_page,
            .page_count = entry->page_count,
            .state = static_cast<u32>(entry->page_count > 0 ? RANGE_HAS_TABLE : RANGE_NO_TABLE)};
  }

  bool Load(const code_range& range, uint64_t file_offset) override ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return loader_.LoadPageLocked(sample_.record->process.pid, range, file_offset).ok();
  }

  bool FindMadeCode(made_code* found) override {
    if (!made_code_callers_) return false;
    for (const code_range& range : sample_.ranges) {
      // It may have become known since.
      const file_entry* const entry = FileOf(range);
      if (entry == nullptr || entry->runtime == 0) continue;
      const std::optional<made_code_callers> callers = made_code_callers_(entry->runtime);
      if (!callers) continue;
      found->base = range.start - range.file_offset;
      found->callers = *callers;
      return true;
    }
    return false;
  }

  // The list is looked at here, in the process's memory, which the walk does not read.
  bool FindJitProcess(jit_process* found) override ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const std::optional<jit_process> process = loader_.jit_tables().Of(sample_.record->process);
    if (!process) return false;
    *found = *process;
    found->list = 0;
    return process->list == 0 || IsListUnchanged(sample_.record->process.pid, *process);
  }

  std::optional<range_table> DescribeJitTable(const file_key& region) override
      ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const file_entry* const entry = loader_.jit_tables().FindFile(region);
    if (entry == nullptr) return std::nullopt;
    return range_table{.directory = entry->directory,
                       .first_page = entry->first_page,
                       .page_count = entry->page_count,
                       .state = RANGE_HAS_TABLE};
  }

  const stack_process* FindStackRuntime() override {
    if (live_ != nullptr) return live_->stack_runtime;
    if (!is_runtime_asked_ && find_stack_runtime_)
      runtime_ = find_stack_runtime_(sample_.record->process, RangesByNow());
    is_runtime_asked_ = true;
    return runtime_ ? &runtime_->process : nullptr;
  }

  // Never of the stack of a thread that runs, which has changed since.
  bool ReadRuntime(uint64_t address, std::span<uint8_t> to) override {
    if (live_ != nullptr) return live_->read(address, to);
    return runtime_ && runtime_->read(address, to);
  }

  uint64_t ThreadPointer() override { return live_ == nullptr ? 0 : live_->thread_pointer; }

  std::span<const probed_return> ProbedReturns() override { return sample_.probed_returns; }

  uint8_t* Chunk(uint32_t index) override { return memory_.Chunk(index); }

 private:
  using Ranges = std::vector<code_range>;

  std::optional<code_range> FindMappedNow(uint64_t pc) {
    const uint32_t pid = sample_.record->process.pid;
    if (!mapped_now_) {
      const absl::StatusOr<code_range> range = FindExecutableRange(pid, pc);
      if (range.ok()) return *range;
      is_gone_ |= absl::IsFailedPrecondition(range.status());
      if (!absl::IsUnimplemented(range.status())) return std::nullopt;
      mapped_now_ = ReadExecutableRanges(pid).value_or(Ranges());
      is_gone_ = mapped_now_->empty();
    }
    return RangeOf(pc, *mapped_now_);
  }

  // With the runtimes that have become known since.
  Ranges RangesByNow() const {
    Ranges ranges(sample_.ranges.begin(), sample_.ranges.end());
    for (code_range& range : ranges)
      if (const file_entry* const entry = FileOf(range); entry != nullptr)
        range.runtime = static_cast<uint16_t>(entry->runtime);
    return ranges;
  }

  bool HasMoreRanges() const { return sample_.ranges.size() >= SAMPLE_MAX_RANGES; }
  const file_entry* FileOf(const code_range& range) const {
    return range.kind == RANGE_FILE ? loader_.store().FindFile(IdentityOf(range)) : nullptr;
  }
  static std::optional<code_range> RangeOf(uint64_t pc, std::span<const code_range> ranges) {
    for (const code_range& range : ranges)
      if (pc >= range.start && pc < range.end) return range;
    return std::nullopt;
  }

  bool ReadStack(uint64_t address, std::span<uint8_t> to) {
    while (!to.empty()) {
      const auto in = std::find_if(stretches_.begin(), stretches_.end(),
                                   [&](const Stretch& stretch) { return stretch.Has(address); });
      if (in == stretches_.end() || in->IsAbsent(address)) return false;
      const size_t bytes = std::min(in->Left(address), to.size());
      std::memcpy(to.data(), in->bytes.data() + (address - in->address), bytes);
      to = to.subspan(bytes);
      address += bytes;
    }
    return true;
  }

  // Of code there are questions only about what is before a return address: did a call leave it?
  bool ReadCode(uint64_t address, std::span<uint8_t> to) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const std::optional<code_range> range = FindRange(address);
    return range && range->kind == RANGE_FILE && range->end - address >= to.size() &&
           loader_.ReadCodeLocked(sample_.record->process.pid, *range,
                                  address - range->start + range->file_offset, to);
  }

  const RawSample& sample_;
  const std::array<Stretch, 2> stretches_;
  TableLoader& loader_;
  RowMemory& memory_;
  const MadeCodeCallersOf& made_code_callers_;
  const stackray::FindStackRuntime& find_stack_runtime_;
  std::optional<StackRuntimeOfProcess> runtime_;
  bool is_runtime_asked_ = false;
  const LiveThread* const live_;      // nullptr: the record alone is to be believed.
  std::optional<Ranges> mapped_now_;  // Where the kernel cannot say one.
  bool is_gone_ = false;              // The process.
};

}  // namespace

// Ranges that are presumed to be moved text become their files', with the frames that name them.
void SampleWalk::TakeMovedTexts(RawSample* sample) {
  if (std::ranges::none_of(sample->ranges, IsPresumedText)) return;
  ranges_.assign(sample->ranges.begin(), sample->ranges.end());
  words_.assign(sample->user.begin(), sample->user.end());
  for (size_t i = 0; i < ranges_.size(); ++i) {
    code_range& range = ranges_[i];
    if (!IsPresumedText(range)) continue;
    const code_range before = range;
    if (std::optional<code_range> text = loader_.MovedTextLocked(sample->record->process, range)) {
      range = *text;
      if (const file_entry* entry = loader_.store().FindFile(IdentityOf(range)); entry != nullptr)
        range.runtime = static_cast<uint16_t>(entry->runtime);
      Rebase(words_, i, before, range);
    } else {
      range.file = {};
    }
  }
  sample->ranges = ranges_;
  sample->user = words_;
}

WalkResult SampleWalk::Finish(const RawSample& raw, const StackAbove& above) {
  return Finish(raw, above, nullptr);
}

WalkResult SampleWalk::WalkLive(const RawSample& sample, const LiveThread& live) {
  return Finish(sample, {}, &live);
}

WalkResult SampleWalk::Finish(const RawSample& raw, const StackAbove& above,
                              const LiveThread* live) {
  absl::MutexLock lock(&loader_.mutex());
  RawSample sample = raw;
  TakeMovedTexts(&sample);
  RecordEnvironment environment(sample, above, loader_, memory_, made_code_callers_,
                                find_stack_runtime_, live);
  const asked_walk* const asked = sample.asked;
  const bool is_anew = asked != nullptr && environment.FindStackRuntime() != nullptr;
  if (asked != nullptr && !is_anew && !IsMiss(sample.record->end))
    return {.words = {sample.user.begin(), sample.user.end()},
            .ranges = {sample.ranges.begin(), sample.ranges.end()},
            .end = sample.record->end};
  WalkResult result =
      is_anew ? walk_.Resume(environment, asked->regs, sample.user.first(asked->user_words),
                             sample.ranges)
              : walk_.Resume(environment, sample.record->resume, sample.user, sample.ranges);
  result.is_anew = is_anew;
  if (result.end == END_NO_MAPPING && environment.LacksRanges()) result.end = END_TOO_MANY_RANGES;
  return result;
}

}  // namespace stackray
