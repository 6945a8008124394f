#include "agent/sampling/earlier_waits.h"

#include <algorithm>
#include <variant>

#include "absl/time/clock.h"
#include "agent/sampling/stack_slice.h"
#include "kernel/process_files.h"
#include "kernel/raw_sample.h"

namespace stackray {
namespace {

constexpr size_t kMostProcesses = 64;  // Whose mappings are kept.

}  // namespace

// One that has begun another program meanwhile has other mappings.
const std::vector<code_range>& EarlierWaits::RangesOf(const ProcessId& process) {
  if (const auto found = ranges_.find(process.pid);
      found != ranges_.end() && found->second.first == process)
    return found->second.second;
  if (ranges_.size() >= kMostProcesses) ranges_.clear();
  std::vector<code_range> ranges =
      ReadExecutableRanges(process.pid).value_or(std::vector<code_range>());
  if (ranges.size() > SAMPLE_MAX_RANGES) ranges.resize(SAMPLE_MAX_RANGES);
  auto& entry = ranges_[process.pid];
  entry = {process, std::move(ranges)};
  return entry.second;
}

// With the stack above the slice only where the walk has come to the slice's end: few stacks do.
WalkResult EarlierWaits::Walk(const RawSample& listed) {
  const uint32_t pid = listed.record->process.pid;
  const uint64_t begin = listed.record->resume.r[UNWIND_SP] - RED_ZONE_BYTES;
  slice_ = ReadStackSlice(pid, begin, RAW_STACK_MAX_BYTES);
  RawSample sample = listed;
  sample.ranges = RangesOf(ProcessIdOf(listed.record->process));
  sample.raw_stack = slice_;
  WalkResult result = walk_.Finish(sample, {});
  if (result.end != END_READ_FAULT || slice_.size() < RAW_STACK_MAX_BYTES) return result;
  StackAbove above{.address = begin + RAW_STACK_MAX_BYTES};
  above.bytes = ReadStackSlice(pid, above.address, STACK_MAX_BYTES - RAW_STACK_MAX_BYTES);
  return walk_.Finish(sample, above);
}

void EarlierWaits::Take(std::span<const uint8_t> bytes, const RingIntake::Take& take) {
  const absl::StatusOr<Record> record = DecodeRecord(bytes);
  const auto* sample = record.ok() ? std::get_if<RawSample>(&*record) : nullptr;
  if (sample == nullptr) {
    take({bytes});
    return;
  }
  const absl::Time now = absl::Now();
  if (end_ == absl::InfiniteFuture()) end_ = now + most_time_;
  if (sample->record->end != END_MISSING_PAGE || now > end_) {
    take({bytes});
    return;
  }
  ++stacks_;
  const WalkResult finished = Walk(*sample);
  take({bytes, &finished});
}

}  // namespace stackray
