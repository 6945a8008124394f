#include "reporter/formats/page_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "reporter/formats/call_tree.h"
#include "reporter/formats/text.h"

namespace stackray {
namespace {

constexpr int64_t kMaxSafeInteger =
    (int64_t{1} << 53) - 1;  // ECMAScript's Number.MAX_SAFE_INTEGER.

using Column = std::vector<int64_t>;

int64_t Safe(int64_t number) { return std::clamp<int64_t>(number, 0, kMaxSafeInteger); }
int64_t SafeId(int64_t pid) { return std::clamp<int64_t>(pid, 0, INT32_MAX); }

// Strings in order of first use; the texts outlive it.
class PageStrings {
 public:
  PageStrings() { Index(""); }
  int64_t Index(std::string_view text) {
    const auto [found, fresh] = index_.try_emplace(text, static_cast<int64_t>(texts_.size()));
    if (fresh) texts_.push_back(text);
    return found->second;
  }
  void Append(std::string* out) const {
    *out += "\"strings\":[";
    for (size_t i = 0; i < texts_.size(); ++i) {
      if (i > 0) *out += ',';
      AppendJsonString(texts_[i], out);
    }
    *out += ']';
  }

 private:
  std::vector<std::string_view> texts_;
  absl::flat_hash_map<std::string_view, int64_t> index_;
};

void AppendColumn(std::string_view name, const Column& column, std::string* out) {
  if (out->back() != '{') *out += ',';
  AppendAll(out, "\"", name, "\":[");
  for (size_t i = 0; i < column.size(); ++i) AppendAll(out, i == 0 ? "" : ",", column[i]);
  *out += ']';
}

// Numbers for things of the view that are really used, in order of first use.
class Renumbering {
 public:
  int64_t Index(uint32_t id) {
    const auto [found, fresh] = index_.try_emplace(id, static_cast<int64_t>(ids_.size()));
    if (fresh) ids_.push_back(id);
    return found->second;
  }
  const std::vector<uint32_t>& ids() const { return ids_; }

 private:
  std::vector<uint32_t> ids_;
  absl::flat_hash_map<uint32_t, int64_t> index_;
};

class PageWriter {
 public:
  PageWriter(const ProfileView& view, const PageOptions& options)
      : view_(view), options_(options), tree_(view) {}

  std::string Write() {
    std::string tables = Frames() + "," + Nodes() + "," + Samples();  // Fills the numberings.
    AppendAll(&tables, ",", Threads());
    AppendAll(&tables, ",", Processes());
    std::string out = Head() + ",";
    strings_.Append(&out);
    AppendAll(&out, ",", tables);
    if (options_.summary.has_value()) AppendAll(&out, ",", Summary(*options_.summary));
    out += "}";
    return out;
  }

 private:
  std::string Head() const {
    // The last bucket may end after the profile does; it ends the profile where it must.
    const int64_t start = view_.bucket_start_ms();
    const int64_t end = view_.end_unix_ns() / 1'000'000 + (view_.end_unix_ns() % 1'000'000 != 0);
    const double hz = view_.period_ns() > 0 ? 1e9 / view_.period_ns() : 0;
    std::string out = "{\"format\":\"stackray-page/1\",\"title\":";
    AppendJsonString(options_.title, &out);
    out += ",\"host\":";
    AppendJsonString(view_.host_name(), &out);
    fmt::format_to(std::back_inserter(out),
                   ",\"frequency_hz\":{:.6g},\"start_ms\":{},\"end_ms\":{},\"bucket_ms\":{}", hz,
                   start, std::max(end, start), view_.bucket_ms());
    return out;
  }

  std::string Frames() {
    Column name, type, file;
    for (size_t i = 1; i < tree_.frames().size(); ++i) {  // Frame 0 is the empty one.
      const CallFrame& frame = tree_.frames()[i];
      name.push_back(strings_.Index(tree_.Text(frame.name)));
      type.push_back(strings_.Index(TypeText(frame)));
      file.push_back(strings_.Index(tree_.Text(frame.file)));
    }
    return Table("frames", {{"name", &name}, {"type", &type}, {"file", &file}});
  }

  std::string_view TypeText(const CallFrame& frame) {
    const std::string_view type = tree_.Text(frame.type);
    if (frame.inlined == 0) return type;
    const uint32_t id = inline_types_.Intern(Concat(type, "+inline"), true);
    return inline_types_[id];
  }

  std::string Nodes() {
    Column parent{-1}, frame{-1};
    for (size_t i = 1; i < tree_.nodes().size(); ++i) {
      parent.push_back(tree_.nodes()[i].parent);
      frame.push_back(int64_t{tree_.nodes()[i].frame} - 1);
    }
    return Table("nodes", {{"parent", &parent}, {"frame", &frame}});
  }

  std::string Samples() {
    Column node, thread, bucket, count;
    for (const ViewRow& row : tree_.rows()) {
      node.push_back(row.node);
      thread.push_back(threads_.Index(row.thread));
      bucket.push_back(row.bucket);
      count.push_back(Safe(row.count));
    }
    return Table("samples",
                 {{"node", &node}, {"thread", &thread}, {"bucket", &bucket}, {"count", &count}});
  }

  std::string Threads() {
    Column process, tid, name;
    for (const uint32_t id : threads_.ids()) {
      const ViewThread& thread = view_.threads()[id];
      process.push_back(processes_.Index(thread.process));
      tid.push_back(SafeId(thread.tid));
      name.push_back(strings_.Index(view_.Text(thread.name)));
    }
    return Table("threads", {{"process", &process}, {"tid", &tid}, {"name", &name}});
  }

  std::string Processes() {
    Column pid, command, executable, container;
    for (const uint32_t id : processes_.ids()) {
      const ViewProcess& process = view_.processes()[id];
      pid.push_back(SafeId(process.pid));
      command.push_back(strings_.Index(view_.Text(process.command)));
      executable.push_back(strings_.Index(view_.Text(process.executable)));
      container.push_back(strings_.Index(view_.Text(process.container)));
    }
    return Table("processes", {{"pid", &pid},
                               {"command", &command},
                               {"executable", &executable},
                               {"container", &container}});
  }

  static std::string Table(std::string_view name,
                           std::initializer_list<std::pair<std::string_view, Column*>> columns) {
    std::string out = Concat("\"", name, "\":{");
    for (const auto& [column_name, column] : columns) AppendColumn(column_name, *column, &out);
    return out + "}";
  }

  static std::string Summary(const ProfileSummary& s) {
    return Concat("\"summary\":{\"samples\":", Safe(s.samples), ",\"complete\":", Safe(s.complete),
                  ",\"user_stacks\":", Safe(s.user_stacks),
                  ",\"named_frames\":", Safe(s.named_frames()), ",\"frames\":", Safe(s.frames()),
                  ",\"lost\":", Safe(s.lost), "}");
  }

  const ProfileView& view_;
  const PageOptions& options_;
  const CallTree tree_;
  PageStrings strings_;
  StringTable inline_types_;
  Renumbering threads_, processes_;
};

}  // namespace

std::string PageData(const ProfileView& view, const PageOptions& options) {
  return PageWriter(view, options).Write();
}

}  // namespace stackray
