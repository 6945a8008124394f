#include "reporter/page/page_class_encode.h"

#include <algorithm>
#include <map>

namespace stackray {
namespace {

// Of a tree of frames, the tree of their functions. `numbers`: of each node, its node there.
std::vector<ViewNode> NodesByFunction(const PageIndexBuilder& from, const WholeTree& frames,
                                      std::vector<uint32_t>* numbers) {
  InternTable<ViewNode> nodes;
  numbers->resize(frames.size());
  for (const uint32_t node : frames.by_order()) {
    if (node == 0) continue;
    const uint32_t function = from.frames()[frames[node].frame].function;
    (*numbers)[node] = nodes.Intern({(*numbers)[frames[node].parent], function}, true);
  }
  return nodes.items();
}

// Of a tree of functions, the tree of those that are not native.
std::vector<ViewNode> NodesWithoutNative(const PageIndexBuilder& from, const WholeTree& functions,
                                         std::vector<uint32_t>* numbers) {
  InternTable<ViewNode> nodes;
  numbers->resize(functions.size());
  for (const uint32_t node : functions.by_order()) {
    if (node == 0) continue;
    const uint32_t above = (*numbers)[functions[node].parent];
    const uint32_t function = functions[node].frame;
    const bool native = from.Text(from.functions()[function].type) == kNativeFrameType;
    (*numbers)[node] = native ? above : nodes.Intern({above, function}, true);
  }
  return nodes.items();
}

// Values of equal nodes become one; by node.
void Merge(std::vector<std::pair<uint32_t, int64_t>>* values) {
  std::ranges::sort(*values, {}, [](const auto& value) { return value.first; });
  size_t kept = 0;
  for (const auto& [node, value] : *values) {
    if (kept > 0 && (*values)[kept - 1].first == node)
      (*values)[kept - 1].second = SaturatingAdd((*values)[kept - 1].second, value);
    else
      (*values)[kept++] = {node, value};
  }
  values->resize(kept);
}

}  // namespace

std::string EncodeActivity(std::vector<IndexRow> rows, int64_t first_second) {
  std::ranges::sort(rows, {}, &IndexRow::second);
  std::string bytes;
  int64_t before = first_second;
  for (size_t i = 0; i < rows.size();) {
    int64_t count = 0;
    const int64_t second = rows[i].second;
    for (; i < rows.size() && rows[i].second == second; ++i)
      count = SaturatingAdd(count, rows[i].count);
    AppendNumber(static_cast<uint64_t>(second - before), &bytes);
    AppendNumber(static_cast<uint64_t>(count), &bytes);
    before = second;
  }
  return bytes;
}

std::vector<TypeMask> TypeBits(const std::vector<PageFunction>& functions) {
  std::map<std::pair<uint32_t, uint32_t>, size_t> numbers;
  std::vector<TypeMask> bits;
  bits.reserve(functions.size());
  for (const PageFunction& function : functions) {
    const size_t number =
        numbers.try_emplace({function.type, function.inlined}, numbers.size()).first->second;
    if (number >= kMostFrameTypes) return {};
    bits.push_back(TypeMask{1} << number);
  }
  return bits;
}

ClassEncoder::ClassEncoder(const PageIndexBuilder& from, const WholeTree& tree)
    : from_(from),
      frames_(tree),
      nodes_(NodesByFunction(from, tree, &by_function_)),
      functions_(nodes_),
      bare_nodes_(NodesWithoutNative(from, functions_, &bare_of_)),
      bare_(bare_nodes_),
      frame_part_(frames_),
      function_part_(functions_),
      bare_part_(bare_),
      bits_(TypeBits(from.functions())),
      sums_(from, bits_) {}

std::string ClassEncoder::EncodeTree(const std::vector<Value>& values,
                                     std::vector<uint32_t>* functions,
                                     std::vector<size_t>* places) {
  std::vector<uint32_t> used;
  used.reserve(values.size());
  for (const auto& [node, value] : values) used.push_back(node);
  function_part_.Pick(used);
  const std::vector<TreeEntry>& entries = function_part_.entries();
  std::vector<int64_t> of_entries(entries.size());
  for (const auto& [node, value] : values) of_entries[function_part_.EntryOf(node)] = value;
  functions->resize(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) (*functions)[i] = entries[i].frame;
  return PackTreeOfValues(entries, of_entries, places);
}

void ClassEncoder::AppendBare(const std::vector<Value>& by_function, std::string* out) {
  std::vector<Value> values;
  for (const auto& [node, value] : by_function)
    if (node == 0 || bare_of_[node] != 0) values.emplace_back(bare_of_[node], value);
  Merge(&values);
  std::vector<uint32_t> used;
  used.reserve(values.size());
  for (const auto& [node, value] : values) used.push_back(node);
  bare_part_.Pick(used);
  const bool has_native = bare_part_.entries().size() < function_part_.entries().size();
  std::vector<int64_t> of_entries(bare_part_.entries().size());
  int64_t total = 0;
  for (const auto& [node, value] : values) {
    of_entries[bare_part_.EntryOf(node)] = value;
    total = SaturatingAdd(total, value);
  }
  AppendNumber(static_cast<uint64_t>(total), out);
  AppendBytes(has_native ? PackTreeOfValues(bare_part_.entries(), of_entries, nullptr) : "", out);
}

namespace {

// From the innermost function outwards: the functions' numbers say the order.
bool WayIsBefore(const std::vector<ViewNode>& nodes, uint32_t a, uint32_t b) {
  while (a != b && a != 0 && b != 0) {
    if (nodes[a].frame != nodes[b].frame) return nodes[a].frame < nodes[b].frame;
    a = nodes[a].parent;
    b = nodes[b].parent;
  }
  return a == 0 && b != 0;
}

}  // namespace

std::string PackWays(const std::vector<ViewNode>& nodes,
                     std::vector<std::pair<uint32_t, int64_t>> values, int64_t of_root) {
  std::ranges::sort(
      values, [&](const auto& a, const auto& b) { return WayIsBefore(nodes, a.first, b.first); });
  std::vector<TreeEntry> entries(1);
  std::vector<int64_t> of_entries{of_root};
  std::vector<uint32_t> way;  // Entries of the last one's way, the innermost first.
  for (const auto& [node, value] : values) {
    uint32_t at = node;
    size_t common = 0;
    for (; common < way.size() && at != 0 && entries[way[common]].frame == nodes[at].frame;
         ++common)
      at = nodes[at].parent;
    way.resize(common);
    for (; at != 0; at = nodes[at].parent) {
      entries.push_back({.parent = way.empty() ? 0 : way.back(), .frame = nodes[at].frame});
      of_entries.push_back(0);
      way.push_back(static_cast<uint32_t>(entries.size() - 1));
    }
    if (!way.empty()) of_entries[way.back()] = SaturatingAdd(of_entries[way.back()], value);
  }
  return PackTreeOfValues(entries, of_entries, nullptr);
}

namespace {

// By function, where those of its nodes lie that have no such node above them.
std::vector<std::vector<size_t>> OutermostPlaces(const std::vector<TreeEntry>& entries,
                                                 const std::vector<uint32_t>& functions,
                                                 const std::vector<size_t>& places,
                                                 size_t function_count) {
  std::vector<std::vector<size_t>> out(function_count);
  std::vector<uint32_t> open(function_count);
  std::vector<uint32_t> way;  // Entries.
  for (uint32_t i = 1; i < entries.size(); ++i) {
    while (!way.empty() && way.back() != entries[i].parent) {
      --open[functions[way.back()]];
      way.pop_back();
    }
    way.push_back(i);
    if (open[functions[i]]++ == 0) out[functions[i]].push_back(places[i]);
  }
  return out;
}

}  // namespace

std::string ClassEncoder::Encode(const std::vector<IndexRow>& rows, int64_t first_second) {
  std::vector<Value> by_frame, by_function;
  for (const IndexRow& row : rows) by_frame.emplace_back(row.node, row.count);
  Merge(&by_frame);
  std::vector<uint32_t> used;
  for (const auto& [node, value] : by_frame) {
    used.push_back(node);
    by_function.emplace_back(by_function_[node], value);
  }
  Merge(&by_function);
  std::vector<uint32_t> functions;
  std::vector<size_t> places;
  const std::string tree = EncodeTree(by_function, &functions, &places);

  frame_part_.Pick(used);
  const std::vector<TreeEntry>& entries = frame_part_.entries();
  std::vector<int64_t> self(entries.size()), total;
  for (const auto& [node, value] : by_frame) self[frame_part_.EntryOf(node)] = value;
  total = self;
  std::vector<size_t> depth(entries.size());
  for (size_t i = 1; i < entries.size(); ++i) depth[i] = depth[entries[i].parent] + 1;
  for (size_t i = entries.size(); i-- > 1;)
    total[entries[i].parent] = SaturatingAdd(total[entries[i].parent], total[i]);
  for (size_t i = 1; i < entries.size(); ++i)
    sums_.Add(depth[i], entries[i].frame, self[i], total[i]);

  int64_t of_root = 0;
  if (!by_function.empty() && by_function[0].first == 0) of_root = by_function[0].second;
  std::string bare;
  AppendBare(by_function, &bare);
  if (of_root > 0) by_function.erase(by_function.begin());
  std::string out;
  AppendBytes(EncodeActivity(rows, first_second), &out);
  AppendBytes(tree, &out);
  AppendBytes(PackWays(nodes_, std::move(by_function), of_root), &out);
  out += bare;
  AppendBytes(sums_.Finish(OutermostPlaces(function_part_.entries(), functions, places,
                                           from_.functions().size())),
              &out);
  return out;
}

}  // namespace stackray
