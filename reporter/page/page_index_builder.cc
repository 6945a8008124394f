#include "reporter/page/page_index_builder.h"

#include <algorithm>
#include <tuple>

#include "reporter/attribute_names.h"
#include "reporter/formats/sample_filter.h"
#include "reporter/page/index_tree.h"
#include "reporter/page/page_index.h"

namespace stackray {
namespace {

auto PlaceOf(const IndexRow& row) { return std::tuple(row.thread, row.node, row.second); }

}  // namespace

PageIndexBuilder::PageIndexBuilder() : SampleSums({}), summaries_(1) {}
PageIndexBuilder::~PageIndexBuilder() = default;

void PageIndexBuilder::BeginBatch(const BatchWalk& batch) { stacks_.emplace(batch); }

void PageIndexBuilder::EndBatch() { stacks_.reset(); }

void PageIndexBuilder::Scale(uint32_t type, int64_t factor) {
  for (IndexRow& row : rows_)
    if (threads()[row.thread].type == type) row.count = SaturatingMultiply(row.count, factor);
}

bool PageIndexBuilder::AddRow(uint32_t node, uint32_t thread, int64_t time_ms, int64_t value,
                              bool /*may_add*/) {
  if (value <= 0) return true;
  if (rows_.size() >= merge_at_) MergeRows();
  rows_.push_back({thread, node, time_ms / 1000, value});
  return true;
}

void PageIndexBuilder::MergeRows() {
  std::ranges::sort(rows_, {}, PlaceOf);
  size_t kept = 0;
  for (const IndexRow& row : rows_) {
    if (kept > 0 && PlaceOf(rows_[kept - 1]) == PlaceOf(row))
      rows_[kept - 1].count = SaturatingAdd(rows_[kept - 1].count, row.count);
    else
      rows_[kept++] = row;
  }
  rows_.resize(kept);
  merge_at_ = std::max(merge_at_, kept * 2);
}

void PageIndexBuilder::SampleIsDone(const Added& added) {
  ProfileSummary& summary = summaries_[added.type];
  AddStack(stacks_->facts(added.stack), added.events, added.command, &summary);
  summary.value = SaturatingAdd(summary.value, added.value);
  AddLabels(*added.sample);
}

void PageIndexBuilder::AddLabels(const WalkedSample& sample) {
  if (!sample.trace_id.empty()) AddLabel(kTraceIdLabel);
  if (!sample.span_id.empty()) AddLabel(kSpanIdLabel);
  for (const WalkedAttribute& attribute : sample.attributes)
    if (attribute.key.starts_with(kLabelPrefix))
      AddLabel(attribute.key.substr(kLabelPrefix.size()));
}

void PageIndexBuilder::AddLabel(std::string_view name) {
  if (labels_.size() >= kMostIndexLabels || name.empty() || name.size() > kLongestIndexLabel)
    return;
  const uint32_t text = InternText(name, true);
  if (known_labels_.insert(text).second) labels_.push_back(text);
}

uint32_t PageIndexBuilder::NodeOf(const BatchWalk& batch, uint32_t stack, bool /*may_add*/) {
  uint32_t node = kRoot;
  size_t depth = 0;
  stacks_->Read(
      batch, stack,
      [this](const BatchStacks::Call& call) {
        const PageFunction function{.name = InternName(call.name),
                                    .type = InternName(call.type),
                                    .file = InternName(call.file),
                                    .inlined = call.inlined ? 1u : 0u};
        return frames_.Intern({.function = functions_.Intern(function, true),
                               .source = InternName(call.source),
                               .line = call.line},
                              true);
      },
      [&](uint32_t frame) {
        if (++depth < kDeepestIndexNode) node = tables_.nodes.Intern({node, frame}, true);
      });
  return node;
}

std::string PageIndexBuilder::Finish() {
  MergeRows();
  return EncodePageIndex(*this);
}

}  // namespace stackray
