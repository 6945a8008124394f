#include "reporter/formats/profile_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "profile/frame.h"

namespace stackray {
namespace {

constexpr uint32_t kNotAsked = kNoId - 1;

}  // namespace

struct ProfileView::BatchIds {
  std::vector<uint32_t> locations;
  std::vector<uint32_t> stack;  // Kept for their memory.
  WalkedFrame frame;
};

ProfileView::ProfileView(ViewOptions options)
    : SampleSums(
          {.from_unix_ns = options.from_unix_ns, .to_unix_ns = options.to_unix_ns, .labels = true}),
      options_(options),
      buckets_(options.first_bucket_ms, options.max_buckets, options.max_rows) {
  WalkedFrame marker;
  marker.type = FrameTypeName(FrameType::kMarker);
  marker.lines.push_back({.function = "[truncated: view full]"});
  overflow_node_ = tables_.nodes.Intern({kRoot, InternLocation(marker, true)}, true);
}
ProfileView::~ProfileView() = default;
ProfileView::ProfileView(ProfileView&&) = default;

void ProfileView::BeginBatch(const BatchWalk& batch) {
  ids_ = std::make_unique<BatchIds>();
  ids_->locations.assign(batch.frames(), kNotAsked);
}

void ProfileView::EndBatch() { ids_.reset(); }

void ProfileView::Scale(uint32_t type, int64_t factor) {
  buckets_.Scale(factor, [&](uint32_t thread) { return threads()[thread].type == type; });
}

uint32_t ProfileView::NodeOf(const BatchWalk& batch, uint32_t stack, bool may_add) {
  batch.ReadStack(stack, &ids_->stack);
  uint32_t node = kRoot;
  for (auto frame = ids_->stack.rbegin(); frame != ids_->stack.rend(); ++frame) {
    uint32_t& location = ids_->locations[*frame];
    if (location == kNotAsked) {
      batch.ReadFrame(*frame, &ids_->frame);
      location = InternLocation(ids_->frame, may_add);
    }
    if (location == kNoId) return kNoId;
    node = tables_.nodes.Intern({node, location}, may_add);
    if (node == kNoId) return kNoId;
  }
  return node;
}

uint32_t ProfileView::InternLocation(const WalkedFrame& frame, bool may_add) {
  ViewMapping mapping{InternText(frame.mapping_path, may_add), InternText(frame.build_id, may_add)};
  ViewLocation location{.type = InternText(frame.type, may_add),
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

uint32_t ProfileView::InternLines(const std::vector<WalkedLine>& lines, bool may_add) {
  uint32_t next = 0;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    // A single line that says nothing is no name.
    if (lines.size() == 1 && line->function.empty() && line->system_name.empty()) return 0;
    const ViewLine item{InternText(line->function, may_add), InternText(line->system_name, may_add),
                        InternText(line->file, may_add), next, line->line};
    if (item.function == kNoId || item.system_name == kNoId || item.file == kNoId) return kNoId;
    next = lines_.Intern(item, may_add);
    if (next == kNoId) return kNoId;
  }
  return next;
}

std::vector<ViewRow> ProfileView::TotalRows() const {
  std::vector<ViewRow> rows = Rows();
  for (ViewRow& row : rows) row.bucket = 0;
  SortAndMerge(&rows);
  return rows;
}

std::string ProfileView::ProcessName(uint32_t process) const {
  const ViewProcess& item = processes()[process];
  if (item.command != 0) return std::string(Text(item.command));
  if (item.executable != 0) return std::string(PathBaseName(Text(item.executable)));
  return item.pid == 0 ? "[host]" : fmt::format("[pid {}]", item.pid);
}

size_t ProfileView::bytes() const {
  return tables_.bytes() + lines_.bytes() + mappings_.bytes() + locations_.bytes() +
         buckets_.bytes();
}

}  // namespace stackray
