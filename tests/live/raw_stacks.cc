#include "tests/live/raw_stacks.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <variant>

#include "kernel/raw_sample.h"
#include "kernel/wall_clock.h"

namespace stackray::test {
namespace {

constexpr int kMissTimeoutMs = 100;

bool ProcessIsStopped(uint32_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(stat, text);
  const size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && text[name_end + 2] == 'T';
}

}  // namespace

absl::StatusOr<std::unique_ptr<RawStacks>> RawStacks::Start(double frequency_hz, uint32_t pid) {
  std::unique_ptr<RawStacks> stacks(new RawStacks(pid));
  absl::StatusOr<std::unique_ptr<Sampler>> sampler = Sampler::Create(
      {.frequency_hz = frequency_hz, .sample_ring_bytes = 16 << 20, .filter_pids = true});
  if (!sampler.ok()) return sampler.status();
  stacks->sampler_ = *std::move(sampler);
  RowMemory& memory = stacks->sampler_->row_memory();
  stacks->files_ = std::make_unique<ExecutableFiles>(1024);
  stacks->rows_ = std::make_unique<RowStore>(memory, 16 << 20);
  stacks->loader_ = std::make_unique<TableLoader>(*stacks->files_, *stacks->rows_, 2 << 20);
  stacks->walk_ = std::make_unique<SampleWalk>(*stacks->loader_, memory);
  const uint32_t pids[] = {pid};
  if (absl::Status status = stacks->sampler_->TargetPids(pids, false); !status.ok()) return status;
  stacks->table_thread_ = std::thread([at = stacks.get()] { at->AnswerMisses(); });
  if (absl::Status status = stacks->sampler_->Start(); !status.ok()) return status;
  return stacks;
}

RawStacks::~RawStacks() {
  stopping_ = true;
  if (table_thread_.joinable()) table_thread_.join();
}

void RawStacks::AnswerMisses() {
  while (!stopping_) {
    sampler_->ReadMisses(kMissTimeoutMs, [this](std::span<const uint8_t> bytes) {
      const absl::StatusOr<Record> record = DecodeRecord(bytes);
      if (!record.ok()) return;
      if (const auto* miss = std::get_if<TableMiss>(&*record)) loader_->HandleMiss(*miss->record);
    });
  }
}

bool RawStacks::WaitUntilStopped(int timeout_ms) {
  const uint64_t end = BootTimeNs() + static_cast<uint64_t>(timeout_ms) * 1'000'000;
  while (!ProcessIsStopped(pid_)) {
    if (BootTimeNs() > end) return false;
    usleep(500);
  }
  return true;
}

std::string RawStacks::NameOf(const code_range& range, uint64_t file_offset) {
  const absl::StatusOr<ExecutableFilePtr> file = files_->Get(pid_, range);
  if (!file.ok()) return "";
  const std::optional<uint64_t> address = AddressOfFileOffset((*file)->info, file_offset);
  if (!address) return "";
  const std::vector<SourceLine> lines = names_.Resolve((*file)->handle, *(*file)->source, *address);
  return lines.empty() ? "" : lines.back().function;
}

RawStack RawStacks::Finish(const RawSample& sample) {
  WalkResult walk{.words = {sample.user.begin(), sample.user.end()},
                  .ranges = {sample.ranges.begin(), sample.ranges.end()},
                  .end = sample.record->end};
  RawStack stack;
  if ((sample.record->flags & SAMPLE_HAS_RAW) != 0) {
    walk = walk_->Finish(sample);
    stack.finished_here = true;
  }
  stack.end = walk.end;
  for (uint64_t word : walk.words) {
    const uint64_t kind = FrameWordKind(word), offset = FrameWordOffset(word);
    if (kind == FRAME_NO_RANGE) {
      stack.frames.push_back({.pc = offset});
      continue;
    }
    const code_range& range = walk.ranges[FrameWordRange(word)];
    stack.frames.push_back({.pc = offset - range.file_offset + range.start,
                            .name = NameOf(range, offset - (kind == FRAME_RETURN ? 1 : 0))});
  }
  return stack;
}

// The process is stopped by a sample of user code; a tick that meets it while the kernel stops it
// is a sample in kernel mode, and comes later.
std::optional<RawStack> RawStacks::StopAtSample(int timeout_ms) {
  sampler_->StopOnNextSample();
  if (!WaitUntilStopped(timeout_ms)) return std::nullopt;
  std::optional<RawStack> last;
  sampler_->ReadSamples(0, [&](std::span<const uint8_t> bytes) {
    const absl::StatusOr<Record> record = DecodeRecord(bytes);
    const auto* sample = record.ok() ? std::get_if<RawSample>(&*record) : nullptr;
    if (sample == nullptr) return;
    sampler_->ReturnRawBudget(sample->raw_stack.size());
    if ((sample->record->flags & SAMPLE_IN_KERNEL) == 0) last = Finish(*sample);
  });
  return last;
}

}  // namespace stackray::test
