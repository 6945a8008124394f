#include "reporter/page/page_answer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "reporter/page/page_answer_parts.h"
#include "reporter/page/page_keys.h"
#include "reporter/page/page_search.h"

namespace stackray {
namespace {

class Maker {
 public:
  Maker(const PageStore& store, const PageQuestion& question, const std::stop_token& stop)
      : store_(store), tables_(store.tables()), question_(question), stop_(stop) {}

  PageAnswerParts Make() {
    PageAnswerParts out;
    out.selection = Select(store_, question_);
    const std::vector<bool> hidden = HiddenFunctions(tables_, question_.hidden);
    const PageShape shape{.hidden = hidden,
                          .fold = question_.fold,
                          .width = question_.width,
                          .zoom = ReadKey(question_.zoom)};
    absl::StatusOr<std::vector<bool>> matching = MatchingFunctions(tables_, question_.query);
    if (!matching.ok()) {
      out.query_error = std::string(matching.status().message());
      matching = std::vector<bool>(tables_.functions.items().size());
    }
    out.searches = !matching->empty();
    out.sums = SumFunctions(store_, out.selection, hidden, *matching, stop_);
    out.tree = question_.inverted ? BuildInvertedTree(store_, out.selection, shape, stop_)
                                  : BuildTree(store_, out.selection, shape, stop_);
    Table(*matching, &out);
    if (!question_.callers.empty()) out.callers = FindFunction(out.sums);
    if (out.callers)
      out.sandwich = BuildSandwich(store_, out.selection, shape, *out.callers, stop_);
    return out;
  }

 private:
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
  std::string_view Name(uint32_t function) const {
    return tables_.strings[tables_.functions.items()[function].name];
  }

  const PageStore& store_;
  const PageTables& tables_;
  const PageQuestion& question_;
  const std::stop_token& stop_;
};

}  // namespace

absl::Status WritePageAnswer(const PageStore& store, const PageQuestion& question,
                             const PageAnswerOptions& options, const std::stop_token& stop,
                             TextSink sink) {
  const PageAnswerParts parts = Maker(store, question, stop).Make();
  if (stop.stop_requested()) return absl::CancelledError("nobody waits for the answer any more");
  return WritePageAnswerParts(store.tables(), question, options, parts, sink);
}

}  // namespace stackray
