#include "symbolizer/unwind/sample_walk.h"

#include <algorithm>
#include <cstring>

namespace stackray {
namespace {

constexpr uint64_t kStackPageBytes = 4096;

// Answers from one record and the row store. All calls happen under the loader's lock.
class RecordEnvironment : public WalkEnvironment {
 public:
  RecordEnvironment(const RawSample& sample, TableLoader& loader, RowMemory& memory)
      : sample_(sample), loader_(loader), memory_(memory) {}

  bool Read(uint64_t address, std::span<uint8_t> to) override {
    const uint64_t at = address - sample_.record->resume.r[UNWIND_SP];
    if (at > sample_.raw_stack.size() || to.size() > sample_.raw_stack.size() - at) return false;
    if (to.empty() || IsAbsent(at) || IsAbsent(at + to.size() - 1)) return false;
    std::memcpy(to.data(), sample_.raw_stack.data() + at, to.size());
    return true;
  }

  // The record holds the executable mappings that its process had.
  std::optional<code_range> FindRange(uint64_t pc) override {
    for (const code_range& range : sample_.ranges)
      if (pc >= range.start && pc < range.end) return range;
    return std::nullopt;
  }

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

  uint8_t* Chunk(uint32_t index) override { return memory_.Chunk(index); }

 private:
  // The slice has zeros where a page of the stack could not be read. No frame record is in a page of
  // nothing but zeros: return addresses are not 0.
  bool IsAbsent(uint64_t at) const {
    const uint64_t sp = sample_.record->resume.r[UNWIND_SP];
    const uint64_t page = (sp + at) & ~(kStackPageBytes - 1);
    const uint64_t begin = std::max(page, sp) - sp;
    const uint64_t end = std::min(page + kStackPageBytes - sp, uint64_t{sample_.raw_stack.size()});
    const auto bytes = sample_.raw_stack.subspan(begin, end - begin);
    return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; });
  }

  const RawSample& sample_;
  TableLoader& loader_;
  RowMemory& memory_;
};

}  // namespace

WalkResult SampleWalk::Finish(const RawSample& sample) {
  absl::MutexLock lock(&loader_.mutex());
  RecordEnvironment environment(sample, loader_, memory_);
  return walk_.Resume(environment, sample.record->resume, sample.user, sample.ranges);
}

}  // namespace stackray
