#include "reporter/formats/speedscope.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "reporter/formats/call_tree.h"
#include "reporter/formats/text.h"

namespace stackray {
namespace {

struct ThreadRows {
  std::span<const ViewRow> rows;  // Each node once.
  int64_t count = 0;
};

class SpeedscopeWriter {
 public:
  SpeedscopeWriter(const ProfileView& view, uint32_t type, TextSink sink)
      : view_(view), tree_(view, type), rows_(tree_.rows()), buffer_(sink) {
    if (type == ProfileView::kCpuType && view.period_ns() >= 1) period_ns_ = view.period_ns();
    const std::string_view unit = view.types()[type].unit;
    if (period_ns_ > 0 || unit == "nanoseconds") unit_ = "nanoseconds";
    if (unit == "bytes") unit_ = "bytes";
    for (ViewRow& row : rows_) row.bucket = 0;
    SortAndMerge(&rows_);
  }

  absl::Status Write(std::string_view title) {
    std::string* out = buffer_.text();
    *out += "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"name\":";
    AppendJsonString(title, out);
    *out += ",\"exporter\":\"stackray\",\"activeProfileIndex\":0,\"shared\":{\"frames\":[";
    absl::Status status = WriteFrames();
    *out += "]},\"profiles\":[";
    bool first = true;
    for (const ThreadRows& thread : HeaviestFirst()) {
      if (!status.ok()) return status;
      if (!first) *out += ',';
      first = false;
      status = WriteThread(thread);
    }
    *out += "]}\n";
    return status.ok() ? buffer_.Flush() : status;
  }

 private:
  absl::Status WriteFrames() {
    std::string* out = buffer_.text();
    for (size_t i = 1; i < tree_.frames().size(); ++i) {  // Frame 0 is the empty one.
      const CallFrame& frame = tree_.frames()[i];
      AppendAll(out, i == 1 ? "" : ",", "{\"name\":");
      AppendJsonString(tree_.Text(frame.name), out);
      if (!tree_.Text(frame.file).empty()) {
        *out += ",\"file\":";
        AppendJsonString(tree_.Text(frame.file), out);
      }
      *out += '}';
      if (absl::Status status = buffer_.FlushIfLong(); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  std::vector<ThreadRows> HeaviestFirst() const {
    std::vector<ThreadRows> threads;
    for (size_t first = 0; first < rows_.size();) {
      ThreadRows thread;
      size_t end = first;
      for (; end < rows_.size() && rows_[end].thread == rows_[first].thread; ++end) {
        thread.count = SaturatingAdd(thread.count, rows_[end].count);
      }
      thread.rows = std::span(rows_).subspan(first, end - first);
      threads.push_back(thread);
      first = end;
    }
    std::stable_sort(threads.begin(), threads.end(),
                     [](const ThreadRows& a, const ThreadRows& b) { return a.count > b.count; });
    return threads;
  }

  // "command (pid 12) worker (tid 15)".
  std::string ThreadTitle(uint32_t id) const {
    const ViewThread& thread = view_.threads()[id];
    const ViewProcess& process = view_.processes()[thread.process];
    std::string title = view_.ProcessName(thread.process);
    if (process.pid != 0) AppendAll(&title, " (pid ", process.pid, ")");
    if (thread.name != 0) AppendAll(&title, " ", view_.Text(thread.name));
    if (thread.tid != 0) AppendAll(&title, " (tid ", thread.tid, ")");
    return title;
  }

  absl::Status WriteThread(const ThreadRows& thread) {
    std::string* out = buffer_.text();
    *out += "{\"type\":\"sampled\",\"name\":";
    AppendJsonString(ThreadTitle(thread.rows[0].thread), out);
    AppendAll(out, ",\"unit\":\"", unit_, "\",\"startValue\":0,\"endValue\":", Weight(thread.count),
              ",\"samples\":[");
    for (const ViewRow& row : thread.rows) {
      AppendStack(row.node, &row == thread.rows.data(), out);
      if (absl::Status status = buffer_.FlushIfLong(); !status.ok()) return status;
    }
    *out += "],\"weights\":[";
    for (const ViewRow& row : thread.rows) {
      AppendAll(out, &row == thread.rows.data() ? "" : ",", Weight(row.count));
      if (absl::Status status = buffer_.FlushIfLong(); !status.ok()) return status;
    }
    *out += "]}";
    return absl::OkStatus();
  }

  void AppendStack(uint32_t node, bool first, std::string* out) {
    stack_.clear();
    for (; node != 0; node = tree_.nodes()[node].parent) {
      stack_.push_back(tree_.nodes()[node].frame - 1);
    }
    if (!first) *out += ',';
    *out += '[';
    for (auto frame = stack_.rbegin(); frame != stack_.rend(); ++frame) {  // Root first.
      AppendAll(out, frame == stack_.rbegin() ? "" : ",", *frame);
    }
    *out += ']';
  }

  // Whole numbers up to what a double holds exactly.
  int64_t Weight(int64_t count) const {
    const double value = static_cast<double>(count) * (period_ns_ > 0 ? period_ns_ : 1);
    return std::llround(std::min(value, 9007199254740991.0));
  }

  const ProfileView& view_;
  const CallTree tree_;
  std::vector<ViewRow> rows_;       // By (thread, node).
  std::string_view unit_ = "none";  // As the viewer knows it.
  double period_ns_ = 0;            // Of a sample; 0: its value is its weight.
  SinkBuffer buffer_;
  std::vector<uint32_t> stack_;
};

}  // namespace

absl::Status WriteSpeedscope(const ProfileView& view, uint32_t type, std::string_view title,
                             TextSink sink) {
  return SpeedscopeWriter(view, type, sink).Write(title);
}

std::string SpeedscopeJson(const ProfileView& view, uint32_t type, std::string_view title) {
  std::string text;
  WriteSpeedscope(view, type, title, [&text](std::string_view part) {
    text += part;
    return absl::OkStatus();
  }).IgnoreError();
  return text;
}

}  // namespace stackray
