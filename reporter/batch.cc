#include "reporter/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "reporter/attribute_names.h"
#include "reporter/deferred_frames.h"
#include "reporter/dictionary.h"
#include "reporter/resource_attributes.h"
#include "reporter/sample_table.h"
#include "reporter/valid_text.h"
#include "reporter/wire/writer.h"

namespace stackray {
namespace {

constexpr int64_t kLatestTime = std::numeric_limits<int64_t>::max() - 1;  // The end lies after it.

// The body of an InstrumentationScope: 1 name, 2 version.
std::string EncodeScope(const BatchSettings& settings) {
  std::string scope;
  wire::AppendBytes(1, "stackray", &scope);
  std::string text;
  const std::string_view version = ValidText(settings.agent_version, &text);
  if (!version.empty()) wire::AppendBytes(2, version, &scope);
  return scope;
}

int64_t PeriodNs(double frequency_hz) {
  if (!(frequency_hz > 1e-9)) return 0;
  return std::llround(1e9 / frequency_hz);
}

// A receiver takes a mapping only with a sane range and something that identifies its file.
bool IsUsable(const MappingInfo& info) {
  const bool range = info.start < info.limit || (info.start == 0 && info.limit == 0);
  return range && !(info.gnu_build_id.empty() && info.go_build_id.empty() && info.htlhash.empty());
}

bool AnyNamed(const std::vector<SourceLine>& lines) {
  return std::ranges::any_of(lines, [](const SourceLine& line) {
    return !line.function.empty() || !line.system_name.empty();
  });
}

// "FILE·fn_START" by where the function begins, else "FILE+0xADDRESS".
std::string PlaceOf(const FrameSymbols& symbols, const MappingInfo* info) {
  const std::string_view path = info == nullptr ? std::string_view() : info->path;
  const std::string_view file = path.substr(path.rfind('/') + 1).substr(0, 255);
  return fmt::format("{}{}{:x}", file.empty() ? "unknown" : file,
                     symbols.function_start ? "·fn_" : "+0x",
                     symbols.function_start.value_or(symbols.address));
}

bool Keeps(const BatchSettings& settings, std::string_view key) {
  return std::ranges::find(settings.left_out, key) == settings.left_out.end();
}

// A mapping of unknown range (both ends 0) holds every address.
bool Holds(const MappingInfo& info, uint64_t address) {
  return info.limit == 0 || (address >= info.start && address < info.limit);
}

}  // namespace

class BatchBuilder::Impl {
 public:
  explicit Impl(BatchSettings settings)
      : settings_(std::move(settings)),
        thread_id_(settings_.thread_attributes && Keeps(settings_, kThreadIdAttribute)),
        thread_name_(settings_.thread_attributes && Keeps(settings_, kThreadNameAttribute)),
        wait_(Keeps(settings_, kWaitAttribute)),
        samples_(EncodeScope(settings_)) {
    periods_[static_cast<size_t>(SampleOrigin::kPageFaults)] = settings_.page_fault_period;
    SetFrequency(settings_.frequency_hz);
    Mark();
  }

  int32_t FindFrame(const FrameKey& key) const {
    const auto found = frames_.find(key);
    return found == frames_.end() ? kNeeded : found->second;
  }
  bool NeedsMapping(MappingKey key) const { return !mappings_.contains(key); }
  bool NeedsProcess(const ProcessId& id) const {
    return samples_.FindProcess(id) == SampleTable::kNone;
  }
  int32_t DefineFrame(const FrameKey& key, const FrameSymbols& symbols);
  int32_t DeferFrame(const FrameKey& key, const FrameSymbols& symbols);
  bool AwaitsLines(int32_t location) const { return deferred_.Awaits(location); }
  bool CompleteFrame(int32_t location, const std::vector<SourceLine>& lines, size_t limit_bytes);
  void DefineMapping(MappingKey key, const MappingInfo& info);
  void DefineProcess(const ProcessId& id, const ProcessInfo& info);
  void AddSample(const SampleView& sample);
  void SetFrequency(double frequency_hz) {
    periods_[static_cast<size_t>(SampleOrigin::kCpuClock)] = PeriodNs(frequency_hz);
  }
  size_t encoded_bytes() const {
    return samples_.encoded_bytes() +
           wire::BytesFieldBytes(dictionary_.encoded_bytes() + deferred_.reserved_bytes());
  }
  uint64_t samples() const { return counts_.samples; }
  void Mark();
  void Rollback();
  SealedBatchPtr Seal(int64_t start_unix_ns, int64_t end_unix_ns);

 private:
  // A mapping enters the dictionary with its first frame, so none stays there unused.
  struct MappingSlot {
    MappingInfo info;
    int32_t index = 0;  // 0: not in the dictionary yet.
  };
  struct Counts {
    uint64_t samples = 0, lost = 0;
  };

  const MappingInfo* UsableMapping(const FrameSymbols& symbols) const;
  int32_t UseMapping(MappingKey key);
  std::vector<SourceLine> NameByPlace(const FrameSymbols& symbols) const;
  int32_t InternFrame(const FrameSymbols& symbols);
  int32_t ProfileOf(const SampleView& sample);
  SampleShape ShapeOf(const SampleView& sample) const;
  void AppendAttributes(const SampleView& sample, SampleIdentity* identity);
  bool IsLost(const SampleView& sample) const;

  const BatchSettings settings_;
  const bool thread_id_, thread_name_, wait_;
  Dictionary dictionary_;
  SampleTable samples_;
  absl::flat_hash_map<FrameKey, int32_t> frames_;
  absl::flat_hash_map<MappingKey, MappingSlot> mappings_;
  DeferredFrames deferred_;
  std::vector<int32_t> lost_locations_;  // Ascending.
  std::vector<int32_t> stack_;           // Scratch.
  Counts counts_;
  std::array<int64_t, kSampleOrigins> periods_{};  // By origin.

  // Since the mark.
  Dictionary::Extent mark_extent_{};
  Counts mark_counts_;
  std::vector<FrameKey> new_frames_;
  std::vector<MappingKey> new_mappings_, used_mappings_;
};

int32_t BatchBuilder::Impl::UseMapping(MappingKey key) {
  MappingSlot& slot = mappings_.find(key)->second;
  if (slot.index == 0) {
    slot.index = dictionary_.InternMapping(slot.info);
    used_mappings_.push_back(key);
  }
  return slot.index;
}

// nullptr: the frame has to do without one.
const MappingInfo* BatchBuilder::Impl::UsableMapping(const FrameSymbols& symbols) const {
  const auto found = symbols.mapping == 0 ? mappings_.end() : mappings_.find(symbols.mapping);
  if (found == mappings_.end()) return nullptr;
  const MappingInfo& info = found->second.info;
  return IsUsable(info) && Holds(info, symbols.address) ? &info : nullptr;
}

// Empty: it has a name, or needs none, or has none of a file.
std::vector<SourceLine> BatchBuilder::Impl::NameByPlace(const FrameSymbols& symbols) const {
  if (!settings_.name_unnamed || AnyNamed(symbols.lines)) return {};
  const MappingInfo* const info = UsableMapping(symbols);
  if (info == nullptr) return {};
  SourceLine line;
  line.function = PlaceOf(symbols, info);
  return {line};
}

int32_t BatchBuilder::Impl::InternFrame(const FrameSymbols& symbols) {
  const auto found = symbols.mapping == 0 ? mappings_.end() : mappings_.find(symbols.mapping);
  const MappingInfo* const info = found == mappings_.end() ? nullptr : &found->second.info;
  if (UsableMapping(symbols) != nullptr) {
    const std::vector<SourceLine> placed = NameByPlace(symbols);
    return dictionary_.InternLocation(symbols.type, UseMapping(symbols.mapping), symbols.address,
                                      placed.empty() ? symbols.lines : placed,
                                      symbols.function_start, symbols.marker);
  }
  if (AnyNamed(symbols.lines))
    return dictionary_.InternLocation(symbols.type, 0, 0, symbols.lines, std::nullopt,
                                      symbols.marker);
  // Without a mapping its address says nothing to a receiver, so it becomes the frame's name.
  SourceLine line;
  line.function = "[" + PlaceOf(symbols, info) + "]";
  return dictionary_.InternLocation(symbols.type, 0, 0, {&line, 1});
}

int32_t BatchBuilder::Impl::DefineFrame(const FrameKey& key, const FrameSymbols& symbols) {
  const auto [entry, inserted] = frames_.try_emplace(key, 0);
  if (!inserted) return entry->second;
  const int32_t before = dictionary_.locations();
  const int32_t location = InternFrame(symbols);
  entry->second = location;
  new_frames_.push_back(key);
  if (location >= before && symbols.marker.kind == MarkerKind::kLost)
    lost_locations_.push_back(location);
  return location;
}

int32_t BatchBuilder::Impl::DeferFrame(const FrameKey& key, const FrameSymbols& symbols) {
  if (UsableMapping(symbols) == nullptr) return DefineFrame(key, symbols);
  const auto [entry, inserted] = frames_.try_emplace(key, 0);
  if (!inserted) return entry->second;
  const int32_t before = dictionary_.locations();
  entry->second =
      dictionary_.InternLateLocation(symbols.type, UseMapping(symbols.mapping), symbols.address);
  new_frames_.push_back(key);
  if (entry->second >= before) {
    const std::vector<SourceLine> placed = NameByPlace(symbols);
    deferred_.Add(entry->second, {placed.empty() ? symbols.lines : placed, symbols.function_start});
  }
  return entry->second;
}

bool BatchBuilder::Impl::CompleteFrame(int32_t location, const std::vector<SourceLine>& lines,
                                       size_t limit_bytes) {
  if (!deferred_.Awaits(location)) return true;
  const DeferredFrames::Own& own = deferred_.Take(location);
  const Dictionary::Extent before = dictionary_.extent();
  const bool keeps_place = settings_.name_unnamed && !AnyNamed(lines);
  dictionary_.SetLines(location, keeps_place ? own.lines : lines, own.function_start);
  if (encoded_bytes() <= limit_bytes) return true;
  dictionary_.ClearLines(location);
  dictionary_.Truncate(before);
  dictionary_.SetLines(location, own.lines, own.function_start);
  return false;
}

void BatchBuilder::Impl::DefineMapping(MappingKey key, const MappingInfo& info) {
  if (mappings_.try_emplace(key, MappingSlot{info}).second) new_mappings_.push_back(key);
}

void BatchBuilder::Impl::DefineProcess(const ProcessId& id, const ProcessInfo& info) {
  if (NeedsProcess(id)) samples_.DefineProcess(id, EncodeResource(info, settings_));
}

int32_t BatchBuilder::Impl::ProfileOf(const SampleView& sample) {
  int32_t process = samples_.FindProcess(sample.process);
  if (process == SampleTable::kNone) {
    assert(!"the caller defines a process before its samples");
    ProcessInfo info;
    info.pid = sample.process.pid;
    process = samples_.DefineProcess(sample.process, EncodeResource(info, settings_));
  }
  const int64_t period = periods_[static_cast<size_t>(sample.origin)];
  const SampleShape shape = ShapeOf(sample);
  const int32_t profile = samples_.FindProfile(process, sample.origin, shape, period);
  if (profile != SampleTable::kNone) return profile;
  const SampleType& row = TypeOf(sample.origin);
  ProfileType type{};
  type.sample_type = dictionary_.InternString(row.type);
  type.sample_unit = dictionary_.InternString(row.unit);
  type.period_type = dictionary_.InternString(row.period_type);
  type.period_unit = dictionary_.InternString(row.period_unit);
  type.period = period;
  return samples_.DefineProfile(process, sample.origin, shape, type);
}

SampleShape BatchBuilder::Impl::ShapeOf(const SampleView& sample) const {
  if (TypeOf(sample.origin).weighted) return SampleShape::kTimedValues;
  const bool timestamps = settings_.keep_timestamps && sample.count == 1;
  return timestamps ? SampleShape::kTimes : SampleShape::kCounts;
}

void BatchBuilder::Impl::AppendAttributes(const SampleView& sample, SampleIdentity* identity) {
  auto& attributes = identity->attributes;
  if (thread_id_ && sample.tid != 0)
    attributes.push_back(dictionary_.InternAttribute(kThreadIdAttribute, int64_t{sample.tid}));
  if (thread_name_ && !sample.thread_name.empty())
    attributes.push_back(dictionary_.InternAttribute(kThreadNameAttribute, sample.thread_name));
  if (settings_.cpu_attribute && sample.cpu >= 0)
    attributes.push_back(dictionary_.InternAttribute(kCpuAttribute, int64_t{sample.cpu}));
  if (sample.wait != WaitKind::kNone && wait_)
    attributes.push_back(dictionary_.InternAttribute(kWaitAttribute, WaitKindName(sample.wait)));
  for (const auto& [key, value] : sample.labels) {
    if (Keeps(settings_, key)) attributes.push_back(dictionary_.InternAttribute(key, value));
  }
  if (sample.span) identity->link = dictionary_.InternLink(*sample.span);
}

bool BatchBuilder::Impl::IsLost(const SampleView& sample) const {
  return sample.frames.size() == 1 &&
         std::binary_search(lost_locations_.begin(), lost_locations_.end(), sample.frames[0]);
}

void BatchBuilder::Impl::AddSample(const SampleView& sample) {
  assert(sample.count >= 1);
  SampleView counted = sample;
  counted.count = std::max<int64_t>(sample.count, 1);
  stack_.clear();
  for (const int32_t frame : sample.frames) {
    assert(frame > 0 && frame < dictionary_.locations());
    if (frame > 0 && frame < dictionary_.locations()) stack_.push_back(frame);
  }
  SampleIdentity identity;
  identity.profile = ProfileOf(counted);
  identity.stack = dictionary_.InternStack(stack_);
  AppendAttributes(counted, &identity);
  const bool weighted = TypeOf(sample.origin).weighted;
  assert(!weighted || counted.count == 1);
  samples_.Add(identity, weighted ? std::max<int64_t>(sample.value, 1) : counted.count,
               std::clamp<int64_t>(counted.time_unix_ns, 0, kLatestTime));
  const auto count = weighted ? uint64_t{1} : static_cast<uint64_t>(counted.count);
  counts_.samples += count;
  if (IsLost(counted)) counts_.lost += count;
}

void BatchBuilder::Impl::Mark() {
  samples_.Mark();
  mark_extent_ = dictionary_.extent();
  mark_counts_ = counts_;
  deferred_.Mark(mark_extent_.locations);
  new_frames_.clear();
  new_mappings_.clear();
  used_mappings_.clear();
}

void BatchBuilder::Impl::Rollback() {
  samples_.Rollback();
  for (const int32_t location : deferred_.Rollback()) dictionary_.ClearLines(location);
  dictionary_.Truncate(mark_extent_);
  counts_ = mark_counts_;
  for (const FrameKey& key : new_frames_) frames_.erase(key);
  for (const MappingKey key : used_mappings_) mappings_.find(key)->second.index = 0;
  for (const MappingKey key : new_mappings_) mappings_.erase(key);
  while (!lost_locations_.empty() && lost_locations_.back() >= dictionary_.locations())
    lost_locations_.pop_back();
  new_frames_.clear();
  new_mappings_.clear();
  used_mappings_.clear();
}

SealedBatchPtr BatchBuilder::Impl::Seal(int64_t start_unix_ns, int64_t end_unix_ns) {
  if (samples_.empty()) return nullptr;
  for (const int32_t location : deferred_.Awaiting()) {
    const DeferredFrames::Own& own = deferred_.Take(location);
    dictionary_.SetLines(location, own.lines, own.function_start);
  }
  int64_t first = 0, last = 0;
  if (samples_.TimeRange(&first, &last)) {
    start_unix_ns = std::min(start_unix_ns, first);
    end_unix_ns = std::max(end_unix_ns, last + 1);
  }
  auto batch = std::make_shared<SealedBatch>();
  batch->samples = counts_.samples;
  batch->lost_samples = counts_.lost;
  batch->start_unix_ns = std::max<int64_t>(start_unix_ns, 0);
  batch->duration_ns = std::max(end_unix_ns, batch->start_unix_ns) - batch->start_unix_ns;
  batch->bytes.reserve(encoded_bytes());
  samples_.AppendTo(batch->start_unix_ns, batch->duration_ns, &batch->bytes);
  wire::AppendHeader(2, dictionary_.encoded_bytes(), &batch->bytes);
  dictionary_.AppendTo(&batch->bytes);
  assert(batch->bytes.size() == encoded_bytes());
  return batch;
}

BatchBuilder::BatchBuilder(BatchSettings settings)
    : impl_(std::make_unique<Impl>(std::move(settings))) {}
BatchBuilder::~BatchBuilder() = default;
BatchBuilder::BatchBuilder(BatchBuilder&&) noexcept = default;
BatchBuilder& BatchBuilder::operator=(BatchBuilder&&) noexcept = default;

int32_t BatchBuilder::FindFrame(const FrameKey& key) const { return impl_->FindFrame(key); }
bool BatchBuilder::NeedsMapping(MappingKey key) const { return impl_->NeedsMapping(key); }
bool BatchBuilder::NeedsProcess(const ProcessId& id) const { return impl_->NeedsProcess(id); }
int32_t BatchBuilder::DefineFrame(const FrameKey& key, const FrameSymbols& symbols) {
  return impl_->DefineFrame(key, symbols);
}
int32_t BatchBuilder::DeferFrame(const FrameKey& key, const FrameSymbols& symbols) {
  return impl_->DeferFrame(key, symbols);
}
bool BatchBuilder::AwaitsLines(int32_t location) const { return impl_->AwaitsLines(location); }
bool BatchBuilder::CompleteFrame(int32_t location, const std::vector<SourceLine>& lines,
                                 size_t limit_bytes) {
  return impl_->CompleteFrame(location, lines, limit_bytes);
}
void BatchBuilder::DefineMapping(MappingKey key, const MappingInfo& info) {
  impl_->DefineMapping(key, info);
}
void BatchBuilder::DefineProcess(const ProcessId& id, const ProcessInfo& info) {
  impl_->DefineProcess(id, info);
}
void BatchBuilder::AddSample(const SampleView& sample) { impl_->AddSample(sample); }
void BatchBuilder::SetFrequency(double frequency_hz) { impl_->SetFrequency(frequency_hz); }
size_t BatchBuilder::encoded_bytes() const { return impl_->encoded_bytes(); }
uint64_t BatchBuilder::samples() const { return impl_->samples(); }
void BatchBuilder::Mark() { impl_->Mark(); }
void BatchBuilder::Rollback() { impl_->Rollback(); }
SealedBatchPtr BatchBuilder::Seal(int64_t start_unix_ns, int64_t end_unix_ns) && {
  const std::unique_ptr<Impl> ended = std::move(impl_);
  return ended->Seal(start_unix_ns, end_unix_ns);
}

}  // namespace stackray
