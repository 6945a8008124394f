#include "reporter/page/page_answer.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "reporter/page/page_answer_parts.h"
#include "reporter/page/page_keys.h"
#include "reporter/page/page_search.h"

namespace stackray {

// What does not depend on the search, the table, the zoom and the function that is looked at.
struct PageAnswerMemory::Parts {
  PageQuestion question;  // Without these.
  std::vector<PageIndex::Ptr> indexes;
  std::vector<bool> hidden;
  PageSelection selection;
  PageFunctionSums sums;
  PageTree tree;
};

PageAnswerMemory::PageAnswerMemory() = default;
PageAnswerMemory::~PageAnswerMemory() = default;
void PageAnswerMemory::Forget() { parts_.reset(); }

class PageAnswerMaker {
 public:
  PageAnswerMaker(const PageStore& store, const PageQuestion& question, const std::stop_token& stop,
                  PageAnswerMemory* memory)
      : store_(store), tables_(store.tables()), question_(question), stop_(stop), memory_(memory) {}

  PageAnswerParts Make() {
    const PageAnswerMemory::Parts& known = Known();
    const PageShape shape{.hidden = known.hidden,
                          .fold = question_.fold,
                          .width = question_.width,
                          .zoom = ReadKey(question_.zoom)};
    PageAnswerParts out{.selection = known.selection, .sums = known.sums};
    out.tree = shape.zoom == 0 ? known.tree : Zoomed(known, shape);
    absl::StatusOr<std::vector<bool>> matching = MatchingFunctions(tables_, question_.query);
    if (!matching.ok()) {
      out.query_error = std::string(matching.status().message());
      matching = std::vector<bool>(tables_.functions.items().size());
    }
    out.searches = !matching->empty();
    Table(*matching, &out);
    if (question_.lines) Lines(known, &out);
    if (out.searches) {
      for (size_t i = 0; i < matching->size(); ++i)
        if (known.hidden[i]) (*matching)[i] = false;
      out.matched = SumMatched(known.selection, *matching, stop_);
    }
    if (!question_.callers.empty()) out.callers = FindFunction(out.sums);
    if (out.callers)
      out.sandwich = BuildSandwich(store_, known.selection, shape, *out.callers, stop_);
    return out;
  }

 private:
  using Parts = PageAnswerMemory::Parts;

  const Parts& Known() {
    PageQuestion question = question_;
    const PageQuestion none;
    question.query = question.zoom = question.callers = "";
    question.order = none.order;
    question.rows = none.rows;
    question.lines = none.lines;
    if (memory_->parts_ != nullptr && memory_->parts_->question == question &&
        memory_->parts_->indexes == store_.indexes() &&
        memory_->parts_->hidden.size() == tables_.functions.items().size())
      return *memory_->parts_;
    memory_->parts_ = nullptr;  // Before as much again is made.
    auto parts = std::make_unique<Parts>();
    parts->question = std::move(question);
    parts->indexes = store_.indexes();
    parts->selection = Select(store_, question_);
    parts->hidden = HiddenFunctions(tables_, question_.hidden);
    parts->sums = SumFunctions(store_, parts->selection, parts->hidden, stop_);
    const PageShape shape{
        .hidden = parts->hidden, .fold = question_.fold, .width = question_.width};
    const std::unique_ptr<PageDrawer> drawer = Drawer(parts->selection, shape);
    parts->tree = drawer->Draw({}, drawer->least(), SIZE_MAX);
    if (stop_.stop_requested()) parts->indexes.clear();  // It is not whole.
    memory_->parts_ = std::move(parts);
    return *memory_->parts_;
  }

  std::unique_ptr<PageDrawer> Drawer(const PageSelection& selection, const PageShape& shape) const {
    return question_.inverted ? PageDrawer::OfInvertedTree(store_, selection, shape, stop_)
                              : PageDrawer::OfTree(selection, shape, stop_);
  }

  PageTree Zoomed(const Parts& known, const PageShape& shape) const {
    const std::unique_ptr<PageDrawer> drawer = Drawer(known.selection, shape);
    if (drawer->draws_zoom()) return drawer->Draw({}, drawer->least(), SIZE_MAX);
    return DrawZoomed(store_, known.selection, shape.zoom, known.tree, *drawer);
  }

  std::optional<uint32_t> FindFunction(const PageFunctionSums& sums) const {
    const uint64_t key = ReadKey(question_.callers);
    for (uint32_t i = 0; i < sums.functions.size(); ++i)
      if (sums.functions[i].total > 0 && FunctionKey(tables_, tables_.functions.items()[i]) == key)
        return i;
    return std::nullopt;
  }

  void Table(const std::vector<bool>& matching, PageAnswerParts* out) const {
    const auto& sums = out->sums.functions;
    for (uint32_t i = 0; i < sums.size(); ++i)
      if (sums[i].total > 0 && (matching.empty() || matching[i])) out->table.push_back(i);
    out->table_count = out->table.size();
    const auto before = [&](uint32_t a, uint32_t b) {
      const auto &x = sums[a], &y = sums[b];
      if (question_.order == PageOrder::kName) return Name(a) < Name(b);
      const bool by_self = question_.order == PageOrder::kSelf;
      const auto of = [&](const auto& s) {
        return by_self ? std::pair(s.self, s.total) : std::pair(s.total, s.self);
      };
      return of(x) != of(y) ? of(x) > of(y) : Name(a) < Name(b);
    };
    const size_t wanted = std::min<size_t>(question_.rows, out->table.size());
    std::partial_sort(out->table.begin(), out->table.begin() + static_cast<std::ptrdiff_t>(wanted),
                      out->table.end(), before);
    out->table.resize(wanted);
  }
  // No line has more than its function, so those of the table's first rows come first here, too.
  void Lines(const Parts& known, PageAnswerParts* out) const {
    std::vector<PageLine>& lines = out->lines;
    lines = LinesOf(store_, known.selection, known.hidden, out->table, stop_);
    const bool by_self = question_.order == PageOrder::kSelf;
    const auto rank = [&](const PageLine& line) {
      return by_self ? std::tuple(line.self, line.total) : std::tuple(line.total, line.self);
    };
    std::ranges::stable_sort(lines, [&](const PageLine& a, const PageLine& b) {
      if (rank(a) != rank(b)) return rank(a) > rank(b);
      return std::tuple(Name(a.function), a.line) < std::tuple(Name(b.function), b.line);
    });
    out->line_count = lines.size();
    if (lines.size() > question_.rows) lines.resize(question_.rows);
  }

  std::string_view Name(uint32_t function) const {
    return tables_.strings[tables_.functions.items()[function].name];
  }

  const PageStore& store_;
  const PageTables& tables_;
  const PageQuestion& question_;
  const std::stop_token& stop_;
  PageAnswerMemory* const memory_;
};

absl::Status WritePageAnswer(const PageStore& store, const PageQuestion& question,
                             const PageAnswerOptions& options, const std::stop_token& stop,
                             TextSink sink, PageAnswerMemory* memory) {
  PageAnswerMemory own;
  PageAnswerMaker maker(store, question, stop, memory != nullptr ? memory : &own);
  const PageAnswerParts parts = maker.Make();
  if (stop.stop_requested()) return absl::CancelledError("nobody waits for the answer any more");
  return WritePageAnswerParts(store.tables(), question, options, parts, sink);
}

}  // namespace stackray
