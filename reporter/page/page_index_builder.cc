#include "reporter/page/page_index_builder.h"

#include <algorithm>
#include <tuple>

#include "reporter/formats/text.h"
#include "reporter/page/index_tree.h"

namespace stackray {
namespace {

constexpr uint32_t kNotAsked = kNoId - 1;

auto PlaceOf(const IndexRow& row) { return std::tuple(row.thread, row.node, row.second); }

}  // namespace

struct PageIndexBuilder::BatchIds {
  struct Chain {  // In `frame_ids`: a location's frames, outermost first.
    uint32_t first = kNotAsked, count = 0;
  };
  explicit BatchIds(const BatchWalk& batch)
      : chains(batch.frames()),
        kinds(batch.frames(), FrameKind("", "", MarkerKind::kNone)),
        facts(batch.stacks()) {}

  std::vector<Chain> chains;
  std::vector<FrameKind> kinds;
  std::vector<StackFacts> facts;  // Of stacks.
  std::vector<uint32_t> frame_ids;
  std::vector<uint32_t> stack;  // Kept for their memory.
  WalkedFrame frame;
};

PageIndexBuilder::PageIndexBuilder() : SampleSums({}), summaries_(1) {}
PageIndexBuilder::~PageIndexBuilder() = default;

void PageIndexBuilder::BeginBatch(const BatchWalk& batch) {
  ids_ = std::make_unique<BatchIds>(batch);
}

void PageIndexBuilder::EndBatch() { ids_.reset(); }

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
  AddStack(ids_->facts[added.stack], added.events, added.command, &summary);
  summary.value = SaturatingAdd(summary.value, added.value);
}

uint32_t PageIndexBuilder::Intern(std::string_view text) {
  if (text.size() <= kLongestText) return InternText(text, true);
  return InternText(Concat(text.substr(0, kLongestText), "…"), true);
}

uint32_t PageIndexBuilder::NodeOf(const BatchWalk& batch, uint32_t stack, bool /*may_add*/) {
  batch.ReadStack(stack, &ids_->stack);
  uint32_t node = kRoot;
  StackFacts facts;
  size_t depth = 0;
  for (auto location = ids_->stack.rbegin(); location != ids_->stack.rend(); ++location) {
    if (ids_->chains[*location].first == kNotAsked) ReadLocation(batch, *location);
    facts.Add(ids_->kinds[*location], ids_->stack.size() == 1);
    const BatchIds::Chain chain = ids_->chains[*location];
    for (uint32_t i = chain.first; i < chain.first + chain.count; ++i)
      if (++depth < kDeepestIndexNode)
        node = tables_.nodes.Intern({node, ids_->frame_ids[i]}, true);
  }
  ids_->facts[stack] = facts;
  return node;
}

// As CallTree does it from a view.
void PageIndexBuilder::ReadLocation(const BatchWalk& batch, uint32_t location) {
  WalkedFrame& frame = ids_->frame;
  batch.ReadFrame(location, &frame);
  ids_->kinds[location] = FrameKind(frame);
  const bool nameless = frame.lines.size() == 1 && frame.lines[0].function.empty();
  if (frame.lines.empty() || nameless) frame.lines.assign(1, {});
  const auto first = static_cast<uint32_t>(ids_->frame_ids.size());
  for (size_t i = frame.lines.size(); i-- > 0;) {
    const WalkedLine& line = frame.lines[i];
    const bool has_file = !frame.mapping_path.empty();
    const PageFunction function{
        .name = line.function.empty()
                    ? Intern(AddressName(frame.mapping_path, frame.address, frame.function_start))
                    : Intern(line.function),
        .type = Intern(frame.type),
        .file = Intern(has_file ? PathBaseName(frame.mapping_path) : line.file),
        .inlined = i + 1 < frame.lines.size() ? 1u : 0u};
    const int64_t number = std::clamp<int64_t>(line.line, 0, INT32_MAX);
    ids_->frame_ids.push_back(frames_.Intern({.function = functions_.Intern(function, true),
                                              .source = Intern(line.file),
                                              .line = static_cast<uint32_t>(number)},
                                             true));
  }
  ids_->chains[location] = {first, static_cast<uint32_t>(frame.lines.size())};
}

std::string PageIndexBuilder::Finish() {
  MergeRows();
  return EncodePageIndex(*this);
}

}  // namespace stackray
