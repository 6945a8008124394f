#include "interpreters/runtimes.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "interpreters/hotspot/loader.h"
#include "interpreters/lua/loader.h"
#include "interpreters/perl/loader.h"
#include "interpreters/php/loader.h"
#include "interpreters/python/loader.h"
#include "interpreters/ruby/loader.h"
#include "interpreters/v8/loader.h"
#include "kernel/pid_namespace.h"
#include "kernel/raw_sample.h"

namespace stackray {
namespace {

constexpr size_t kMaxOwners = 16'384;
constexpr size_t kMaxMadeCodeFiles = 4'096;
// What an entry costs beside its code: the list's node, the map's slot with its share of empty
// ones, the shared pointer's block, and what the allocator adds to the code's texts.
constexpr size_t kEntryOverheadBytes = 240;

absl::Status LeftAloneError() { return absl::DeadlineExceededError("left alone"); }

}  // namespace

Runtimes::Runtimes(RuntimeMemory& memory, Options options, OpenMemory open)
    : memory_(memory),
      cache_bytes_(options.cache_bytes),
      open_(open ? std::move(open)
                 : [](uint32_t pid) { return std::make_unique<LiveProcessMemory>(pid); }),
      of_stack_(memory, open_),
      thread_names_(open_, InnerThreadId) {
  loaders_.push_back(std::make_unique<PythonLoader>());
  loaders_.push_back(std::make_unique<PhpLoader>());
  loaders_.push_back(std::make_unique<RubyLoader>());
  loaders_.push_back(std::make_unique<PerlLoader>());
  loaders_.push_back(std::make_unique<LuaLoader>());
  loaders_.push_back(std::make_unique<HotSpotLoader>());
  loaders_.push_back(std::make_unique<V8Loader>(options.async_parents));
  data_.push_back(nullptr);  // Number 0 is none.
}

uint32_t Runtimes::Recognise(const ExecutableFile& file, const ElfImage& image) {
  {
    absl::MutexLock lock(&mutex_);
    if (const auto known = by_identity_.find(file.identity); known != by_identity_.end())
      return known->second;
  }
  // Walking a runtime's frames needs its threads' registers and variables, which are known of these
  // alone.
  if (image.machine() != EM_X86_64 && image.machine() != EM_AARCH64) return 0;
  std::shared_ptr<const RuntimeData> data;
  for (const auto& loader : loaders_)
    if (data == nullptr) data = loader->Recognise(image, *file.source);
  if (data == nullptr || !file.source->IsUnchanged()) return 0;
  absl::MutexLock lock(&mutex_);
  const auto number = static_cast<uint32_t>(data_.size());
  // A number is never used again, so a record can name it for ever. Without one left, native
  // frames.
  if (number >= MAX_RUNTIME_FILES || !data->Publish(number, memory_).ok()) return 0;
  const uint32_t runtime = data->is_of_stack() ? number | STACK_RUNTIME : number;
  data_.push_back(std::move(data));
  by_identity_[file.identity] = runtime;
  return runtime;
}

std::optional<MadeCodeRules> Runtimes::RecogniseMadeCode(const FileIdentity& file, uint32_t runtime,
                                                         uint64_t offset,
                                                         std::span<const uint8_t> first_page) {
  const std::shared_ptr<const RuntimeData> data = DataOf(runtime);
  if (data == nullptr || !data->made_code_rule()) return std::nullopt;
  RuntimeData::MadePage page = data->LookAtMadeCode(offset, first_page);
  absl::MutexLock lock(&mutex_);
  if (made_code_.size() >= kMaxMadeCodeFiles) made_code_.clear();
  made_code_[file] = std::move(page.called);
  return MadeCodeRules{.rule = *data->made_code_rule(), .first_page = std::move(page.rows)};
}

LoopPart Runtimes::PartOfMadeCode(const FileIdentity& file, uint64_t file_offset) const {
  absl::MutexLock lock(&mutex_);
  const auto made = made_code_.find(file);
  if (made == made_code_.end()) return LoopPart::kNone;
  const bool is_called =
      std::any_of(made->second.begin(), made->second.end(),
                  [&](const FileRange& range) { return range.Contains(file_offset); });
  return is_called ? LoopPart::kMade : LoopPart::kLoop;
}

std::optional<made_code_callers> Runtimes::CallersOfMadeCode(uint32_t runtime) const {
  const std::shared_ptr<const RuntimeData> data = DataOf(runtime);
  return data == nullptr ? std::nullopt : data->CallersOfMadeCode();
}

std::vector<uint64_t> Runtimes::ReturnsOfFrames(uint32_t runtime) const {
  const std::shared_ptr<const RuntimeData> data = DataOf(runtime);
  return data == nullptr ? std::vector<uint64_t>() : data->returns_of_frames();
}

std::shared_ptr<const RuntimeData> Runtimes::DataOf(uint32_t runtime) const {
  absl::MutexLock lock(&mutex_);
  runtime &= ~STACK_RUNTIME;
  return runtime < data_.size() ? data_[runtime] : nullptr;
}

void Runtimes::MeetProcess(const ProcessId& process, uint32_t runtime, uint64_t base) {
  const std::shared_ptr<const RuntimeData> data = DataOf(runtime);
  if (data != nullptr) of_stack_.Meet(process, runtime, data, base, absl::Now());
}

std::string_view Runtimes::ThreadNameOf(const ProcessId& process, uint32_t tid,
                                        std::string_view command) {
  const std::shared_ptr<const StackInstance> instance = of_stack_.Of(process);
  return instance == nullptr ? command
                             : thread_names_.NameOf(process, tid, command, instance, absl::Now());
}

uint64_t Runtimes::OwnerOf(const ProcessId& process) {
  const auto [owner, is_new] = owners_.try_emplace(process, last_owner_ + 1);
  if (is_new) ++last_owner_;
  return owner->second;
}

void Runtimes::Remember(const ProcessId& process, const CodeMemory& code) {
  const CodeKey key{
      .owner = OwnerOf(process), .code = code.record->code, .check = code.record->check};
  if (by_key_.contains(key)) return;
  ForgetCaptured(key);
  auto memory = std::make_unique<CapturedMemory>(code);
  captured_bytes_ += memory->bytes() + kEntryOverheadBytes;
  captured_[key] = std::move(memory);
  captured_order_.push_back(key);
  while (captured_bytes_ > cache_bytes_ / 2 && captured_order_.size() > 1) {
    const CodeKey oldest = captured_order_.front();
    captured_order_.pop_front();
    ForgetCaptured(oldest);
  }
  // Keys of what was taken are dropped when they are the oldest, or by the many here.
  while (captured_order_.size() > 2 * captured_.size() + 1024) {
    const CodeKey oldest = captured_order_.front();
    captured_order_.pop_front();
    if (captured_.contains(oldest)) captured_order_.push_back(oldest);
  }
}

void Runtimes::ForgetCaptured(const CodeKey& key) {
  const auto found = captured_.find(key);
  if (found == captured_.end()) return;
  captured_bytes_ -= found->second->bytes() + kEntryOverheadBytes;
  captured_.erase(found);
}

// From what BPF sent if that says it all; else from the process as it is now; else, from a process
// that has freed the object, what was sent (a long line table is cut off).
absl::StatusOr<std::shared_ptr<const RuntimeCode>> Runtimes::Read(const ProcessId& process,
                                                                  const RuntimeData& data,
                                                                  const RuntimePlace& place,
                                                                  uint64_t base) {
  const CodeKey key{.owner = OwnerOf(process), .code = place.code, .check = place.check};
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> sent = absl::NotFoundError("not sent");
  if (const auto found = captured_.find(key); found != captured_.end()) {
    sent = data.ReadCode(*found->second, base, place);
    const bool is_whole = !found->second->TakeMissed();
    ForgetCaptured(key);
    if (sent.ok()) ++counts_.captured_reads;
    if (sent.ok() && is_whole) return sent;
  }
  const std::unique_ptr<ProcessMemory> memory = open_(process.pid);
  if (data.is_of_stack()) {
    const std::shared_ptr<const StackInstance> instance = of_stack_.Of(process);
    absl::StatusOr<std::shared_ptr<const RuntimeCode>> code =
        instance == nullptr ? data.ReadCode(*memory, base, place)
                            : instance->ReadCode(*memory, place);
    if (!code.ok() && memory->IsLeftAlone()) return LeftAloneError();
    return code;
  }
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> code = data.ReadCode(*memory, base, place);
  if (code.ok()) return code;
  if (sent.ok()) return sent;
  if (memory->IsLeftAlone()) return LeftAloneError();
  return code;
}

absl::StatusOr<std::shared_ptr<const RuntimeCode>> Runtimes::CodeOf(const ProcessId& process,
                                                                    const RuntimeData& data,
                                                                    const RuntimePlace& place,
                                                                    uint64_t base) {
  const CodeKey key{.owner = OwnerOf(process), .code = place.code, .check = place.check};
  if (const auto known = by_key_.find(key); known != by_key_.end()) {
    entries_.splice(entries_.begin(), entries_, known->second);
    return known->second->code;
  }
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> code = Read(process, data, place, base);
  if (!code.ok()) return code;
  ++counts_.code_reads;
  entries_.push_front({.key = key, .code = *code});
  by_key_[key] = entries_.begin();
  bytes_ += (*code)->bytes() + kEntryOverheadBytes;
  Evict();
  return code;
}

void Runtimes::TakeNoName(const absl::Status& why, FrameSymbols* symbols) {
  if (absl::IsDeadlineExceeded(why)) {
    ++counts_.left_alone;
    symbols->marker.kind = MarkerKind::kLeftAlone;
    symbols->lines.push_back({.function = std::string(kLeftAloneText)});
    return;
  }
  const bool is_gone = absl::IsNotFound(why);
  ++(is_gone ? counts_.gone : counts_.stale);
  symbols->marker.kind = is_gone ? MarkerKind::kGone : MarkerKind::kStale;
  symbols->lines.push_back({.function = is_gone ? "[gone]" : "[stale]"});
}

FrameSymbols Runtimes::Resolve(const ProcessId& process, const RuntimeData& data, uint64_t word,
                               uint64_t second, uint64_t base) {
  const RuntimePlace place = data.PlaceOf(word, second);
  const absl::StatusOr<std::shared_ptr<const RuntimeCode>> code =
      CodeOf(process, data, place, base);
  FrameSymbols symbols{.type = data.type()};
  if (code.ok()) {
    symbols.lines = (*code)->LinesAt(place.instruction);
  } else {
    TakeNoName(code.status(), &symbols);
  }
  return symbols;
}

void Runtimes::Evict() {
  while (bytes_ > cache_bytes_ && entries_.size() > 1) {
    bytes_ -= entries_.back().code->bytes() + kEntryOverheadBytes;
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

void Runtimes::Wipe() {
  of_stack_.Wipe();
  thread_names_.Wipe();
  owners_.clear();
  by_key_.clear();
  entries_.clear();
  bytes_ = 0;
  captured_.clear();
  captured_order_.clear();
  captured_bytes_ = 0;
}

void Runtimes::ForgetBatch() {
  if (owners_.size() > kMaxOwners) owners_.clear();
}

}  // namespace stackray
