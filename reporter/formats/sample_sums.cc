#include "reporter/formats/sample_sums.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "profile/sample_types.h"
#include "reporter/formats/even_spread.h"
#include "reporter/formats/sample_filter.h"
#include "reporter/formats/text.h"

namespace stackray {
namespace {

constexpr uint32_t kNotAsked = kNoId - 1;
constexpr const SampleType& kCpu = kSampleTypes[static_cast<size_t>(SampleOrigin::kCpuClock)];

std::string Hex(std::string_view bytes) {
  return absl::BytesToHexString(absl::string_view(bytes.data(), bytes.size()));
}

}  // namespace

struct SampleSums::Batch {
  Batch(const BatchWalk& batch, const Options& options)
      : start_ns(std::max<int64_t>(batch.start_unix_ns(), 0)),
        end_ns(std::max(batch.end_unix_ns(), start_ns)),
        nodes(batch.stacks(), kNotAsked),
        spread(start_ns, batch.end_unix_ns(), options.from_unix_ns, options.to_unix_ns) {}

  const int64_t start_ns, end_ns;
  std::vector<uint32_t> nodes;  // Of stacks.
  EvenSpread spread;
  WalkedResource resource;
  uint32_t process = kNotAsked;
  std::optional<uint32_t> type;  // Of the profile; nullopt: there are too many.
  int64_t weight = 1;
};

SampleSums::SampleSums(Options options) : options_(options) {
  types_.push_back({.type = std::string(kCpu.type), .unit = std::string(kCpu.unit)});
}
SampleSums::~SampleSums() = default;
SampleSums::SampleSums(SampleSums&&) = default;

void SampleSums::ForgetBatch() {
  if (batch_ == nullptr) return;
  std::ranges::fill(batch_->nodes, kNotAsked);
  batch_->process = kNotAsked;
}

void SampleSums::Add(const BatchWalk& batch) {
  if (batch.samples() == 0) return;
  AddTimes(batch);
  batch_ = std::make_unique<Batch>(batch, options_);
  BeginBatch(batch);
  batch.Visit(
      [&](const WalkedResource& resource) {
        batch_->resource = resource;
        batch_->process = kNotAsked;
        if (host_name_ == 0) host_name_ = InternText(resource.host_name, true);
      },
      [&](const WalkedProfile& profile) { BeginProfile(profile); },
      [&](const WalkedSample& sample) { AddSample(batch, sample); });
  EndBatch();
  batch_.reset();
}

void SampleSums::CoverTime(int64_t start_unix_ns, int64_t end_unix_ns) {
  const int64_t start = std::max({start_unix_ns, options_.from_unix_ns, int64_t{0}});
  const int64_t end = std::min(end_unix_ns, options_.to_unix_ns);
  if (start > end) return;
  start_unix_ns_ = empty_ ? start : std::min(start_unix_ns_, start);
  end_unix_ns_ = empty_ ? end : std::max(end_unix_ns_, end);
  empty_ = false;
  Cover(start / 1'000'000, std::max(start, end - 1) / 1'000'000);
}

void SampleSums::AddTimes(const BatchWalk& batch) {
  CoverTime(batch.start_unix_ns(), batch.end_unix_ns());
  if (batch.start_unix_ns() >= options_.to_unix_ns || batch.end_unix_ns() < options_.from_unix_ns)
    return;
  // A little longer than a bucket is as good: batches are never sealed to the millisecond.
  if (!batch.timed()) Widen((batch.end_unix_ns() - batch.start_unix_ns()) / 1'000'000 / 8 * 7);
}

std::optional<uint32_t> SampleSums::TypeOf(const WalkedProfile& profile) {
  const auto found = std::ranges::find_if(types_, [&](const TypeSums& known) {
    return known.type == profile.type && known.unit == profile.unit;
  });
  if (found != types_.end()) return static_cast<uint32_t>(found - types_.begin());
  TypeSums fresh{.type = ToValidUtf8(profile.type), .unit = ToValidUtf8(profile.unit)};
  const auto as_text = std::ranges::find_if(types_, [&](const TypeSums& known) {
    return known.type == fresh.type && known.unit == fresh.unit;
  });
  if (as_text != types_.end()) return static_cast<uint32_t>(as_text - types_.begin());
  if (types_.size() >= kMaxTypes) return std::nullopt;
  const auto number = static_cast<uint32_t>(types_.size());
  fresh.overflow_thread = tables_.threads.Intern({.type = number}, true);
  types_.push_back(std::move(fresh));
  TypeIsNew();
  return number;
}

void SampleSums::BeginProfile(const WalkedProfile& profile) {
  batch_->type = TypeOf(profile);
  batch_->weight = 1;
  // What was counted at another period stands for more or less time; values of their own do not.
  if (batch_->type != kCpuType || profile.period_type != kCpu.period_type) return;
  TypeSums& cpu = types_[kCpuType];
  const PeriodWeight::Factors factors = cpu.weight.Next(static_cast<double>(profile.period));
  batch_->weight = factors.batch;
  if (factors.before == 1) return;
  Scale(kCpuType, factors.before);
  cpu.total = SaturatingMultiply(cpu.total, factors.before);
  cpu.overflowed = SaturatingMultiply(cpu.overflowed, factors.before);
}

void SampleSums::AddSample(const BatchWalk& batch, const WalkedSample& sample) {
  if (sample.total <= 0 || !batch_->type) return;
  const auto wanted = [&](int64_t time) {
    return Wanted(std::clamp(time, batch_->start_ns, batch_->end_ns));
  };
  const bool timed = !sample.timestamps_unix_ns.empty();
  if (timed ? std::ranges::none_of(sample.timestamps_unix_ns, wanted) : !batch_->spread.any())
    return;
  bool may_add = MayAdd();
  uint32_t thread = Thread(sample, may_add);
  uint32_t& known = batch_->nodes[sample.stack];
  if (known == kNotAsked) known = NodeOf(batch, sample.stack, may_add);
  uint32_t node = known;
  if (thread == kNoId || node == kNoId) {
    thread = types_[*batch_->type].overflow_thread;
    node = overflow_node_;
    may_add = true;
  }
  Added added{.type = *batch_->type,
              .stack = sample.stack,
              .command = batch_->resource.command,
              .sample = &sample};
  if (timed)
    AddTimed(sample, node, thread, may_add, &added);
  else
    AddSpread(sample, node, thread, may_add, &added);
  SampleIsDone(added);
}

void SampleSums::AddTimed(const WalkedSample& sample, uint32_t node, uint32_t thread, bool may_add,
                          Added* added) {
  const auto& times = sample.timestamps_unix_ns;
  const bool paired = sample.values.size() == times.size();
  // A count that is no multiple of its timestamps leaves its remainder to the first ones.
  const auto number = static_cast<int64_t>(times.size());
  int64_t remainder = sample.total % number;
  for (size_t i = 0; i < times.size(); ++i) {
    const int64_t value =
        paired ? sample.values[i] : sample.total / number + (remainder-- > 0 ? 1 : 0);
    const int64_t time = std::clamp(times[i], batch_->start_ns, batch_->end_ns);
    if (value <= 0 || !Wanted(time)) continue;
    AddValue(node, thread, time / 1'000'000, SaturatingMultiply(value, batch_->weight), may_add);
    added->value = SaturatingAdd(added->value, value);
    added->events = SaturatingAdd(added->events, sample.weighted ? 1 : value);
  }
}

void SampleSums::AddSpread(const WalkedSample& sample, uint32_t node, uint32_t thread, bool may_add,
                           Added* added) {
  batch_->spread.Split(sample.total, width_ms(), [&](int64_t time_ms, int64_t value) {
    AddValue(node, thread, time_ms, SaturatingMultiply(value, batch_->weight), may_add);
    added->value = SaturatingAdd(added->value, value);
  });
  added->events = sample.weighted ? sample.events : added->value;
}

void SampleSums::AddValue(uint32_t node, uint32_t thread, int64_t time_ms, int64_t value,
                          bool may_add) {
  TypeSums& sums = types_[*batch_->type];
  const bool added = node != overflow_node_ && AddRow(node, thread, time_ms, value, may_add);
  if (!added) {
    AddRow(overflow_node_, sums.overflow_thread, time_ms, value, true);
    sums.overflowed = SaturatingAdd(sums.overflowed, value);
  }
  sums.total = SaturatingAdd(sums.total, value);
}

uint32_t SampleSums::InternText(std::string_view text, bool may_add) {
  return tables_.strings.Intern(text, may_add);
}

uint32_t SampleSums::InternName(std::string_view text) {
  if (text.size() <= kLongestText) return InternText(text, true);
  return InternText(Concat(text.substr(0, kLongestText), "…"), true);
}

uint32_t SampleSums::Process(bool may_add) {
  const WalkedResource& resource = batch_->resource;
  const ViewProcess process{.pid = resource.pid,
                            .command = InternText(resource.command, may_add),
                            .executable = InternText(resource.executable, may_add),
                            .container = InternText(resource.container, may_add),
                            .service = InternText(resource.service, may_add),
                            .creation_time = InternText(resource.creation_time, may_add),
                            .cgroup = InternText(resource.cgroup, may_add),
                            .user = InternText(resource.user, may_add)};
  for (const uint32_t text : {process.command, process.executable, process.container,
                              process.service, process.creation_time, process.cgroup, process.user})
    if (text == kNoId) return kNoId;
  return tables_.processes.Intern(process, may_add);
}

uint32_t SampleSums::Thread(const WalkedSample& sample, bool may_add) {
  if (batch_->process == kNotAsked) batch_->process = Process(may_add);
  ViewThread thread{.process = batch_->process,
                    .name = InternText(sample.thread_name, may_add),
                    .tid = sample.tid,
                    .type = *batch_->type,
                    .wait = InternText(sample.wait, may_add)};
  if (thread.process == kNoId || thread.name == kNoId || thread.wait == kNoId) return kNoId;
  if (!options_.labels) return tables_.threads.Intern(thread, may_add);
  thread.labels = Labels(sample, may_add);
  const uint32_t labelled =
      thread.labels == kNoId ? kNoId : tables_.threads.Intern(thread, may_add);
  if (labelled != kNoId) return labelled;
  thread.labels = 0;  // Where there is no room, labels go first.
  return tables_.threads.Intern(thread, may_add);
}

// The link's ids first, then the attributes in the batch's order.
uint32_t SampleSums::Labels(const WalkedSample& sample, bool may_add) {
  uint32_t first = 0;
  const auto prepend = [&](std::string_view key, std::string_view text, int64_t number) {
    const ViewLabel label{.key = InternText(key, may_add),
                          .text = InternText(text, may_add),
                          .next = first,
                          .number = number};
    if (first == kNoId || label.key == kNoId || label.text == kNoId) {
      first = kNoId;
    } else {
      first = tables_.labels.Intern(label, may_add);
    }
  };
  for (size_t i = sample.attributes.size(); i-- > 0;) {
    const WalkedAttribute& attribute = sample.attributes[i];
    prepend(attribute.key, attribute.text, attribute.number);
  }
  if (!sample.span_id.empty()) prepend(kSpanIdLabel, Hex(sample.span_id), 0);
  if (!sample.trace_id.empty()) prepend(kTraceIdLabel, Hex(sample.trace_id), 0);
  return first;
}

std::vector<uint32_t> SampleSums::UsedTypes() const {
  std::vector<uint32_t> used;
  for (uint32_t type = 0; type < types_.size(); ++type)
    if (types_[type].total > 0) used.push_back(type);
  return used;
}

uint32_t SampleSums::DefaultType() const {
  const std::vector<uint32_t> used = UsedTypes();
  return used.empty() ? kCpuType : used[0];
}

std::optional<uint32_t> SampleSums::FindType(std::string_view name) const {
  const SampleType* const row = FindSampleTypeByName(name);
  for (uint32_t type = 0; type < types_.size(); ++type) {
    const TypeSums& sums = types_[type];
    if (row != nullptr ? sums.type == row->type && sums.unit == row->unit : sums.type == name)
      return type;
  }
  return std::nullopt;
}

}  // namespace stackray
