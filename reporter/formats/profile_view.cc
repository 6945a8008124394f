#include "reporter/formats/profile_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "reporter/formats/even_spread.h"
#include "reporter/formats/resource_keys.h"

namespace stackray {
namespace {

constexpr uint32_t kNotAsked = kNoId - 1;

int64_t EndOf(const DecodedBatch& batch) {
  return SaturatingAdd(std::max<int64_t>(batch.start_unix_ns, 0),
                       std::max<int64_t>(batch.duration_ns, 0));
}

}  // namespace

struct ProfileView::BatchIds {
  BatchIds(const DecodedBatch& batch, const ViewOptions& options)
      : locations(batch.frames.size(), kNotAsked),
        processes(batch.resources.size(), kNotAsked),
        spread(std::max<int64_t>(batch.start_unix_ns, 0), EndOf(batch), options.from_unix_ns,
               options.to_unix_ns) {}
  std::vector<uint32_t> locations, processes;
  EvenSpread spread;
  int64_t weight = 1;
};

ProfileView::ProfileView(ViewOptions options)
    : options_(options), buckets_(options.first_bucket_ms, options.max_buckets, options.max_rows) {
  DecodedFrame marker{.type = "abort-marker"};
  marker.lines.push_back({.function = "[truncated: view full]"});
  overflow_node_ = nodes_.Intern({kRoot, InternLocation(marker, true)}, true);
}

void ProfileView::Add(const DecodedBatch& batch) {
  if (batch.samples.empty()) return;
  AddTimes(batch);
  if (host_name_ == 0 && !batch.resources.empty()) {
    host_name_ = strings_.Intern(FindAttribute(batch.resources[0], kHostName), true);
  }
  BatchIds ids(batch, options_);
  const PeriodWeight::Factors factors = weight_.Next(batch.period_ns);
  if (factors.before != 1) ScaleCounts(factors.before);
  ids.weight = factors.batch;
  for (const DecodedSample& sample : batch.samples) AddSample(batch, sample, &ids);
}

void ProfileView::ScaleCounts(int64_t factor) {
  buckets_.Scale(factor);
  samples_ = SaturatingMultiply(samples_, factor);
  overflowed_ = SaturatingMultiply(overflowed_, factor);
}

void ProfileView::AddTimes(const DecodedBatch& batch) {
  const int64_t start = std::max(batch.start_unix_ns, options_.from_unix_ns);
  const int64_t end = std::min(EndOf(batch), options_.to_unix_ns);
  if (start > end) return;
  start_unix_ns_ = empty_ ? start : std::min(start_unix_ns_, start);
  end_unix_ns_ = empty_ ? end : std::max(end_unix_ns_, end);
  empty_ = false;
  buckets_.Cover(start / 1'000'000, std::max(start, end - 1) / 1'000'000);
  const bool timed = std::any_of(batch.samples.begin(), batch.samples.end(),
                                 [](const auto& s) { return !s.timestamps_unix_ns.empty(); });
  // A little longer than a bucket is as good: batches are never sealed to the millisecond.
  if (!timed) buckets_.Widen(batch.duration_ns / 1'000'000 / 8 * 7);
}

void ProfileView::AddSample(const DecodedBatch& batch, const DecodedSample& sample, BatchIds* ids) {
  if (sample.count <= 0) return;
  const bool may_add = bytes() < options_.max_bytes;
  const uint32_t thread = InternThread(batch, sample, ids, may_add);
  const uint32_t node = InternNode(batch, sample, ids, may_add);
  if (thread == kNoId || node == kNoId) {
    AddCounts(batch, sample, ids, overflow_node_, 0, true);
  } else {
    AddCounts(batch, sample, ids, node, thread, may_add);
  }
}

void ProfileView::AddCounts(const DecodedBatch& batch, const DecodedSample& sample, BatchIds* ids,
                            uint32_t node, uint32_t thread, bool may_add) {
  const auto& times = sample.timestamps_unix_ns;
  const int64_t start = std::max<int64_t>(batch.start_unix_ns, 0);
  if (times.empty()) {
    ids->spread.Split(sample.count, buckets_.width_ms(), [&](int64_t time_ms, int64_t count) {
      AddCount(node, thread, std::max(time_ms * 1'000'000, options_.from_unix_ns),
               SaturatingMultiply(count, ids->weight), may_add);
    });
    return;
  }
  // A count that is no multiple of its timestamps leaves its remainder to the first ones.
  const auto number = static_cast<int64_t>(times.size());
  int64_t remainder = sample.count % number;
  for (const int64_t time : times) {
    const int64_t count = sample.count / number + (remainder-- > 0 ? 1 : 0);
    if (count > 0)
      AddCount(node, thread, std::clamp(time, start, EndOf(batch)),
               SaturatingMultiply(count, ids->weight), may_add);
  }
}

void ProfileView::AddCount(uint32_t node, uint32_t thread, int64_t time_ns, int64_t count,
                           bool may_add) {
  if (time_ns < options_.from_unix_ns || time_ns >= options_.to_unix_ns) return;
  const int64_t time_ms = time_ns / 1'000'000;
  const bool added = node != overflow_node_ && buckets_.Add(node, thread, time_ms, count, may_add);
  if (!added) {
    buckets_.Add(overflow_node_, 0, time_ms, count, true);
    overflowed_ = SaturatingAdd(overflowed_, count);
  }
  samples_ = SaturatingAdd(samples_, count);
}

uint32_t ProfileView::InternNode(const DecodedBatch& batch, const DecodedSample& sample,
                                 BatchIds* ids, bool may_add) {
  uint32_t node = kRoot;
  for (auto frame = sample.frames.rbegin(); frame != sample.frames.rend(); ++frame) {
    if (*frame < 0 || static_cast<size_t>(*frame) >= batch.frames.size()) continue;
    uint32_t& location = ids->locations[*frame];
    if (location == kNotAsked) location = InternLocation(batch.frames[*frame], may_add);
    if (location == kNoId) return kNoId;
    node = nodes_.Intern({node, location}, may_add);
    if (node == kNoId) return kNoId;
  }
  return node;
}

uint32_t ProfileView::InternLocation(const DecodedFrame& frame, bool may_add) {
  ViewMapping mapping{strings_.Intern(frame.mapping_path, may_add),
                      strings_.Intern(frame.build_id, may_add)};
  ViewLocation location{.type = strings_.Intern(frame.type, may_add),
                        .first_line = InternLines(frame.lines, may_add),
                        .address = frame.address,
                        .function_start = frame.function_start};
  if (mapping.path == kNoId || mapping.build_id == kNoId || location.type == kNoId ||
      location.first_line == kNoId) {
    return kNoId;
  }
  location.mapping = mappings_.Intern(mapping, may_add);
  return location.mapping == kNoId ? kNoId : locations_.Intern(location, may_add);
}

uint32_t ProfileView::InternLines(const std::vector<DecodedLine>& lines, bool may_add) {
  uint32_t next = 0;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    // A single line that says nothing is no name.
    if (lines.size() == 1 && line->function.empty() && line->system_name.empty()) return 0;
    const ViewLine item{strings_.Intern(line->function, may_add),
                        strings_.Intern(line->system_name, may_add),
                        strings_.Intern(line->file, may_add), next, line->line};
    if (item.function == kNoId || item.system_name == kNoId || item.file == kNoId) return kNoId;
    next = lines_.Intern(item, may_add);
    if (next == kNoId) return kNoId;
  }
  return next;
}

uint32_t ProfileView::InternThread(const DecodedBatch& batch, const DecodedSample& sample,
                                   BatchIds* ids, bool may_add) {
  ViewThread thread;
  if (sample.resource >= 0 && static_cast<size_t>(sample.resource) < batch.resources.size()) {
    uint32_t& process = ids->processes[sample.resource];
    if (process == kNotAsked) process = InternProcess(batch.resources[sample.resource], may_add);
    thread.process = process;
  }
  thread.tid = sample.tid;
  thread.name = strings_.Intern(sample.thread_name, may_add);
  if (thread.process == kNoId || thread.name == kNoId) return kNoId;
  return threads_.Intern(thread, may_add);
}

uint32_t ProfileView::InternProcess(const DecodedResource& resource, bool may_add) {
  ViewProcess process;
  const std::string_view pid = FindAttribute(resource, kProcessPid);
  std::from_chars(pid.data(), pid.data() + pid.size(), process.pid);
  std::string_view executable = FindAttribute(resource, kProcessExecutablePath);
  if (executable.empty()) executable = FindAttribute(resource, kProcessExecutableName);
  process.command = strings_.Intern(FindAttribute(resource, kProcessCommand), may_add);
  process.executable = strings_.Intern(executable, may_add);
  process.container = strings_.Intern(FindAttribute(resource, kContainerId), may_add);
  process.creation_time = strings_.Intern(FindAttribute(resource, kProcessCreationTime), may_add);
  if (process.command == kNoId || process.executable == kNoId || process.container == kNoId ||
      process.creation_time == kNoId) {
    return kNoId;
  }
  return processes_.Intern(process, may_add);
}

std::vector<ViewRow> ProfileView::TotalRows() const {
  std::vector<ViewRow> rows = Rows();
  for (ViewRow& row : rows) row.bucket = 0;
  SortAndMerge(&rows);
  return rows;
}

std::string ProfileView::ProcessName(uint32_t process) const {
  const ViewProcess& item = processes_[process];
  if (item.command != 0) return std::string(Text(item.command));
  if (item.executable != 0) return std::string(PathBaseName(Text(item.executable)));
  return item.pid == 0 ? "[host]" : fmt::format("[pid {}]", item.pid);
}

size_t ProfileView::bytes() const {
  return strings_.bytes() + lines_.bytes() + mappings_.bytes() + locations_.bytes() +
         nodes_.bytes() + processes_.bytes() + threads_.bytes() + buckets_.bytes();
}

}  // namespace stackray
