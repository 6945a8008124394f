#include "reporter/formats/page_profile.h"

#include <algorithm>

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
  explicit BatchIds(const BatchWalk& batch)
      : chains(batch.frames()),
        kinds(batch.frames(), FrameKind("", "", MarkerKind::kNone)),
        facts(batch.stacks()) {}

  // After the tables were renumbered.
  void Forget() {
    std::ranges::fill(chains, Chain{});
    frame_ids.clear();
  }

  std::vector<Chain> chains;
  std::vector<FrameKind> kinds;
  std::vector<StackFacts> facts;  // Of stacks.
  std::vector<uint32_t> frame_ids;
  std::vector<uint32_t> stack;  // Kept for their memory.
  WalkedFrame frame;
};

PageProfile::PageProfile(PageProfileOptions options)
    : SampleSums({.from_unix_ns = options.from_unix_ns, .to_unix_ns = options.to_unix_ns}),
      options_(options),
      rows_(options.first_bucket_ms, std::min(options.max_buckets, PageRows::kMostBuckets)),
      summaries_(1) {}
PageProfile::~PageProfile() = default;

void PageProfile::BeginBatch(const BatchWalk& batch) { ids_ = std::make_unique<BatchIds>(batch); }

void PageProfile::EndBatch() { ids_.reset(); }

void PageProfile::Scale(uint32_t type, int64_t factor) {
  rows_.Scale(factor, [&](uint32_t thread) { return threads()[thread].type == type; });
}

bool PageProfile::AddRow(uint32_t node, uint32_t thread, int64_t time_ms, int64_t value,
                         bool /*may_add*/) {
  rows_.Add(node, thread, time_ms, value);
  return true;
}

void PageProfile::SampleIsDone(const Added& added) {
  ProfileSummary& summary = summaries_[added.type];
  AddStack(ids_->facts[added.stack], added.events, added.command, &summary);
  summary.value = SaturatingAdd(summary.value, added.value);
  if (bytes() <= options_.max_bytes) return;
  Shrink();
  ids_->Forget();
  ForgetBatch();
}

uint32_t PageProfile::Intern(std::string_view text) {
  if (text.size() <= kLongestText) return InternText(text, true);
  return InternText(Concat(text.substr(0, kLongestText), "…"), true);
}

uint32_t PageProfile::NodeOf(const BatchWalk& batch, uint32_t stack, bool /*may_add*/) {
  batch.ReadStack(stack, &ids_->stack);
  uint32_t node = kRoot;
  StackFacts facts;
  for (auto location = ids_->stack.rbegin(); location != ids_->stack.rend(); ++location) {
    if (ids_->chains[*location].first == kNotAsked) ReadLocation(batch, *location);
    facts.Add(ids_->kinds[*location], ids_->stack.size() == 1);
    const BatchIds::Chain chain = ids_->chains[*location];
    for (uint32_t i = chain.first; i < chain.first + chain.count; ++i)
      node = tables_.nodes.Intern({node, ids_->frame_ids[i]}, true);
  }
  ids_->facts[stack] = facts;
  return node;
}

// As CallTree does it from a view.
void PageProfile::ReadLocation(const BatchWalk& batch, uint32_t location) {
  WalkedFrame& frame = ids_->frame;
  batch.ReadFrame(location, &frame);
  ids_->kinds[location] = FrameKind(frame);
  const bool nameless = frame.lines.size() == 1 && frame.lines[0].function.empty();
  if (frame.lines.empty() || nameless) frame.lines.assign(1, {});
  const auto first = static_cast<uint32_t>(ids_->frame_ids.size());
  for (size_t i = frame.lines.size(); i-- > 0;) {
    const WalkedLine& line = frame.lines[i];
    const bool has_file = !frame.mapping_path.empty();
    const CallFrame call{
        .name = line.function.empty()
                    ? Intern(AddressName(frame.mapping_path, frame.address, frame.function_start))
                    : Intern(line.function),
        .type = Intern(frame.type),
        .file = Intern(has_file ? PathBaseName(frame.mapping_path) : line.file),
        .inlined = i + 1 < frame.lines.size() ? 1u : 0u,
        .source = Intern(line.file),
        .line = static_cast<uint32_t>(std::clamp<int64_t>(line.line, 0, INT32_MAX))};
    ids_->frame_ids.push_back(frames_.Intern(call, true));
  }
  ids_->chains[location] = {first, static_cast<uint32_t>(frame.lines.size())};
}

ProfileSummary PageProfile::summary() const {
  std::vector<ProfileSummary> parts;
  for (uint32_t type = 0; type < summaries_.size(); ++type) {
    parts.push_back(summaries_[type]);
    parts.back().type = types()[type].type;
    parts.back().unit = types()[type].unit;
  }
  return JoinSummaries(std::move(parts));
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
