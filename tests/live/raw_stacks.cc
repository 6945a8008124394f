#include "tests/live/raw_stacks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <variant>

#include "agent/sampling/markers.h"
#include "agent/sampling/runtime_tables.h"
#include "interpreters/mixed_stack.h"
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

std::string NativeText(const RawStack& stack) {
  std::string text;
  for (const RawFrame& frame : stack.frames)
    text += frame.is_runtime ? "* " : fmt::format("{}+0x{:x} ", frame.name, frame.pc);
  return text;
}

absl::StatusOr<std::unique_ptr<RawStacks>> RawStacks::Start(double frequency_hz, uint32_t pid) {
  std::unique_ptr<RawStacks> stacks(new RawStacks(pid));
  absl::StatusOr<std::unique_ptr<Sampler>> sampler = Sampler::Create(
      {.frequency_hz = frequency_hz, .sample_ring_bytes = 16 << 20, .target_pids = 16384});
  if (!sampler.ok()) return sampler.status();
  stacks->sampler_ = *std::move(sampler);
  RowMemory& memory = stacks->sampler_->row_memory();
  stacks->files_ = std::make_unique<ExecutableFiles>(1024);
  stacks->rows_ = std::make_unique<RowStore>(memory, 16 << 20);
  stacks->runtimes_ = std::make_unique<Runtimes>(stacks->sampler_->runtime_memory(),
                                                 Runtimes::Options{.cache_bytes = 4 << 20});
  stacks->loader_ = MakeTableLoader(*stacks->files_, *stacks->rows_, 2 << 20, *stacks->runtimes_);
  stacks->runtimes_->of_stack().TellRows(StubRowsInto(*stacks->loader_));
  stacks->walk_ = MakeSampleWalk(*stacks->files_, *stacks->loader_, memory, *stacks->runtimes_);
  if (absl::Status status = stacks->Target(pid); !status.ok()) return status;
  stacks->table_thread_ = std::thread([at = stacks.get()] { at->AnswerMisses(); });
  if (absl::Status status = stacks->sampler_->Start(); !status.ok()) return status;
  return stacks;
}

absl::Status RawStacks::Target(uint32_t pid) {
  pid_ = pid;
  const uint32_t pids[] = {pid};
  return sampler_->targets().AddPids(0, pids, false);
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

RawFrame RawStacks::NativeFrame(const WalkResult& walk, uint64_t word) {
  const uint64_t kind = FrameWordKind(word), offset = FrameWordOffset(word);
  if (kind == FRAME_NO_RANGE) return {.pc = offset};
  const code_range& range = walk.ranges[FrameWordRange(word)];
  return {.pc = offset - range.file_offset + range.start,
          .name = NameOf(range, offset - (kind == FRAME_RETURN ? 1 : 0)),
          .is_made = range.kind == RANGE_ANON};
}

LoopPart RawStacks::PartOfLoop(const WalkResult& walk, uint64_t word, uint32_t of) {
  const code_range& range = walk.ranges[FrameWordRange(word)];
  const std::shared_ptr<const RuntimeData> data = runtimes_->DataOf(walk.ranges[of].runtime);
  if (data == nullptr) return LoopPart::kNone;
  const uint64_t offset = FrameWordOffset(word) - (FrameWordKind(word) == FRAME_RETURN ? 1 : 0);
  if (range.runtime == 0 && range.kind == RANGE_FILE && data->made_code_rule())
    return runtimes_->PartOfMadeCode(IdentityOf(range), offset);
  if (range.kind == RANGE_ANON && data->makes_code()) return LoopPart::kMade;
  if (range.runtime != walk.ranges[of].runtime) return LoopPart::kNone;
  return data->PartOfLoop(offset);
}

FrameSymbols RawStacks::Symbols(const ProcessId& process, const WalkResult& walk,
                                const MixedFrame& frame) {
  const code_range& range = walk.ranges[frame.range];
  const std::shared_ptr<const RuntimeData> data = runtimes_->DataOf(range.runtime);
  if (data == nullptr) return {};
  return runtimes_->Resolve(process, *data, frame.word, frame.second,
                            range.start - range.file_offset);
}

RawStack RawStacks::Finish(const RawSample& sample, const StackAbove& above) {
  WalkResult walk{.words = {sample.user.begin(), sample.user.end()},
                  .ranges = {sample.ranges.begin(), sample.ranges.end()},
                  .end = sample.record->end};
  RawStack stack;
  if ((sample.record->flags & SAMPLE_HAS_RAW) != 0) {
    walk = walk_->Finish(sample, above);
    stack.finished_here = true;
    stack.slice_bytes = sample.record->raw_bytes;
  }
  stack.end = walk.end;
  stack.tid = sample.record->tid;
  const process_key& key = sample.record->process;
  const ProcessId process{
      .pid = key.pid, .exec_id = key.exec_id, .start_time_ns = key.start_time_ns};
  std::vector<MixedFrame> frames;
  MixFrames(
      walk.words, IsCompleteEnd(walk.end),
      [&](uint64_t word, uint32_t of) { return PartOfLoop(walk, word, of); }, &frames);
  for (const MixedFrame& frame : frames) {
    if (!frame.is_runtime) {
      stack.frames.push_back(NativeFrame(walk, frame.word));
      stack.frames.back().is_loop = frame.is_loop || frame.is_entry;
    } else if (frame.range < walk.ranges.size()) {
      const FrameSymbols symbols = Symbols(process, walk, frame);
      if (symbols.lines.empty()) continue;
      stack.frames.push_back({.name = symbols.lines.front().function,
                              .is_runtime = true,
                              .type = symbols.type,
                              .file = symbols.lines.front().file,
                              .line = symbols.lines.front().line});
    }
  }
  return stack;
}

bool RawStacks::IsWhereItStopped(const RawStack& stack) const {
  std::ifstream file(fmt::format("/proc/{}/task/{}/syscall", pid_, stack.tid));
  int64_t call = 0;
  std::string stack_pointer, pc;
  if (!(file >> call >> stack_pointer >> pc) || call != -1) return false;
  const auto leaf = std::find_if(stack.frames.begin(), stack.frames.end(),
                                 [](const RawFrame& frame) { return !frame.is_runtime; });
  return leaf != stack.frames.end() && leaf->pc == std::strtoull(pc.c_str(), nullptr, 16);
}

// The process is stopped by a sample of user code; a tick that meets it while the kernel stops it
// is a sample in kernel mode, and comes later.
std::optional<RawStack> RawStacks::StopAtSample(int timeout_ms) {
  sampler_->StopOnNextSample();
  if (!WaitUntilStopped(timeout_ms)) return std::nullopt;
  std::vector<uint8_t> last;  // Those before it are of memory that may have changed since.
  StackPieces pieces;
  StackAbove above_last;
  const auto keep_last = [&](std::span<const uint8_t> bytes) {
    const absl::StatusOr<Record> record = DecodeRecord(bytes);
    if (!record.ok()) return;
    if (const auto* piece = std::get_if<StackPiece>(&*record)) {
      sampler_->ReturnRawBudget(sizeof(piece->record->bytes));
      pieces.Take(*piece);
    }
    const auto* sample = std::get_if<RawSample>(&*record);
    if (sample == nullptr) return;
    sampler_->ReturnRawBudget(sample->raw_stack.size());
    StackAbove above = pieces.TakeOf(*sample->record);
    if ((sample->record->flags & SAMPLE_IN_KERNEL) != 0) return;
    last.assign(bytes.begin(), bytes.end());
    above_last = std::move(above);
  };
  while (sampler_->ReadSamples(keep_last) > 0) continue;
  const absl::StatusOr<Record> record = DecodeRecord(last);
  if (!record.ok()) return std::nullopt;
  RawStack stack = Finish(std::get<RawSample>(*record), above_last);
  stack.is_where_it_stopped = IsWhereItStopped(stack);
  return stack;
}

}  // namespace stackray::test
