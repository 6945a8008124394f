#include "reporter/formats/page_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "reporter/formats/call_tree.h"
#include "reporter/formats/page_summary.h"
#include "reporter/formats/text.h"

namespace stackray {
namespace {

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
  const std::vector<std::string_view>& texts() const { return texts_; }

 private:
  std::vector<std::string_view> texts_;
  absl::flat_hash_map<std::string_view, int64_t> index_;
};

// Where a document comes from; all of it outlives the writing.
struct PageSource {
  const std::vector<CallFrame>& frames;  // Element 0 is empty.
  const std::vector<ViewNode>& nodes;
  absl::FunctionRef<ViewRow(size_t)> row;  // By (thread, bucket, node).
  size_t rows = 0;
  const SampleSums& sums;
  absl::FunctionRef<std::string_view(uint32_t)> text;
  int64_t start_ms = 0, bucket_ms = 0;
  const CallTree* labels = nullptr;  // Knows what threads worked on.

  uint32_t LabelsOf(uint32_t thread) const {
    return labels != nullptr ? labels->LabelsOf(thread) : 0;
  }
};

// One type's part of the document: which rows are its own. While there is one type, all are, and
// nothing is kept.
struct PageSection {
  uint32_t type = 0;
  size_t rows = 0;
  std::vector<uint32_t> numbers;  // Empty: each row.
};

std::vector<PageSection> SectionsOf(const PageSource& source) {
  std::vector<PageSection> sections;
  for (const uint32_t type : source.sums.UsedTypes()) sections.push_back({.type = type});
  if (sections.empty()) sections.emplace_back();
  sections[0].rows = source.rows;
  if (sections.size() == 1) return sections;
  std::vector<PageSection*> of_type(source.sums.types().size(), nullptr);
  for (PageSection& section : sections) of_type[section.type] = &section;
  for (size_t i = 0; i < source.rows; ++i) {
    PageSection* const section = of_type[source.sums.threads()[source.row(i).thread].type];
    if (section != nullptr) section->numbers.push_back(static_cast<uint32_t>(i));
  }
  for (PageSection& section : sections) section.rows = section.numbers.size();
  return sections;
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
  PageWriter(const PageSource& source, const PageOptions& options, TextSink sink)
      : source_(source),
        sums_(source.sums),
        options_(options),
        sections_(SectionsOf(source)),
        buffer_(sink),
        out_(*buffer_.text()) {}

  absl::Status Write() {
    Number();
    Head();
    Strings();
    Frames();
    Nodes();
    Samples(sections_[0]);
    Threads();
    Labels();
    Processes();
    if (options_.summary.has_value()) Summary(*options_.summary);
    OtherTypes();
    if (!options_.note.empty()) {
      out_ += ",\"note\":";
      AppendJsonString(options_.note, &out_);
    }
    if (!options_.dropped.empty()) {
      out_ += ",\"dropped\":";
      AppendJsonString(options_.dropped, &out_);
    }
    out_ += '}';
    return status_.ok() ? buffer_.Flush() : status_;
  }

 private:
  // Gives a number to every string, thread and process, in the order of their first use below.
  void Number() {
    for (size_t i = 1; i < source_.frames.size(); ++i) {
      const CallFrame& frame = source_.frames[i];
      strings_.Index(source_.text(frame.name));
      strings_.Index(TypeText(frame));
      strings_.Index(source_.text(frame.file));
      strings_.Index(source_.text(frame.source));
    }
    if (HasLabels())
      for (const ViewLabel& label : source_.labels->labels())
        for (const uint32_t text : {label.key, label.text}) strings_.Index(source_.text(text));
    for (const PageSection& section : sections_)
      for (size_t i = 0; i < section.rows; ++i) {
        const uint32_t thread = RowOf(section, i).thread;
        ThreadIndex(thread);
        if (WaitOf(thread) != 0) strings_.Index(source_.text(WaitOf(thread)));
      }
    for (const uint32_t id : threads_.ids()) {
      processes_.Index(sums_.threads()[id].process);
      strings_.Index(source_.text(sums_.threads()[id].name));
    }
    for (const uint32_t id : processes_.ids()) {
      const ViewProcess& process = sums_.processes()[id];
      for (const uint32_t text : {process.command, process.executable, process.container,
                                  process.service, process.cgroup, process.user})
        strings_.Index(source_.text(text));
    }
  }

  ViewRow RowOf(const PageSection& section, size_t i) const {
    return source_.row(section.numbers.empty() ? i : section.numbers[i]);
  }

  // A thread is one whatever its rows are of: the first one's number.
  int64_t ThreadIndex(uint32_t id) {
    if (sums_.types().size() == 1) return threads_.Index(id);
    ViewThread thread = sums_.threads()[id];
    thread.type = thread.wait = 0;
    thread.labels = source_.LabelsOf(id);
    const uint32_t number = plain_threads_.Intern(thread, true);
    return threads_.Index(first_threads_.try_emplace(number, id).first->second);
  }

  void Head() {
    // The last bucket may end after the profile does; it ends the profile where it must.
    const int64_t end_ns = sums_.end_unix_ns();
    const int64_t end = end_ns / 1'000'000 + (end_ns % 1'000'000 != 0);
    const double hz = sums_.period_ns() > 0 ? 1e9 / sums_.period_ns() : 0;
    out_ += "{\"format\":\"stackray-page/1\",\"title\":";
    AppendJsonString(options_.title, &out_);
    out_ += ",\"host\":";
    AppendJsonString(sums_.host_name(), &out_);
    fmt::format_to(std::back_inserter(out_),
                   ",\"frequency_hz\":{:.6g},\"start_ms\":{},\"end_ms\":{},\"bucket_ms\":{},", hz,
                   source_.start_ms, std::max(end, source_.start_ms), source_.bucket_ms);
    if (options_.cpus > 0) AppendAll(&out_, "\"cpus\":", options_.cpus, ",");
    if (sections_[0].type == SampleSums::kCpuType) return;
    TypeName(sums_.types()[sections_[0].type]);
    out_ += ',';
  }

  // "type":"off_cpu","unit":"nanoseconds"
  void TypeName(const TypeSums& type) {
    out_ += "\"type\":";
    AppendJsonString(type.type, &out_);
    out_ += ",\"unit\":";
    AppendJsonString(type.unit, &out_);
  }

  void Strings() {
    out_ += "\"strings\":[";
    for (size_t i = 0; i < strings_.texts().size(); ++i) {
      if (i > 0) out_ += ',';
      AppendJsonString(strings_.texts()[i], &out_);
      FlushIfLong();
    }
    out_ += ']';
  }

  void FlushIfLong() {
    if (status_.ok()) status_ = buffer_.FlushIfLong();
  }

  void Frames() {
    const auto column = [&](std::string_view name, auto text) {
      Column(name, source_.frames, 1, [&](const CallFrame& f) { return strings_.Index(text(f)); });
    };
    Open("frames");
    column("name", [&](const CallFrame& f) { return source_.text(f.name); });
    column("type", [&](const CallFrame& f) { return TypeText(f); });
    column("file", [&](const CallFrame& f) { return source_.text(f.file); });
    if (std::ranges::any_of(source_.frames, [](const CallFrame& f) { return f.line != 0; })) {
      column("source", [&](const CallFrame& f) { return source_.text(f.source); });
      Column("line", source_.frames, 1, [](const CallFrame& f) { return int64_t{f.line}; });
    }
    out_ += '}';
  }

  std::string_view TypeText(const CallFrame& frame) {
    const std::string_view type = source_.text(frame.type);
    if (frame.inlined == 0) return type;
    const uint32_t id = inline_types_.Intern(Concat(type, "+inline"), true);
    return inline_types_[id];
  }

  void Nodes() {
    bool root = true;
    Open("nodes");
    Column("parent", source_.nodes, 0, [&](const ViewNode& node) {
      return std::exchange(root, false) ? int64_t{-1} : int64_t{node.parent};
    });
    root = true;
    Column("frame", source_.nodes, 0, [&](const ViewNode& node) {
      return std::exchange(root, false) ? int64_t{-1} : int64_t{node.frame} - 1;
    });
    out_ += '}';
  }

  void Samples(const PageSection& section) {
    const auto column = [&](std::string_view name, auto number) {
      Numbers(name, 0, section.rows, [&](size_t i) { return number(RowOf(section, i)); });
    };
    Open("samples");
    column("node", [](const ViewRow& row) { return int64_t{row.node}; });
    column("thread", [&](const ViewRow& row) { return ThreadIndex(row.thread); });
    column("bucket", [](const ViewRow& row) { return row.bucket; });
    column("count", [](const ViewRow& row) { return SafeInteger(row.count); });
    if (HasWaits(section))
      column("wait",
             [&](const ViewRow& row) { return strings_.Index(source_.text(WaitOf(row.thread))); });
    out_ += '}';
  }

  uint32_t WaitOf(uint32_t thread) const { return sums_.threads()[thread].wait; }
  bool HasWaits(const PageSection& section) const {
    for (size_t i = 0; i < section.rows; ++i)
      if (WaitOf(RowOf(section, i).thread) != 0) return true;
    return false;
  }

  void OtherTypes() {
    if (sections_.size() == 1) return;
    out_ += ",\"other_types\":[";
    for (size_t i = 1; i < sections_.size(); ++i) {
      const TypeSums& type = sums_.types()[sections_[i].type];
      out_ += i == 1 ? "{" : ",{";
      TypeName(type);
      Samples(sections_[i]);
      if (const ProfileSummary* const summary = SummaryOf(type)) Summary(*summary);
      out_ += '}';
    }
    out_ += ']';
  }

  const ProfileSummary* SummaryOf(const TypeSums& type) const {
    if (!options_.summary) return nullptr;
    for (const ProfileSummary& other : options_.summary->others)
      if (other.type == type.type && other.unit == type.unit) return &other;
    return nullptr;
  }

  void Threads() {
    const auto thread = [&](uint32_t id) -> const ViewThread& { return sums_.threads()[id]; };
    const std::vector<uint32_t>& ids = threads_.ids();
    Open("threads");
    Column("process", ids, 0, [&](uint32_t id) { return processes_.Index(thread(id).process); });
    Column("tid", ids, 0, [&](uint32_t id) { return SafeId(thread(id).tid); });
    Column("name", ids, 0,
           [&](uint32_t id) { return strings_.Index(source_.text(thread(id).name)); });
    if (HasLabels())
      Column("labels", ids, 0, [&](uint32_t id) { return int64_t{source_.LabelsOf(id)}; });
    out_ += '}';
  }

  bool HasLabels() const {
    return source_.labels != nullptr && source_.labels->labels().size() > 1;
  }
  void Labels() {
    if (!HasLabels()) return;
    const std::vector<ViewLabel>& labels = source_.labels->labels();
    Open("labels");
    Column("key", labels, 0,
           [&](const ViewLabel& l) { return strings_.Index(source_.text(l.key)); });
    Column("text", labels, 0,
           [&](const ViewLabel& l) { return strings_.Index(source_.text(l.text)); });
    Column("next", labels, 0, [](const ViewLabel& l) { return int64_t{l.next}; });
    out_ += '}';
  }

  void Processes() {
    const std::vector<uint32_t>& ids = processes_.ids();
    const auto column = [&](std::string_view name, uint32_t ViewProcess::*text) {
      Column(name, ids, 0, [&, text](uint32_t id) {
        return strings_.Index(source_.text(sums_.processes()[id].*text));
      });
    };
    Open("processes");
    Column("pid", ids, 0, [&](uint32_t id) { return SafeId(sums_.processes()[id].pid); });
    column("command", &ViewProcess::command);
    column("executable", &ViewProcess::executable);
    column("container", &ViewProcess::container);
    const auto known = [&](uint32_t ViewProcess::*text) {
      return std::ranges::any_of(ids,
                                 [&](uint32_t id) { return sums_.processes()[id].*text != 0; });
    };
    if (known(&ViewProcess::service)) column("service", &ViewProcess::service);
    if (known(&ViewProcess::cgroup)) column("cgroup", &ViewProcess::cgroup);
    if (known(&ViewProcess::user)) column("user", &ViewProcess::user);
    out_ += '}';
  }

  void Open(std::string_view table) { AppendAll(&out_, ",\"", table, "\":{"); }

  // One number for each of `items` from `first` on.
  template <typename T, typename F>
  void Column(std::string_view name, const std::vector<T>& items, size_t first, F&& number) {
    Numbers(name, first, items.size(), [&](size_t i) { return number(items[i]); });
  }

  template <typename F>
  void Numbers(std::string_view name, size_t first, size_t end, F&& number) {
    if (out_.back() != '{') out_ += ',';
    AppendAll(&out_, "\"", name, "\":[");
    for (size_t i = first; i < end; ++i) {
      AppendAll(&out_, i == first ? "" : ",", number(i));
      if (i % 1024 == 0) FlushIfLong();
    }
    out_ += ']';
  }

  void Summary(const ProfileSummary& s) {
    out_ += ",\"summary\":{";
    AppendSummaryMembers(s, &out_);
    if (s.type != "samples") AppendAll(&out_, ",\"value\":", SafeInteger(s.value));
    if (const std::string sentence = UnnamedSentence(s); !sentence.empty()) {
      out_ += ",\"unnamed\":";
      AppendJsonString(sentence, &out_);
    }
    out_ += '}';
  }

  const PageSource& source_;
  const SampleSums& sums_;
  const PageOptions& options_;
  const std::vector<PageSection> sections_;  // At least one.
  SinkBuffer buffer_;
  std::string& out_;  // Of buffer_.
  absl::Status status_;
  PageStrings strings_;
  StringTable inline_types_;
  Renumbering threads_, processes_;
  InternTable<ViewThread> plain_threads_;  // Without type, where there are several …
  absl::flat_hash_map<uint32_t, uint32_t>
      first_threads_;  // … and which of the source's is the first of them.
};

}  // namespace

std::string PageData(const ProfileView& view, const PageOptions& options) {
  const CallTree tree(view, options.detail);
  const auto text = [&](uint32_t id) { return tree.Text(id); };
  const auto row = [&](size_t i) { return tree.rows()[i]; };
  const PageSource source{.frames = tree.frames(),
                          .nodes = tree.nodes(),
                          .row = row,
                          .rows = tree.rows().size(),
                          .sums = view,
                          .text = text,
                          .start_ms = view.bucket_start_ms(),
                          .bucket_ms = view.bucket_ms() * options.detail.buckets_in_one,
                          .labels = &tree};
  std::string out;
  const absl::Status status = PageWriter(source, options, [&](std::string_view part) {
                                out += part;
                                return absl::OkStatus();
                              }).Write();
  status.IgnoreError();  // This sink has none.
  return out;
}

absl::Status WritePageData(const PageProfile& profile, const PageOptions& options, TextSink sink) {
  const auto text = [&](uint32_t id) { return profile.Text(id); };
  const auto row = [&](size_t i) { return profile.rows()[i]; };
  const PageSource source{.frames = profile.frames(),
                          .nodes = profile.nodes(),
                          .row = row,
                          .rows = profile.rows().size(),
                          .sums = profile,
                          .text = text,
                          .start_ms = profile.bucket_start_ms(),
                          .bucket_ms = profile.bucket_ms()};
  return PageWriter(source, options, sink).Write();
}

}  // namespace stackray
