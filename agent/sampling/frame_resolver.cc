#include "agent/sampling/frame_resolver.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "agent/sampling/made_code_name.h"
#include "agent/sampling/markers.h"
#include "agent/sampling/stack_runtimes_of_process.h"
#include "interpreters/jit/jit_file.h"

namespace stackray {
namespace {

constexpr uint64_t kKernelMappingBit = 1ULL << 62;
// Owners of native keys whose file could not be opened: they follow from the file's identity alone.
constexpr uint64_t kUnopenedFileOwner = (1ULL << 56) - 1;
// In a native frame's key, word1: not the code at the address, but code of no file that it calls.
constexpr uint64_t kCalledFromThere = 1;
constexpr int kNextCallerShift = 1;  // And where that is called, in the bits above.
// In a runtime frame's key: the line of its native frame is folded into it.
constexpr uint64_t kFoldedBit = 1ULL << 63;
constexpr uint64_t kBuiltinBit = 1ULL << 62;  // Not a frame's words: a RuntimeFunction's place.

// The mapping of an executable's segment. An executable rarely has more than one with code.
MappingKey MappingKeyOf(const ExecutableFile& file, uint64_t elf_address) {
  uint64_t index = 0;
  for (const ElfSegment& segment : file.info.segments) {
    ++index;
    if (segment.executable && elf_address - segment.address < segment.memory_bytes) break;
  }
  return file.handle << 8 | (index & 0xff);
}

// A file that could not be opened may be there again: libraries come and go. Each further try costs
// some system calls, so after the first ones of a batch only ever rarer questions lead to one; and
// in a process of very many mappings it costs milliseconds, so all that were in vain may take this
// long.
constexpr absl::Duration kMostFailedOpen = absl::Milliseconds(50);
bool IsWorthATry(uint32_t questions_before) {
  constexpr uint32_t kFirstTries = 16;
  return questions_before < kFirstTries || (questions_before & (questions_before - 1)) == 0;
}

}  // namespace

FrameResolver::FrameResolver(ExecutableFiles& files, std::optional<KernelSymbols> kernel,
                             size_t name_cache_bytes, const NativeNames& native, Runtimes* runtimes)
    : files_(files),
      runtimes_(runtimes),
      kernel_(std::move(kernel)),
      policy_(native.policy),
      name_cache_bytes_(name_cache_bytes),
      names_(name_cache_bytes),
      jit_(files) {
  if (policy_ == SymbolPolicy::kFull) lines_.emplace(native.lines);
}

int32_t FrameResolver::FindOrDefine(const FrameKey& key, OpenBatch& batch, auto resolve) {
  ++counts_.questions;
  const int32_t known = batch.FindFrame(key);
  if (known != BatchBuilder::kNeeded) return known;
  ++counts_.resolved;
  return batch.DefineFrame(key, resolve());
}

int32_t FrameResolver::MarkerFrame(const FrameKey& marker, OpenBatch& batch) {
  return FindOrDefine(marker, batch, [&] { return MarkerSymbols(marker); });
}

ExecutableFilePtr FrameResolver::HoldForBatch(uint32_t pid, const code_range& range,
                                              OpenBatch& batch) {
  OpenBatch::HeldFile& held = batch.held_files[IdentityOf(range)];
  if (held.file != nullptr) return held.file;
  const bool is_asked_anew = held.tried_pid == pid;
  if (is_asked_anew && (!IsWorthATry(held.questions++) || batch.failed_open > kMostFailedOpen))
    return nullptr;
  held.tried_pid = pid;
  const absl::Time start = absl::Now();
  absl::StatusOr<ExecutableFilePtr> file = files_.Get(pid, range);
  held.left_alone = absl::IsDeadlineExceeded(file.status());
  if (file.ok()) held.file = *std::move(file);
  if (is_asked_anew && held.file == nullptr) batch.failed_open += absl::Now() - start;
  return held.file;
}

const ExecutableFile* FrameResolver::FileOf(const UserStack& stack, uint32_t range) {
  RangeFile& known = range_files_[range];
  if (known.asked) return known.file;
  known.asked = true;
  const ExecutableFilePtr file = HoldForBatch(stack.process.pid, stack.ranges[range], *stack.batch);
  known.file = file.get();
  if (file == nullptr || stack.process_files == nullptr) return known.file;
  file->sampled_ns = newest_ns_;
  std::vector<ExecutableFilePtr>& files = *stack.process_files;
  if (std::find(files.begin(), files.end(), file) == files.end() && !files_.IsFull())
    files.push_back(file);
  return known.file;
}

int32_t FrameResolver::NativeFrame(uint32_t pid, const ExecutableFile& file, uint64_t file_offset,
                                   OpenBatch& batch) {
  const uint64_t address = AddressOfFileOffset(file.info, file_offset).value_or(file_offset);
  const FrameKey key = FrameKey::Make(FrameType::kNative, file.handle, address);
  ++counts_.questions;
  if (const int32_t known = batch.FindFrame(key); known != BatchBuilder::kNeeded) return known;
  ++counts_.resolved;
  FrameSymbols symbols{
      .type = FrameType::kNative, .mapping = MappingKeyOf(file, address), .address = address};
  if (policy_ != SymbolPolicy::kOff)
    symbols.lines = names_.Resolve(file.handle, *file.source, address);
  if (policy_ != SymbolPolicy::kOff && symbols.lines.empty() && file.info.is_elf)
    symbols.function_start = function_begins_.Find(file.handle, *file.source, address);
  if (batch.NeedsMapping(symbols.mapping))
    batch.DefineMapping(symbols.mapping, MappingOf(file.info, address));
  const auto held = batch.held_files.find(file.identity);
  if (!lines_ || !file.fd.valid() || !file.info.is_elf || held == batch.held_files.end())
    return batch.DefineFrame(key, symbols);
  return lines_->Define(key, symbols, pid, held->second.file, batch);
}

// The process was gone before its file could be opened, and the frame says what the kernel knew; or
// the file does not answer.
int32_t FrameResolver::FrameWithoutFile(const code_range& range, uint64_t file_offset,
                                        OpenBatch& batch) {
  const auto held = batch.held_files.find(IdentityOf(range));
  if (held != batch.held_files.end() && held->second.left_alone)
    return MarkerFrame(MarkerKey(MarkerKind::kLeftAlone), batch);
  const FrameKey key =
      FrameKey::Make(FrameType::kNative, kUnopenedFileOwner, range.file.inode, file_offset);
  return FindOrDefine(key, batch, [&] {
    FrameSymbols symbols{.type = FrameType::kNative};
    symbols.marker.kind = MarkerKind::kFileGone;
    symbols.lines.push_back(
        {.function = fmt::format("[inode {}+0x{:x}]", range.file.inode, file_offset)});
    return symbols;
  });
}

// The ELF address of a native frame's instruction in its file; nullopt: not native, or no such
// file.
std::optional<FrameResolver::CallerPlace> FrameResolver::PlaceOf(const UserStack& stack,
                                                                 uint64_t word) {
  if (word == 0 || !IsNativeKind(FrameWordKind(word))) return std::nullopt;
  const uint32_t range = FrameWordRange(word);
  if (stack.ranges[range].kind != RANGE_FILE) return std::nullopt;
  const ExecutableFile* file = FileOf(stack, range);
  if (file == nullptr || !file->info.is_elf) return std::nullopt;
  const uint64_t offset = FrameWordOffset(word) - 1;
  return CallerPlace{file, AddressOfFileOffset(file->info, offset).value_or(offset)};
}

// Code that was made at run time. Its caller's name may tell what it is, or where that has none (a
// static function of a stripped library) the name of what calls that from the same file; the sample
// is marked as guessed all the same.
std::optional<int32_t> FrameResolver::JitFrame(const UserStack& stack, uint64_t address,
                                               OpenBatch& batch) {
  if (policy_ == SymbolPolicy::kOff) return std::nullopt;
  const std::optional<JitNames::Answer> answer = jit_.Find(stack.process, address, newest_ns_);
  if (!answer) return std::nullopt;
  return FindOrDefine(answer->key, batch, [&] {
    FrameSymbols symbols{.type = FrameType::kNative};
    symbols.lines.push_back(answer->function->LineAt(address));
    return symbols;
  });
}

int32_t FrameResolver::FrameOfNoFile(const UserStack& stack, const Callers& callers,
                                     OpenBatch& batch) {
  const std::optional<CallerPlace> caller = PlaceOf(stack, callers.first);
  const FrameKey unknown = MarkerKey(MarkerKind::kUnknownCode);
  if (!caller || policy_ == SymbolPolicy::kOff) return MarkerFrame(unknown, batch);
  std::optional<CallerPlace> next = PlaceOf(stack, callers.second);
  if (next && next->file->handle != caller->file->handle) next.reset();
  const FrameKey key =
      FrameKey::Make(FrameType::kNative, caller->file->handle, caller->address,
                     kCalledFromThere | (next ? next->address << kNextCallerShift : 0));
  const auto name_at = [this](const CallerPlace& place) -> std::string {
    const std::vector<SourceLine> lines =
        names_.Resolve(place.file->handle, *place.file->source, place.address);
    return lines.empty() ? "" : lines.back().function;
  };
  return FindOrDefine(key, batch, [&] {
    std::string of = name_at(*caller);
    if (of.empty() && next) of = name_at(*next);
    const std::string_view name = NameOfMadeCode(of);
    if (name.empty()) return MarkerSymbols(unknown);
    FrameSymbols symbols{.type = FrameType::kNative};
    symbols.marker = {MarkerKind::kJitCode, std::string(name)};
    symbols.lines.push_back({.function = fmt::format("[{} jit]", name)});
    return symbols;
  });
}

int32_t FrameResolver::UserFrame(const UserStack& stack, uint64_t word, const Callers& callers,
                                 OpenBatch& batch) {
  const uint64_t kind = FrameWordKind(word);
  if (kind == FRAME_NO_RANGE) return MarkerFrame(MarkerKey(MarkerKind::kUnmapped), batch);
  const code_range& range = stack.ranges[FrameWordRange(word)];
  // A return address points behind its call: the byte before is the call's.
  const uint64_t offset = FrameWordOffset(word) - (kind == FRAME_RETURN ? 1 : 0);
  const ExecutableFile* const file =
      range.kind == RANGE_ANON ? nullptr : FileOf(stack, FrameWordRange(word));
  const bool is_elf = file != nullptr && file->info.is_elf;
  if (!is_elf)
    if (const auto jit = JitFrame(stack, offset - range.file_offset + range.start, batch))
      return *jit;
  if (range.kind == RANGE_ANON || (file != nullptr && !is_elf && IsMemoryFilePath(file->info.path)))
    return FrameOfNoFile(stack, callers, batch);
  return file != nullptr ? NativeFrame(stack.process.pid, *file, offset, batch)
                         : FrameWithoutFile(range, offset, batch);
}

// Only as far as this: one look at the process's memory a code object (interpreters/runtimes.h).
int32_t FrameResolver::RuntimeFrame(const UserStack& stack, const MixedFrame& frame,
                                    const MixedFrame* loop, OpenBatch& batch) {
  const RuntimeData* data = nullptr;
  uint32_t range = frame.range;
  if (range < stack.ranges.size()) data = RuntimeOf(stack, range);
  if (data == nullptr) data = RuntimeOf(stack, range = stack.first_runtime);
  if (data == nullptr) return MarkerFrame(MarkerKey(MarkerKind::kUnsupported), batch);
  const uint64_t folded = loop == nullptr ? 0 : kFoldedBit;
  const bool is_of_stack = FrameWordKind(frame.word) == FRAME_OF_STACK;
  const uint64_t word = frame.word & (is_of_stack ? FRAME_OFFSET_MASK : kRuntimeWordMask);
  const FrameKey key = FrameKey::Make(data->type(), stack.owner, word | folded, frame.second);
  return FindOrDefine(key, batch, [&] {
    const uint64_t base = stack.ranges[range].start - stack.ranges[range].file_offset;
    FrameSymbols symbols = runtimes_->Resolve(stack.process, *data, frame.word, frame.second, base);
    if (loop == nullptr) return symbols;
    const ExecutableFile* file = FileOf(stack, FrameWordRange(loop->word));
    if (file == nullptr) return symbols;
    const uint64_t offset = FrameWordOffset(loop->word) - 1;
    const uint64_t address = AddressOfFileOffset(file->info, offset).value_or(offset);
    std::vector<SourceLine> lines = names_.Resolve(file->handle, *file->source, address);
    symbols.lines.insert(symbols.lines.begin(), lines.begin(), lines.end());
    return symbols;
  });
}

// A builtin of the runtime; nullopt: the native frame is none.
std::optional<RuntimeFunction> FrameResolver::BuiltinOf(const UserStack& stack, uint64_t word) {
  const uint32_t range = FrameWordRange(word);
  const RuntimeData* const data = RuntimeOf(stack, range);
  if (data == nullptr || stack.ranges[range].kind != RANGE_FILE) return std::nullopt;
  return data->FunctionAt(FrameWordOffset(word) - (FrameWordKind(word) == FRAME_RETURN ? 1 : 0));
}

int32_t FrameResolver::BuiltinFrame(const UserStack& stack, uint64_t word,
                                    const RuntimeFunction& builtin, OpenBatch& batch) {
  const FrameType type = RuntimeOf(stack, FrameWordRange(word))->type();
  return FindOrDefine(FrameKey::Make(type, stack.owner, kBuiltinBit, builtin.place), batch, [&] {
    FrameSymbols symbols{.type = type};
    symbols.lines.push_back({.function = std::string(builtin.name)});
    return symbols;
  });
}

void FrameResolver::TakeCode(const ProcessId& process, const CodeMemory& code) {
  if (runtimes_ != nullptr) runtimes_->Remember(process, code);
}

// The native frame that runs a run of frames, for the first of them.
const MixedFrame* FrameResolver::LoopToFold(size_t frame) const {
  if (loop_frames_ != LoopFrames::kFolded || (frame > 0 && mixed_[frame - 1].is_runtime))
    return nullptr;
  while (frame < mixed_.size() && mixed_[frame].is_runtime) ++frame;
  return frame < mixed_.size() && mixed_[frame].is_loop ? &mixed_[frame] : nullptr;
}

// The next two frames' words, as far as they are native ones.
FrameResolver::Callers FrameResolver::CallersOf(size_t frame) const {
  const auto word = [this](size_t at) {
    return at < mixed_.size() && !mixed_[at].is_runtime ? mixed_[at].word : 0;
  };
  return {.first = word(frame + 1), .second = word(frame + 2)};
}

// With what calls it.
bool FrameResolver::IsMadeCode(const UserStack& stack, size_t frame) {
  const auto is_made = [&](const MixedFrame& at) {
    if (at.is_runtime || !IsNativeKind(FrameWordKind(at.word))) return false;
    const uint32_t range = FrameWordRange(at.word);
    return stack.ranges[range].kind == RANGE_ANON ||
           PartOfLoop(stack, at.word, range) == LoopPart::kMadeCodeEntry;
  };
  if (!is_made(mixed_[frame])) return false;
  while (frame < mixed_.size() && is_made(mixed_[frame])) ++frame;
  if (frame == mixed_.size() || !mixed_[frame].is_runtime) return false;
  const uint32_t range = mixed_[frame].range;
  const RuntimeData* const data =
      RuntimeOf(stack, range < stack.ranges.size() ? range : stack.first_runtime);
  return data != nullptr && data->makes_code();
}

int32_t FrameResolver::UnsupportedFrame(const RuntimeData& data, uint32_t runtime,
                                        OpenBatch& batch) {
  return FindOrDefine(MarkerKey(MarkerKind::kUnsupported, runtime), batch, [&] {
    FrameSymbols symbols{.type = FrameType::kMarker};
    symbols.marker = {MarkerKind::kUnsupported, std::string(data.name())};
    symbols.lines.push_back({.function = fmt::format("[{} unsupported]", data.name())});
    return symbols;
  });
}

const RuntimeData* FrameResolver::RuntimeOf(const UserStack& stack, uint32_t range) {
  StackRuntime& known = range_runtimes_[range];
  if (!known.asked && runtimes_ != nullptr)
    known.data = runtimes_->DataOf(stack.ranges[range].runtime);
  known.asked = true;
  return known.data.get();
}

// Is this native frame of the loop of the runtime whose file `range` is of?
LoopPart FrameResolver::PartOfLoop(const UserStack& stack, uint64_t word, uint32_t range) {
  const RuntimeData* const data = RuntimeOf(stack, range);
  if (data == nullptr) return LoopPart::kNone;
  const code_range& code = stack.ranges[FrameWordRange(word)];
  const uint64_t offset = FrameWordOffset(word) - (FrameWordKind(word) == FRAME_RETURN ? 1 : 0);
  if (code.runtime == 0 && code.kind == RANGE_FILE && data->made_code_rule())
    return runtimes_->PartOfMadeCode(IdentityOf(code), offset);
  if (code.kind == RANGE_ANON && data->makes_code()) return LoopPart::kMade;
  if (code.runtime != stack.ranges[range].runtime) return LoopPart::kNone;
  return data->PartOfLoop(offset);
}

void FrameResolver::MarkCarriersOf(const UserStack& stack) {
  const auto is_c_function = [&](const MixedFrame& frame) {
    const RuntimeData* const data =
        frame.range < stack.ranges.size() ? RuntimeOf(stack, frame.range) : nullptr;
    return data == nullptr || data->IsCFunction(frame.word, frame.second);
  };
  const auto is_same_runtime = [&](uint32_t range, uint32_t other) {
    return range < stack.ranges.size() && other < stack.ranges.size() &&
           stack.ranges[range].runtime == stack.ranges[other].runtime;
  };
  MarkCarriers(
      {.part_of = [&](uint64_t word, uint32_t range) { return PartOfLoop(stack, word, range); },
       .is_c_function = is_c_function,
       .is_same_runtime = is_same_runtime},
      &mixed_);
}

void FrameResolver::AppendMixedFrames(const UserStack& stack, std::span<const uint64_t> words,
                                      bool is_whole, OpenBatch& batch,
                                      std::vector<int32_t>* frames) {
  const auto part_of = [&](uint64_t word, uint32_t range) {
    return PartOfLoop(stack, word, range);
  };
  MixFrames(words, is_whole, part_of, &mixed_);
  if (loop_frames_ != LoopFrames::kKept) MarkCarriersOf(stack);
  for (size_t i = 0; i < mixed_.size(); ++i) {
    const MixedFrame& frame = mixed_[i];
    if (frame.is_runtime) {
      if (frame.is_apart && i > 0 && !mixed_[i - 1].is_apart)
        AppendMarker(MarkerKey(MarkerKind::kBetween), batch, frames);
      frames->push_back(RuntimeFrame(stack, frame, LoopToFold(i), batch));
      continue;
    }
    const bool is_native = IsNativeKind(FrameWordKind(frame.word));
    if (const auto builtin = is_native ? BuiltinOf(stack, frame.word) : std::nullopt) {
      if (!builtin->is_plumbing || loop_frames_ == LoopFrames::kKept)
        frames->push_back(BuiltinFrame(stack, frame.word, *builtin, batch));
      continue;
    }
    const uint32_t range = is_native ? FrameWordRange(frame.word) : 0;
    const RuntimeData* const data = RuntimeOf(stack, range);
    if (data != nullptr && !data->supported() && is_native &&
        part_of(frame.word, range) == LoopPart::kLoop)
      frames->push_back(UnsupportedFrame(*data, stack.ranges[range].runtime, batch));
    const bool is_hidden =
        frame.is_loop || frame.is_entry || frame.is_carrier || IsMadeCode(stack, i);
    if (!is_hidden || loop_frames_ == LoopFrames::kKept)
      frames->push_back(UserFrame(stack, frame.word, CallersOf(i), batch));
  }
}

void FrameResolver::AppendUserFrames(const ProcessId& process, std::span<const uint64_t> words,
                                     bool is_whole, std::span<const code_range> ranges,
                                     std::vector<ExecutableFilePtr>* process_files,
                                     OpenBatch& batch, std::vector<int32_t>* frames) {
  UserStack stack{
      .process = process, .ranges = ranges, .process_files = process_files, .batch = &batch};
  range_files_.assign(ranges.size(), {});
  if (runtimes_ != nullptr) {
    MeetStackRuntimes(process, ranges, files_, *runtimes_);
    runtimes_->of_stack().TellWaitingRows();
  }
  const auto first = std::find_if(ranges.begin(), ranges.end(),
                                  [](const code_range& range) { return range.runtime != 0; });
  if (first != ranges.end()) {
    range_runtimes_.assign(ranges.size(), {});
    if (runtimes_ != nullptr) stack.owner = runtimes_->OwnerOf(process);
    stack.first_runtime = static_cast<uint32_t>(first - ranges.begin());
    return AppendMixedFrames(stack, words, is_whole, batch, frames);
  }
  const auto word = [&words](size_t at) { return at < words.size() ? words[at] : 0; };
  for (size_t i = 0; i < words.size(); ++i)
    frames->push_back(
        UserFrame(stack, words[i], {.first = word(i + 1), .second = word(i + 2)}, batch));
}

int32_t FrameResolver::KernelFrame(uint64_t address, uint64_t time_ns, OpenBatch& batch) {
  std::optional<KernelPlace> place;
  if (kernel_) place = kernel_->Locate(address, time_ns);
  if (kernel_ && !place) place = kernel_->LocateByReading(address, time_ns);
  const FrameKey key =
      place ? place->key : FrameKey::Make(FrameType::kKernel, 0, address, kNoKernelImage);
  return FindOrDefine(key, batch, [&] {
    FrameSymbols symbols{.type = FrameType::kKernel};
    if (place && place->image != kNoKernelImage) {
      symbols.mapping = kKernelMappingBit | (uint64_t{place->image} + 1);
      symbols.address = place->address;
      if (batch.NeedsMapping(symbols.mapping))
        batch.DefineMapping(symbols.mapping, kernel_->Mapping(place->image));
    }
    std::string name = kernel_ ? kernel_->NameOf(address, time_ns) : "";
    if (name.empty() && symbols.mapping == 0) name = fmt::format("[kernel+0x{:x}]", address);
    if (!name.empty()) symbols.lines.push_back({.function = std::move(name)});
    return symbols;
  });
}

void FrameResolver::AppendKernelFrames(std::span<const uint64_t> addresses, uint64_t time_ns,
                                       OpenBatch& batch, std::vector<int32_t>* frames) {
  newest_ns_ = std::max(newest_ns_, time_ns);
  // All but the first are return addresses.
  for (size_t i = 0; i < addresses.size(); ++i)
    frames->push_back(KernelFrame(addresses[i] - (i > 0 ? 1 : 0), time_ns, batch));
}

void FrameResolver::AppendMarker(const FrameKey& marker, OpenBatch& batch,
                                 std::vector<int32_t>* frames) {
  frames->push_back(MarkerFrame(marker, batch));
}

void FrameResolver::TakeLines(std::span<OpenBatch* const> open) {
  if (lines_) lines_->TakeAnswers(open);
}

void FrameResolver::FinishLines(OpenBatch& batch, std::span<OpenBatch* const> open) {
  if (lines_) lines_->Finish(batch, open);
}

FrameResolver::Counts FrameResolver::counts() const {
  Counts counts = counts_;
  if (runtimes_ != nullptr) counts.runtimes = runtimes_->counts();
  counts.jit = jit_.counts();
  if (lines_) {
    counts.lines = lines_->counts();
    counts.lines_cpu_ns = lines_->worker_cpu_ns();
  }
  return counts;
}

void FrameResolver::ForgetBatch() {
  if (runtimes_ != nullptr) runtimes_->ForgetBatch();
  if (kernel_) kernel_->DropEndedBefore(newest_sealed_ns_);
  newest_sealed_ns_ = newest_ns_;
}

void FrameResolver::FollowKernel() {
  if (kernel_) kernel_->Follow();
}

void FrameResolver::FollowCpus(std::span<const int> online) {
  if (kernel_) kernel_->FollowCpus(online);
}

void FrameResolver::Wipe() {
  if (runtimes_ != nullptr) runtimes_->Wipe();
  names_.Wipe();
  function_begins_.Wipe();
  jit_.Wipe();
  if (lines_) lines_->Wipe();
  files_.Wipe();
  if (kernel_) (void)kernel_->Refresh();
}

// Source lines and names of JIT code keep the same part of theirs.
void FrameResolver::SetCacheBytes(size_t bytes) {
  names_.SetCacheBytes(bytes);
  if (name_cache_bytes_ == 0) return;
  const double share =
      std::min(1.0, static_cast<double>(bytes) / static_cast<double>(name_cache_bytes_));
  jit_.SetLimitBytes(static_cast<size_t>(share * JitNames::kDefaultLimitBytes));
  if (lines_) lines_->SetCacheShare(share);
}

size_t FrameResolver::cache_bytes() const {
  return names_.bytes() + function_begins_.bytes() + jit_.bytes() +
         (runtimes_ == nullptr ? 0 : runtimes_->bytes()) + (kernel_ ? kernel_->bytes() : 0) +
         (lines_ ? lines_->bytes() : 0);
}

}  // namespace stackray
