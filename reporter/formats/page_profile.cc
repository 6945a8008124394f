#include "reporter/formats/page_profile.h"

#include <algorithm>

#include "reporter/formats/even_spread.h"
#include "reporter/formats/text.h"

namespace stackray {
namespace {

constexpr uint32_t kNotAsked = kNoId - 1;
constexpr size_t kLastShare = 1 << 16;  // Of the nodes: then all but nothing is left.
constexpr size_t kDesperateShare = 64;  // From here on times go too.
constexpr int64_t kFewestBuckets = 60;  // Before anything else is given up.

}  // namespace

struct PageProfile::BatchIds {
  struct Chain {  // In `frame_ids`: a location's frames, outermost first.
    uint32_t first = kNotAsked, count = 0;
  };
  BatchIds(const BatchWalk& batch, const PageProfileOptions& options)
      : spread(std::max<int64_t>(batch.start_unix_ns(), 0), batch.end_unix_ns(),
               options.from_unix_ns, options.to_unix_ns),
        chains(batch.frames()),
        kinds(batch.frames(), FrameKind("", "", MarkerKind::kNone)),
        nodes(batch.stacks(), kNotAsked),
        facts(batch.stacks()) {}

  // After the tables were renumbered.
  void Forget() {
    std::ranges::fill(chains, Chain{});
    std::ranges::fill(nodes, kNotAsked);
    frame_ids.clear();
    process = kNotAsked;
  }

  EvenSpread spread;
  std::vector<Chain> chains;
  std::vector<FrameKind> kinds;
  std::vector<uint32_t> nodes;  // Of stacks.
  std::vector<StackFacts> facts;
  std::vector<uint32_t> frame_ids;
  WalkedResource resource;
  uint32_t process = kNotAsked;
  int64_t weight = 1;
  std::vector<uint32_t> stack;  // Kept for their memory.
  WalkedFrame frame;
};

PageProfile::PageProfile(PageProfileOptions options)
    : options_(options),
      rows_(options.first_bucket_ms, std::min(options.max_buckets, PageRows::kMostBuckets)) {}

void PageProfile::Add(const BatchWalk& batch) {
  AddTimes(batch);
  BatchIds ids(batch, options_);
  const PeriodWeight::Factors factors = weight_.Next(batch.period_ns());
  if (factors.before != 1) rows_.Scale(factors.before);
  ids.weight = factors.batch;
  batch.Visit(
      [&](const WalkedResource& resource) {
        ids.resource = resource;
        ids.process = kNotAsked;
        if (host_name_ == 0) host_name_ = Intern(resource.host_name);
      },
      [&](const WalkedSample& sample) {
        if (sample.count > 0) AddSample(batch, sample, &ids);
        if (bytes() <= options_.max_bytes) return;
        Shrink();
        ids.Forget();
      });
}

void PageProfile::AddTimes(const BatchWalk& batch) {
  const int64_t start = std::max({batch.start_unix_ns(), options_.from_unix_ns, int64_t{0}});
  const int64_t end = std::min(batch.end_unix_ns(), options_.to_unix_ns);
  if (start > end) return;
  end_unix_ns_ = empty_ ? end : std::max(end_unix_ns_, end);
  empty_ = false;
  rows_.Cover(start / 1'000'000, std::max(start, end - 1) / 1'000'000);
  // A little longer than a bucket is as good: batches are never sealed to the millisecond.
  if (!batch.timed())
    rows_.Widen((batch.end_unix_ns() - batch.start_unix_ns()) / 1'000'000 / 8 * 7);
}

void PageProfile::AddSample(const BatchWalk& batch, const WalkedSample& sample, BatchIds* ids) {
  const int64_t start = std::max<int64_t>(batch.start_unix_ns(), 0);
  const int64_t end = std::max(batch.end_unix_ns(), start);
  const auto& times = sample.timestamps_unix_ns;
  const auto wanted = [&](int64_t time) { return Wanted(std::clamp(time, start, end)); };
  if (times.empty() ? !ids->spread.any() : std::ranges::none_of(times, wanted)) return;
  const uint32_t thread = Thread(sample, ids);
  const uint32_t node = Node(batch, sample.stack, ids);
  int64_t added = 0;
  if (times.empty()) {
    ids->spread.Split(sample.count, bucket_ms(), [&](int64_t time_ms, int64_t count) {
      rows_.Add(node, thread, time_ms, SaturatingMultiply(count, ids->weight));
      added = SaturatingAdd(added, count);
    });
  }
  // A count that is no multiple of its timestamps leaves its remainder to the first ones.
  const auto number = std::max<int64_t>(static_cast<int64_t>(times.size()), 1);
  int64_t remainder = sample.count % number;
  for (const int64_t time : times) {
    const int64_t count = sample.count / number + (remainder-- > 0 ? 1 : 0);
    if (count == 0 || !wanted(time)) continue;
    rows_.Add(node, thread, std::clamp(time, start, end) / 1'000'000,
              SaturatingMultiply(count, ids->weight));
    added = SaturatingAdd(added, count);
  }
  AddStack(ids->facts[sample.stack], added, ids->resource.command, &summary_);
}

uint32_t PageProfile::Intern(std::string_view text) {
  if (text.size() <= kLongestText) return tables_.strings.Intern(text, true);
  return tables_.strings.Intern(Concat(text.substr(0, kLongestText), "…"), true);
}

uint32_t PageProfile::Node(const BatchWalk& batch, uint32_t stack, BatchIds* ids) {
  uint32_t& known = ids->nodes[stack];
  if (known != kNotAsked) return known;
  batch.ReadStack(stack, &ids->stack);
  uint32_t node = ProfileView::kRoot;
  StackFacts facts;
  for (auto location = ids->stack.rbegin(); location != ids->stack.rend(); ++location) {
    if (ids->chains[*location].first == kNotAsked) ReadLocation(batch, *location, ids);
    facts.Add(ids->kinds[*location], ids->stack.size() == 1);
    const BatchIds::Chain chain = ids->chains[*location];
    for (uint32_t i = chain.first; i < chain.first + chain.count; ++i)
      node = tables_.nodes.Intern({node, ids->frame_ids[i]}, true);
  }
  ids->facts[stack] = facts;
  return known = node;
}

// As CallTree does it from a view.
void PageProfile::ReadLocation(const BatchWalk& batch, uint32_t location, BatchIds* ids) {
  WalkedFrame& frame = ids->frame;
  batch.ReadFrame(location, &frame);
  ids->kinds[location] = FrameKind(
      frame.type, frame.lines.empty() ? std::string_view() : frame.lines[0].function, frame.marker);
  const bool nameless = frame.lines.size() == 1 && frame.lines[0].function.empty();
  if (frame.lines.empty() || nameless) frame.lines.assign(1, {});
  const auto first = static_cast<uint32_t>(ids->frame_ids.size());
  for (size_t i = frame.lines.size(); i-- > 0;) {
    const WalkedLine& line = frame.lines[i];
    const bool has_file = !frame.mapping_path.empty();
    const CallFrame call{
        .name = line.function.empty()
                    ? Intern(AddressName(frame.mapping_path, frame.address, frame.function_start))
                    : Intern(line.function),
        .type = Intern(frame.type),
        .file = Intern(has_file ? PathBaseName(frame.mapping_path) : line.file),
        .inlined = i + 1 < frame.lines.size() ? 1u : 0u};
    ids->frame_ids.push_back(tables_.frames.Intern(call, true));
  }
  ids->chains[location] = {first, static_cast<uint32_t>(frame.lines.size())};
}

uint32_t PageProfile::Thread(const WalkedSample& sample, BatchIds* ids) {
  if (ids->process == kNotAsked) {
    const WalkedResource& resource = ids->resource;
    ids->process = tables_.processes.Intern({.pid = resource.pid,
                                             .command = Intern(resource.command),
                                             .executable = Intern(resource.executable),
                                             .container = Intern(resource.container),
                                             .creation_time = Intern(resource.creation_time)},
                                            true);
  }
  return tables_.threads.Intern(
      {.process = ids->process, .name = Intern(sample.thread_name), .tid = sample.tid}, true);
}

void PageProfile::Shrink() {
  ++shrinks_;
  const size_t enough = options_.max_bytes / 4 * 3;
  rows_.Merge();
  if (rows_.bytes() > options_.max_bytes / 4 && bucket_count() > kFewestBuckets) rows_.Coarsen();
  for (size_t share = 2; bytes() > enough && share <= kLastShare; share *= 2) {
    Reduce(share);
    if (share >= kDesperateShare) rows_.Coarsen();
  }
}

}  // namespace stackray
