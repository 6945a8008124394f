#include "reporter/formats/page_profile.h"

#include <algorithm>

namespace stackray {
namespace {

constexpr size_t kLastShare = 1 << 16;  // Of the nodes: then all but nothing is left.
constexpr size_t kDesperateShare = 64;  // From here on times go too.
constexpr int64_t kFewestBuckets = 60;  // Before anything else is given up.

}  // namespace

PageProfile::PageProfile(PageProfileOptions options)
    : SampleSums({.from_unix_ns = options.from_unix_ns, .to_unix_ns = options.to_unix_ns}),
      options_(options),
      rows_(options.first_bucket_ms, std::min(options.max_buckets, PageRows::kMostBuckets)),
      summaries_(1) {}
PageProfile::~PageProfile() = default;

void PageProfile::BeginBatch(const BatchWalk& batch) { stacks_.emplace(batch); }

void PageProfile::EndBatch() { stacks_.reset(); }

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
  AddStack(stacks_->facts(added.stack), added.events, added.command, &summary);
  summary.value = SaturatingAdd(summary.value, added.value);
  if (bytes() <= options_.max_bytes) return;
  Shrink();
  stacks_->Forget();
  ForgetBatch();
}

uint32_t PageProfile::NodeOf(const BatchWalk& batch, uint32_t stack, bool /*may_add*/) {
  uint32_t node = kRoot;
  stacks_->Read(
      batch, stack,
      [this](const BatchStacks::Call& call) {
        const CallFrame frame{.name = InternName(call.name),
                              .type = InternName(call.type),
                              .file = InternName(call.file),
                              .inlined = call.inlined ? 1u : 0u,
                              .source = InternName(call.source),
                              .line = call.line};
        return frames_.Intern(frame, true);
      },
      [&](uint32_t frame) {
        node = tables_.nodes.Intern({node, frame}, true);
      });
  return node;
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
