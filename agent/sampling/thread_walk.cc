#include "agent/sampling/thread_walk.h"

#include <algorithm>
#include <memory>

#include "agent/sampling/stack_runtimes_of_process.h"
#include "agent/sampling/stack_slice.h"
#include "kernel/process_files.h"
#include "kernel/raw_sample.h"

namespace stackray {
namespace {

// Keeps what a runtime tells BPF.
class KeptLayout : public RuntimeMemory {
 public:
  absl::Status Put(uint32_t, const runtime_layout& layout) override {
    layout_ = layout;
    return absl::OkStatus();
  }
  absl::Status PutProcess(const process_key&, const stack_process&) override {
    return absl::OkStatus();
  }
  void RemoveProcess(const process_key&) override {}
  void SayNone(const process_key&) override {}
  const std::optional<runtime_layout>& layout() const { return layout_; }

 private:
  std::optional<runtime_layout> layout_;
};

}  // namespace

void ThreadWalk::TakeMappings(const ProcessId& process) {
  if (process_ == process && !ranges_.empty()) return;
  process_ = process;
  stack_runtime_.reset();
  ranges_ = ReadExecutableRanges(process.pid).value_or(std::vector<code_range>());
  if (ranges_.size() > SAMPLE_MAX_RANGES) ranges_.resize(SAMPLE_MAX_RANGES);
}

uint32_t ThreadWalk::RuntimeOf(const code_range& range) const {
  if (range.kind != RANGE_FILE) return range.runtime;
  const absl::MutexLock lock(&loader_.mutex());
  const file_entry* entry = loader_.store().FindFile(IdentityOf(range));
  return entry == nullptr ? 0 : entry->runtime;
}

bool ThreadWalk::FindStackRuntime(const ProcessId& process) {
  if (stack_runtime_) return false;
  for (code_range& range : ranges_)
    if (range.kind == RANGE_FILE) range.runtime = static_cast<uint16_t>(RuntimeOf(range));
  const auto jvm = std::ranges::find_if(ranges_, [](const code_range& range) {
    return range.kind == RANGE_FILE && (range.runtime & STACK_RUNTIME) != 0;
  });
  if (jvm == ranges_.end()) return false;
  MeetStackRuntimes(process, ranges_, files_, runtimes_);
  runtimes_.of_stack().TellWaitingRows();
  stack_runtime_ = runtimes_.of_stack().ForBpf(process);
  if (!stack_runtime_) return false;
  stack_runtime_->runtime = jvm->runtime;
  return true;
}

const runtime_layout* ThreadWalk::LayoutOf(uint32_t runtime) {
  auto [entry, is_new] = layouts_.try_emplace(runtime);
  if (is_new) {
    const std::shared_ptr<const RuntimeData> data = runtimes_.DataOf(runtime);
    KeptLayout kept;
    if (data != nullptr && data->supported() && data->Publish(runtime, kept).ok())
      entry->second = kept.layout();
  }
  return entry->second ? &*entry->second : nullptr;
}

std::vector<ThreadWalk::MetRuntime> ThreadWalk::MarkRuntimes(WalkResult* walked) const {
  std::vector<MetRuntime> met;
  for (uint32_t i = 0; i < walked->ranges.size(); ++i) {
    code_range& range = walked->ranges[i];
    if (range.kind == RANGE_FILE) range.runtime = static_cast<uint16_t>(RuntimeOf(range));
  }
  for (size_t i = 0; i < walked->words.size(); i += FrameWordCount(walked->words[i])) {
    const uint64_t word = walked->words[i];
    if (!IsNativeKind(FrameWordKind(word)) || FrameWordRange(word) >= walked->ranges.size())
      continue;
    const uint32_t range = FrameWordRange(word), runtime = walked->ranges[range].runtime;
    const bool is_known = runtime == 0 || (runtime & STACK_RUNTIME) != 0 ||
                          std::ranges::find(met, runtime, &MetRuntime::runtime) != met.end();
    if (!is_known) met.push_back({runtime, range});
  }
  return met;
}

std::vector<uint64_t> ThreadWalk::WalkChains(const ListedThread& thread, const WalkResult& walked,
                                             const std::vector<MetRuntime>& met) {
  const sample_record& sample = thread.record->sample;
  LiveProcessMemory memory(sample.process.pid);
  std::vector<uint64_t> words;
  for (const MetRuntime& runtime : met) {
    const runtime_layout* layout = LayoutOf(runtime.runtime);
    if (layout == nullptr) continue;
    const code_range& range = walked.ranges[runtime.range];
    const std::vector<uint64_t> runs = chains_.Walk(
        [&memory](uint64_t address, std::span<uint8_t> to) { return memory.Read(address, to); },
        {.layout = *layout,
         .base = range.start - range.file_offset,
         .range = runtime.range,
         .is_first = words.empty()},
        {.pid = sample.process.pid,
         .tid = sample.tid,
         .thread_pointer = thread.record->thread_pointer,
         .stack_pointer = sample.resume.r[UNWIND_SP]});
    if (words.size() + runs.size() >= SAMPLE_MAX_USER_WORDS) break;
    words.insert(words.end(), runs.begin(), runs.end());
  }
  return words;
}

WalkResult ThreadWalk::Walk(const ListedThread& thread) {
  const sample_record& record = thread.record->sample;
  const ProcessId process = ProcessIdOf(record.process);
  TakeMappings(process);
  slice_ =
      ReadStackSlice(process.pid, record.resume.r[UNWIND_SP] - RED_ZONE_BYTES, RAW_STACK_MAX_BYTES);
  LiveProcessMemory memory(process.pid);
  LiveThread live{.read = [&memory](uint64_t address,
                                    std::span<uint8_t> to) { return memory.Read(address, to); },
                  .stack_runtime = stack_runtime_ ? &*stack_runtime_ : nullptr,
                  .thread_pointer = thread.record->thread_pointer};
  RawSample sample{.record = &record,
                   .kernel = thread.kernel,
                   .user = {},
                   .ranges = ranges_,
                   .raw_stack = slice_};
  WalkResult walked = walk_.WalkLive(sample, live);
  if (FindStackRuntime(process)) {
    live.stack_runtime = &*stack_runtime_;
    sample.ranges = ranges_;
    walked = walk_.WalkLive(sample, live);
  }
  const std::vector<MetRuntime> met = MarkRuntimes(&walked);
  if (met.empty()) return walked;
  const std::vector<uint64_t> runs = WalkChains(thread, walked, met);
  if (runs.empty()) return walked;
  // Once more, with the runs: the walk puts each at the native frame that runs it.
  const std::vector<code_range> ranges = walked.ranges;
  sample.user = runs;
  sample.ranges = ranges;
  return walk_.WalkLive(sample, live);
}

}  // namespace stackray
