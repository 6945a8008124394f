#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "reporter/formats/page_summary.h"
#include "reporter/formats/text.h"
#include "reporter/formats/view_buckets.h"
#include "reporter/page/page_answer_parts.h"
#include "reporter/page/page_keys.h"

namespace stackray {
namespace {

constexpr size_t kMostLines = 5'000;

class Writer {
 public:
  Writer(const PageTables& tables, const PageQuestion& question, const PageAnswerOptions& options,
         const PageAnswerParts& parts, TextSink sink)
      : tables_(tables),
        question_(question),
        options_(options),
        parts_(parts),
        selection_(parts.selection),
        buffer_(sink),
        out_(*buffer_.text()) {}

  absl::Status Write() {
    Head();
    Types();
    out_ += ",\"tree\":";
    Tree(parts_.tree);
    Table();
    Shares();
    AppendAll(&out_, ",\"passing\":", SafeInteger(selection_.passing));
    Column("timeline", selection_.timeline, [](int64_t value) { return SafeInteger(value); });
    Choices("processes", selection_.processes);
    Choices("threads", selection_.threads);
    Choices("waits", selection_.waits);
    Choices("commands", selection_.commands);
    Choices("containers", selection_.containers);
    Choices("services", selection_.services);
    Choices("cgroups", selection_.cgroups);
    Choices("users", selection_.users);
    Labels();
    Lanes();
    if (parts_.searches) AppendAll(&out_, ",\"matched\":", SafeInteger(parts_.matched));
    Text("query_error", parts_.query_error);
    if (parts_.callers) Sandwich();
    Column("groups", selection_.groups,
           [](const std::string& label) -> const std::string& { return label; });
    Functions();
    out_ += '}';
    return status_.ok() ? buffer_.Flush() : status_;
  }

 private:
  void Head() {
    out_ += "{\"format\":\"stackray-view/1\"";
    Text("title", options_.title);
    Text("host", tables_.strings[selection_.host]);
    const double hz =
        selection_.period_ns > 0 ? 1e9 / static_cast<double>(selection_.period_ns) : 0;
    fmt::format_to(std::back_inserter(out_),
                   ",\"frequency_hz\":{:.6g},\"cpus\":{},\"start_ms\":{},\"end_ms\":{},"
                   "\"bucket_ms\":{}",
                   hz, options_.cpus, selection_.start_ms, selection_.end_ms, selection_.bucket_ms);
  }

  void Types() {
    out_ += ",\"types\":[";
    for (const PageSelection::Type& type : selection_.types) {
      if (out_.back() == '}') out_ += ',';
      const PageType& names = tables_.types[type.type];
      out_ += "{\"type\":";
      AppendJsonString(tables_.strings[names.type], &out_);
      Text("unit", tables_.strings[names.unit]);
      AppendAll(&out_, ",\"sum\":", SafeInteger(type.total));
      Summary(type.summary);
      out_ += '}';
    }
    AppendAll(&out_, "],\"type\":", selection_.type);
  }

  void Summary(const ProfileSummary& s) {
    out_ += ",\"summary\":{";
    AppendSummaryMembers(s, &out_);
    Text("unnamed", UnnamedSentence(s));
    out_ += '}';
  }

  void Tree(const PageTree& tree) {
    out_ += '{';
    Column("item", tree.item, [&](int32_t item) { return item < 0 ? item : Function(item); });
    Column("parent", tree.parent, [](int32_t parent) { return parent; });
    Column("self", tree.self, SafeInteger);
    Column("total", tree.total, SafeInteger);
    out_ += '}';
  }

  void Table() {
    out_ += ",\"table\":{";
    const auto& sums = parts_.sums.functions;
    Column("function", parts_.table, [&](uint32_t f) { return Function(static_cast<int32_t>(f)); });
    Column("self", parts_.table, [&](uint32_t f) { return SafeInteger(sums[f].self); });
    Column("total", parts_.table, [&](uint32_t f) { return SafeInteger(sums[f].total); });
    AppendAll(&out_, ",\"count\":", parts_.table_count);
    if (question_.lines) TableLines();
    out_ += '}';
  }

  void TableLines() {
    const std::vector<PageLine>& lines = parts_.lines;
    out_ += ",\"lines\":{";
    Column("function", lines,
           [&](const PageLine& l) { return Function(static_cast<int32_t>(l.function)); });
    LineColumns(lines);
    AppendAll(&out_, ",\"count\":", parts_.line_count, "}");
  }

  void LineColumns(const std::vector<PageLine>& lines) {
    Column("source", lines, [&](const PageLine& l) { return tables_.strings[l.source]; });
    Column("line", lines, [](const PageLine& l) { return l.line; });
    Column("self", lines, [](const PageLine& l) { return SafeInteger(l.self); });
    Column("total", lines, [](const PageLine& l) { return SafeInteger(l.total); });
  }

  // Of each type of frame, the values of its innermost frames; of markers, those of each stack that
  // has one.
  void Shares() {
    std::map<std::string, int64_t> counts;
    const auto& functions = tables_.functions.items();
    for (size_t i = 0; i < functions.size(); ++i) {
      const PageFunctionSums::Sums& sums = parts_.sums.functions[i];
      const int64_t self = parts_.sums.type_selfs[i];
      if (self == 0 && sums.total == 0) continue;
      int64_t& count = counts[PageTypeText(tables_, functions[i])];
      count = SaturatingAdd(count, self);
    }
    const bool marked = counts.erase(std::string(kMarkerFrameType)) > 0 || parts_.sums.marked > 0;
    std::vector<std::pair<std::string, int64_t>> list(counts.begin(), counts.end());
    std::ranges::stable_sort(list, std::greater(), [](const auto& share) { return share.second; });
    if (marked) list.emplace_back(kMarkerFrameType, parts_.sums.marked);
    out_ += ",\"shares\":{";
    Column("type", list, [](const auto& share) -> const std::string& { return share.first; });
    Column("count", list, [](const auto& share) { return SafeInteger(share.second); });
    out_ += '}';
  }

  void Choices(std::string_view name, const PageSelection::ChoiceList& choices) {
    const std::vector<PageSelection::Choice>& list = choices.list;
    AppendAll(&out_, ",\"", name, "\":{");
    using Choice = PageSelection::Choice;
    Column("key", list, [](const Choice& c) -> const std::string& { return c.key; });
    Column("label", list, [](const Choice& c) -> const std::string& { return c.label; });
    Column("note", list, [](const Choice& c) -> const std::string& { return c.note; });
    Column("count", list, [](const Choice& c) { return SafeInteger(c.count); });
    AppendAll(&out_, ",\"more\":", choices.count - list.size(), "}");
  }

  void Labels() {
    std::vector<std::string_view> names;
    for (const uint32_t label : selection_.labels) names.push_back(tables_.strings[label]);
    std::ranges::sort(names);
    names.resize(std::min(names.size(), kMostIndexLabels));
    Column("labels", names, [](std::string_view name) { return name; });
  }

  void Lanes() {
    out_ += ",\"lanes\":[";
    for (const PageSelection::Lane& lane : selection_.lanes) {
      if (out_.back() == '}') out_ += ',';
      out_ += "{\"label\":";
      AppendJsonString(lane.label, &out_);
      Text("process", lane.process);
      Text("thread", lane.thread);
      AppendAll(&out_, ",\"sum\":", SafeInteger(lane.sum));
      Column("bucket", lane.counts, [](const auto& count) { return count.first; });
      Column("count", lane.counts, [](const auto& count) { return SafeInteger(count.second); });
      out_ += '}';
    }
    out_ += ']';
  }

  void Sandwich() {
    const PageSandwich& sandwich = parts_.sandwich;
    AppendAll(&out_,
              ",\"sandwich\":{\"function\":", Function(static_cast<int32_t>(*parts_.callers)),
              ",\"callers\":");
    Tree(sandwich.callers);
    out_ += ",\"callees\":";
    Tree(sandwich.callees);
    std::vector<PageLine> lines = sandwich.lines;
    std::ranges::stable_sort(lines, std::greater(), &PageLine::total);
    if (lines.size() > kMostLines) lines.resize(kMostLines);
    out_ += ",\"lines\":{";
    LineColumns(lines);
    if (options_.source_text) {
      const std::vector<PageProcess> processes =
          ProcessesWith(tables_, selection_, *parts_.callers);
      Column("text", lines, [&](const PageLine& l) {
        if (l.line == 0) return std::string();
        return options_.source_text(tables_.strings[l.source], l.line, processes).value_or("");
      });
    }
    out_ += "}}";
  }

  // The functions that the answer has named, in the order of their first use.
  void Functions() {
    const auto& all = tables_.functions.items();
    out_ += ",\"functions\":{";
    Column("name", functions_, [&](uint32_t f) { return PageNameText(tables_, all[f]); });
    Column("type", functions_, [&](uint32_t f) { return PageTypeText(tables_, all[f]); });
    Column("file", functions_, [&](uint32_t f) { return tables_.strings[all[f].file]; });
    out_ += '}';
  }
  int32_t Function(int32_t function) {
    const auto [place, fresh] = number_of_.try_emplace(function, functions_.size());
    if (fresh) functions_.push_back(static_cast<uint32_t>(function));
    return static_cast<int32_t>(place->second);
  }

  void Text(std::string_view name, std::string_view text) {
    AppendAll(&out_, ",\"", name, "\":");
    AppendJsonString(text, &out_);
  }

  // One number or text for each of `items`.
  template <typename T, typename F>
  void Column(std::string_view name, const std::vector<T>& items, F&& value) {
    AppendAll(&out_, out_.back() == '{' ? "\"" : ",\"", name, "\":[");
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += ',';
      const auto& each = value(items[i]);
      if constexpr (std::convertible_to<decltype(each), std::string_view>)
        AppendJsonString(each, &out_);
      else
        AppendAll(&out_, each);
      if (i % 1024 == 1023 && status_.ok()) status_ = buffer_.FlushIfLong();
    }
    out_ += ']';
  }

  const PageTables& tables_;
  const PageQuestion& question_;
  const PageAnswerOptions& options_;
  const PageAnswerParts& parts_;
  const PageSelection& selection_;
  SinkBuffer buffer_;
  std::string& out_;  // Of buffer_.
  absl::Status status_;
  std::vector<uint32_t> functions_;
  absl::flat_hash_map<int32_t, size_t> number_of_;
};

}  // namespace

absl::Status WritePageAnswerParts(const PageTables& tables, const PageQuestion& question,
                                  const PageAnswerOptions& options, const PageAnswerParts& parts,
                                  TextSink sink) {
  return Writer(tables, question, options, parts, sink).Write();
}

}  // namespace stackray
