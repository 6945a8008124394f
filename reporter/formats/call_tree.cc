#include "reporter/formats/call_tree.h"

#include <algorithm>
#include <vector>

#include "reporter/attribute_names.h"
#include "reporter/formats/sample_filter.h"

namespace stackray {

std::vector<ViewRow> CallTree::RowsOf(const ProfileView& view, uint32_t type) {
  std::vector<ViewRow> rows = view.Rows();
  std::erase_if(rows, [&](const ViewRow& row) { return view.threads()[row.thread].type != type; });
  return rows;
}

std::vector<ViewRow> CallTree::Wider(std::vector<ViewRow> rows, int64_t buckets_in_one) {
  if (buckets_in_one <= 1) return rows;
  for (ViewRow& row : rows) row.bucket /= buckets_in_one;
  SortAndMerge(&rows);
  return rows;
}

CallTree::CallTree(const ProfileView& view, std::vector<ViewRow> rows, bool waits,
                   CallTreeDetail detail)
    : view_(view), lines_(detail.lines), rows_(std::move(rows)) {
  const std::vector<ViewNode>& view_nodes = view.nodes();
  std::vector<bool> used(view_nodes.size());
  for (const ViewRow& row : rows_) used[row.node] = true;
  for (size_t i = view_nodes.size() - 1; i > 0; --i) {
    if (used[i]) used[view_nodes[i].parent] = true;
  }
  std::vector<uint32_t> node_of(view_nodes.size());
  for (size_t i = 1; i < view_nodes.size(); ++i) {
    if (!used[i]) continue;
    node_of[i] = AddLocation(node_of[view_nodes[i].parent], view.locations()[view_nodes[i].frame]);
  }
  for (ViewRow& row : rows_) row.node = node_of[row.node];
  MergeThreads(waits, detail.labels);
  SortAndMerge(&rows_);
}

// Threads that differ in nothing else become the first of them.
void CallTree::MergeThreads(bool keep_waits, bool keep_labels) {
  const std::vector<ViewThread>& threads = view_.threads();
  keep_labels = keep_labels && view_.labels().size() > 1;
  if (keep_labels) labels_of_.resize(threads.size());
  InternTable<ViewThread> plain;
  std::vector<uint32_t> first_of, plain_of(threads.size());
  for (uint32_t id = 0; id < threads.size(); ++id) {
    ViewThread thread = threads[id];
    thread.labels = keep_labels ? LabelsFrom(thread.labels) : 0;
    if (keep_labels) labels_of_[id] = thread.labels;
    if (!keep_waits) thread.wait = 0;
    const uint32_t number = plain.Intern(thread, true);
    if (number >= first_of.size()) first_of.resize(number + 1, id);
    plain_of[id] = first_of[number];
  }
  for (ViewRow& row : rows_) row.thread = plain_of[row.thread];
}

// Attributes of samples say other things, too.
uint32_t CallTree::LabelsFrom(uint32_t first) {
  std::vector<ViewLabel> kept;
  for (uint32_t id = first; id != 0; id = view_.labels()[id].next) {
    const ViewLabel& label = view_.labels()[id];
    std::string_view key = view_.Text(label.key);
    if (key.starts_with(kLabelPrefix))
      key.remove_prefix(kLabelPrefix.size());
    else if (key != kTraceIdLabel && key != kSpanIdLabel)
      continue;
    const uint32_t text = label.text != 0 ? label.text : OwnText(std::to_string(label.number));
    kept.push_back({.key = OwnText(key), .text = text});
  }
  uint32_t list = 0;
  for (auto label = kept.rbegin(); label != kept.rend(); ++label) {
    label->next = list;
    list = labels_.Intern(*label, true);
  }
  return list;
}

uint32_t CallTree::AddLocation(uint32_t parent, const ViewLocation& location) {
  if (location.first_line == 0) return AddLine(parent, location, nullptr);
  std::vector<const ViewLine*> lines;  // Innermost first.
  for (uint32_t id = location.first_line; id != 0; id = view_.lines()[id].next) {
    lines.push_back(&view_.lines()[id]);
  }
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    parent = AddLine(parent, location, *line);
  }
  return parent;
}

uint32_t CallTree::AddLine(uint32_t parent, const ViewLocation& location, const ViewLine* line) {
  CallFrame frame{.type = location.type, .file = FileOf(location, line)};
  if (line != nullptr) {
    frame.name = line->function != 0 ? line->function : line->system_name;
    frame.inlined = line->next != 0;
    if (lines_) frame.source = line->file;
    if (lines_) frame.line = static_cast<uint32_t>(std::clamp<int64_t>(line->line, 0, INT32_MAX));
  }
  if (frame.name == 0) {
    const std::string_view path = view_.Text(view_.mappings()[location.mapping].path);
    frame.name = OwnText(AddressName(path, location.address, location.function_start));
  }
  return nodes_.Intern({parent, frames_.Intern(frame, true)}, true);
}

uint32_t CallTree::FileOf(const ViewLocation& location, const ViewLine* line) {
  const std::string_view path = view_.Text(view_.mappings()[location.mapping].path);
  if (!path.empty()) return OwnText(PathBaseName(path));
  return line == nullptr ? 0 : line->file;
}

uint32_t CallTree::OwnText(std::string_view text) { return kOwnText | texts_.Intern(text, true); }

std::string_view CallTree::Text(uint32_t id) const {
  return (id & kOwnText) != 0 ? texts_[id & ~kOwnText] : view_.Text(id);
}

}  // namespace stackray
