#include "reporter/sample_table.h"

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "reporter/wire/writer.h"

namespace stackray {
namespace {

constexpr size_t kDurationVarintBytes = 9;  // Holds every int64_t that is not negative.
// Of a Profile: 3 time_unix_nano, 4 duration_nano.
constexpr size_t kTimesBytes =
    wire::kTagBytes + wire::kFixed64Bytes + wire::kTagBytes + kDurationVarintBytes;

uint64_t Index(int32_t index) { return static_cast<uint64_t>(index); }
size_t Slot(int32_t index) { return static_cast<size_t>(index); }

// A ValueType field: 1 type, 2 unit.
void AppendValueType(int field, int32_t type, int32_t unit, std::string* out) {
  std::string body;
  wire::AppendNumber(1, Index(type), &body);
  wire::AppendNumber(2, Index(unit), &body);
  wire::AppendBytes(field, body, out);
}

}  // namespace

int32_t SampleTable::FindProcess(const ProcessId& id) const {
  const auto found = process_index_.find(id);
  return found == process_index_.end() ? kNone : found->second;
}

int32_t SampleTable::DefineProcess(const ProcessId& id, std::string resource) {
  const auto next = static_cast<int32_t>(processes_.size());
  const auto [entry, is_new] = resource_index_.try_emplace(resource, next);
  const int32_t index = entry->second;
  if (is_new) processes_.push_back({std::move(resource), {}, 0});
  const bool inserted = process_index_.try_emplace(id, index).second;
  assert(inserted);
  static_cast<void>(inserted);
  ids_.push_back(id);
  return index;
}

int32_t SampleTable::FindProfile(int32_t process, SampleOrigin origin, SampleShape shape,
                                 int64_t period) const {
  for (const int32_t index : processes_[Slot(process)].profiles) {
    const Profile& profile = profiles_[Slot(index)];
    if (profile.origin == origin && profile.shape == shape && profile.period_value == period)
      return index;
  }
  return kNone;
}

int32_t SampleTable::DefineProfile(int32_t process, SampleOrigin origin, SampleShape shape,
                                   const ProfileType& type) {
  const auto index = static_cast<int32_t>(profiles_.size());
  Profile& profile = profiles_.emplace_back();
  profile.process = process;
  profile.origin = origin;
  profile.shape = shape;
  profile.period_value = type.period;
  AppendValueType(1, type.sample_type, type.sample_unit, &profile.type);
  if (type.period_type != 0)
    AppendValueType(5, type.period_type, type.period_unit, &profile.period);
  wire::AppendNumber(6, static_cast<uint64_t>(type.period), &profile.period);
  processes_[Slot(process)].profiles.push_back(index);
  return index;
}

size_t SampleTable::ProfileBytes(const Profile& profile) const {
  if (profile.samples_bytes == 0) return 0;
  return wire::BytesFieldBytes(profile.type.size() + profile.samples_bytes + kTimesBytes +
                               profile.period.size());
}

size_t SampleTable::ScopeProfilesBytes(const Process& process) const {
  return wire::BytesFieldBytes(scope_.size()) + process.profiles_bytes;
}

size_t SampleTable::ResourceProfilesBytes(const Process& process) const {
  return wire::BytesFieldBytes(process.resource.size()) +
         wire::BytesFieldBytes(ScopeProfilesBytes(process));
}

size_t SampleTable::ProcessBytes(const Process& process) const {
  return process.profiles_bytes == 0 ? 0 : wire::BytesFieldBytes(ResourceProfilesBytes(process));
}

// Sample: 1 stack, 2 attributes, 3 link, 4 values, 5 timestamps.
size_t SampleTable::SampleBytes(const Sample& sample) const {
  size_t bytes = wire::NumberFieldBytes(Index(sample.identity.stack)) +
                 wire::PackedFieldBytes(sample.identity.attributes) +
                 wire::NumberFieldBytes(Index(sample.identity.link));
  const SampleShape shape = profiles_[Slot(sample.identity.profile)].shape;
  if (shape == SampleShape::kCounts)
    return bytes + wire::BytesFieldBytes(wire::VarintBytes(static_cast<uint64_t>(sample.count)));
  if (shape == SampleShape::kTimedValues) bytes += wire::BytesFieldBytes(sample.values_bytes);
  return bytes + wire::BytesFieldBytes(wire::kFixed64Bytes * static_cast<size_t>(sample.count));
}

void SampleTable::AddSampleBytes(int32_t profile_index, size_t removed, size_t added) {
  Profile& profile = profiles_[Slot(profile_index)];
  Process& process = processes_[Slot(profile.process)];
  encoded_bytes_ -= ProcessBytes(process);
  process.profiles_bytes -= ProfileBytes(profile);
  profile.samples_bytes += added;
  profile.samples_bytes -= removed;
  process.profiles_bytes += ProfileBytes(profile);
  encoded_bytes_ += ProcessBytes(process);
}

void SampleTable::AddEvent(Sample& sample, int64_t amount, int64_t time_unix_ns) {
  const SampleShape shape = profiles_[Slot(sample.identity.profile)].shape;
  if (shape == SampleShape::kCounts) {
    sample.count += amount;
    return;
  }
  int32_t value = kNone;
  if (shape == SampleShape::kTimedValues) {
    value = static_cast<int32_t>(values_.size());
    values_.push_back(amount);
    sample.values_bytes += wire::VarintBytes(static_cast<uint64_t>(amount));
  }
  first_time_ = times_.empty() ? time_unix_ns : std::min(first_time_, time_unix_ns);
  last_time_ = times_.empty() ? time_unix_ns : std::max(last_time_, time_unix_ns);
  times_.push_back({time_unix_ns, sample.last_time, value});
  sample.last_time = static_cast<int32_t>(times_.size()) - 1;
  ++sample.count;
}

void SampleTable::Add(const SampleIdentity& identity, int64_t amount, int64_t time_unix_ns) {
  const auto index = static_cast<int32_t>(samples_.size());
  const auto [entry, inserted] = sample_index_.try_emplace(identity, index);
  if (inserted) samples_.push_back({identity});
  Sample& sample = samples_[Slot(entry->second)];
  if (inserted) {
    AddEvent(sample, amount, time_unix_ns);
    AddSampleBytes(identity.profile, 0, wire::BytesFieldBytes(SampleBytes(sample)));
    return;
  }
  const size_t before = wire::BytesFieldBytes(SampleBytes(sample));
  if (Slot(entry->second) < mark_.samples)
    undo_.push_back({entry->second, sample.last_time, sample.count, sample.values_bytes});
  AddEvent(sample, amount, time_unix_ns);
  AddSampleBytes(identity.profile, before, wire::BytesFieldBytes(SampleBytes(sample)));
}

bool SampleTable::TimeRange(int64_t* first_unix_ns, int64_t* last_unix_ns) const {
  if (times_.empty()) return false;
  *first_unix_ns = first_time_;
  *last_unix_ns = last_time_;
  return true;
}

void SampleTable::Mark() {
  mark_ = {.processes = processes_.size(),
           .ids = ids_.size(),
           .profiles = profiles_.size(),
           .samples = samples_.size(),
           .times = times_.size(),
           .values = values_.size(),
           .first_time = first_time_,
           .last_time = last_time_};
  undo_.clear();
}

void SampleTable::Rollback() {
  for (; !undo_.empty(); undo_.pop_back()) {
    const Undo& undo = undo_.back();
    Sample& sample = samples_[Slot(undo.sample)];
    const size_t removed = wire::BytesFieldBytes(SampleBytes(sample));
    sample.last_time = undo.last_time;
    sample.count = undo.count;
    sample.values_bytes = undo.values_bytes;
    AddSampleBytes(sample.identity.profile, removed, wire::BytesFieldBytes(SampleBytes(sample)));
  }
  for (; samples_.size() > mark_.samples; samples_.pop_back()) {
    const Sample& sample = samples_.back();
    AddSampleBytes(sample.identity.profile, wire::BytesFieldBytes(SampleBytes(sample)), 0);
    sample_index_.erase(sample.identity);
  }
  for (; profiles_.size() > mark_.profiles; profiles_.pop_back())
    processes_[Slot(profiles_.back().process)].profiles.pop_back();
  for (; ids_.size() > mark_.ids; ids_.pop_back()) process_index_.erase(ids_.back());
  for (; processes_.size() > mark_.processes; processes_.pop_back())
    resource_index_.erase(processes_.back().resource);
  times_.resize(mark_.times);
  values_.resize(mark_.values);
  first_time_ = mark_.first_time;
  last_time_ = mark_.last_time;
}

void SampleTable::AppendSample(const Sample& sample, std::string* out) const {
  wire::AppendHeader(2, SampleBytes(sample), out);
  wire::AppendNumber(1, Index(sample.identity.stack), out);
  wire::AppendPacked(2, sample.identity.attributes, out);
  wire::AppendNumber(3, Index(sample.identity.link), out);
  AppendEvents(sample, out);
}

void SampleTable::AppendEvents(const Sample& sample, std::string* out) const {
  const SampleShape shape = profiles_[Slot(sample.identity.profile)].shape;
  if (shape == SampleShape::kCounts) {
    wire::AppendHeader(4, wire::VarintBytes(static_cast<uint64_t>(sample.count)), out);
    wire::AppendVarint(static_cast<uint64_t>(sample.count), out);
    return;
  }
  std::vector<std::pair<int64_t, int64_t>> events;  // Time and value.
  for (int32_t i = sample.last_time; i != kNone; i = times_[Slot(i)].previous) {
    const Time& time = times_[Slot(i)];
    events.emplace_back(time.unix_ns, time.value == kNone ? 0 : values_[Slot(time.value)]);
  }
  std::sort(events.begin(), events.end());
  if (shape == SampleShape::kTimedValues) {
    wire::AppendHeader(4, sample.values_bytes, out);
    for (const auto& [time, value] : events) wire::AppendVarint(static_cast<uint64_t>(value), out);
  }
  wire::AppendHeader(5, events.size() * wire::kFixed64Bytes, out);
  for (const auto& [time, value] : events) wire::AppendFixed64(static_cast<uint64_t>(time), out);
}

void SampleTable::AppendProfile(const Profile& profile, const std::vector<int32_t>& samples,
                                const std::string& times, std::string* out) const {
  wire::AppendHeader(
      2, profile.type.size() + profile.samples_bytes + times.size() + profile.period.size(), out);
  *out += profile.type;
  for (const int32_t index : samples) AppendSample(samples_[Slot(index)], out);
  *out += times;
  *out += profile.period;
}

// ResourceProfiles: 1 resource, 2 scope profiles {1 scope, 2 profiles}.
void SampleTable::AppendProcess(const Process& process,
                                const std::vector<std::vector<int32_t>>& samples,
                                const std::string& times, std::string* out) const {
  wire::AppendHeader(1, ResourceProfilesBytes(process), out);
  wire::AppendBytes(1, process.resource, out);
  wire::AppendHeader(2, ScopeProfilesBytes(process), out);
  wire::AppendBytes(1, scope_, out);
  for (const int32_t index : process.profiles) {
    if (profiles_[Slot(index)].samples_bytes != 0)
      AppendProfile(profiles_[Slot(index)], samples[Slot(index)], times, out);
  }
}

void SampleTable::AppendTo(int64_t start_unix_ns, int64_t duration_ns, std::string* out) const {
  std::vector<std::vector<int32_t>> samples(profiles_.size());
  for (size_t i = 0; i < samples_.size(); ++i)
    samples[Slot(samples_[i].identity.profile)].push_back(static_cast<int32_t>(i));
  std::string times;
  wire::AppendTag(3, wire::Type::kFixed64, &times);
  wire::AppendFixed64(static_cast<uint64_t>(start_unix_ns), &times);
  wire::AppendTag(4, wire::Type::kVarint, &times);
  wire::AppendPaddedVarint(static_cast<uint64_t>(duration_ns), kDurationVarintBytes, &times);
  for (const Process& process : processes_) {
    if (process.profiles_bytes != 0) AppendProcess(process, samples, times, out);
  }
}

}  // namespace stackray
