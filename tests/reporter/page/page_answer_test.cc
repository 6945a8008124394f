// What the page is answered against the folded stacks of the samples that pass: every value,
// whatever is filtered, and nothing is folded away.
#include "reporter/page/page_answer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "reporter/formats/folded.h"
#include "reporter/formats/profile_view.h"
#include "reporter/page/page_group.h"
#include "reporter/page/page_keys.h"
#include "tests/reporter/page/random_batches.h"

namespace stackray {
namespace {

using Json = nlohmann::json;
using Folded = std::map<std::string, int64_t>;

std::vector<DecodedBatch> Batches() {
  std::vector<DecodedBatch> batches;
  for (int i = 0; i < kRandomBatches; ++i) batches.push_back(RandomBatch(i));
  return batches;
}

std::string Label(const Json& functions, size_t function) {
  const std::string name = functions["name"][function], type = functions["type"][function];
  return name + (type == "kernel" ? "_[k]" : type.ends_with("+inline") ? "_[i]" : "");
}

// The answer's tree as lines of folded stacks.
Folded FoldedOf(const Json& answer, const Json& tree) {
  Folded lines;
  std::vector<std::string> path(tree["item"].size());
  for (size_t i = 0; i < path.size(); ++i) {
    const int64_t item = tree["item"][i], parent = tree["parent"][i];
    std::string own;
    if (item >= 0) own = Label(answer["functions"], static_cast<size_t>(item));
    if (item < -1) own = answer["groups"][static_cast<size_t>(-2 - item)];
    if (parent >= 0 && !path[static_cast<size_t>(parent)].empty())
      own = path[static_cast<size_t>(parent)] + ";" + own;
    path[i] = own;
    if (const int64_t self = tree["self"][i]; self > 0) lines[path[i]] += self;
  }
  return lines;
}

Folded Parsed(const std::string& text) {
  Folded lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const size_t space = line.rfind(' ');
    lines[line.substr(0, space)] += std::stoll(line.substr(space + 1));
  }
  return lines;
}

struct Sums {
  int64_t self = 0, total = 0;
  friend bool operator==(const Sums&, const Sums&) = default;
};

// Of each function, from folded lines whose first part is a command.
std::map<std::string, Sums> FunctionsOf(const Folded& lines) {
  std::map<std::string, Sums> sums;
  for (const auto& [line, count] : lines) {
    std::istringstream in(line.substr(line.find(';') + 1));
    std::set<std::string> seen;
    std::string last;
    for (std::string part; std::getline(in, part, ';'); last = part)
      if (seen.insert(part).second) sums[part].total += count;
    sums[last].self += count;
  }
  return sums;
}

struct Filter {
  const char* name;
  std::string words;
  KeepSample keep;
};

int64_t PidOf(const DecodedResource& process) { return std::stoll(process.Find("process.pid")); }
int64_t SecondOf(const DecodedSample& sample) {
  return sample.timestamps_unix_ns[0] / 1'000'000'000 - kRandomStartMs / 1000;
}

std::vector<Filter> Filters() {
  const auto chosen = [](int from, int to) {
    return "&chosen_from_ms=" + std::to_string(kRandomStartMs + from * 1000) +
           "&chosen_to_ms=" + std::to_string(kRandomStartMs + to * 1000);
  };
  const auto in = [](int from, int to, const DecodedSample& s) {
    return SecondOf(s) >= from && SecondOf(s) < to;
  };
  return {
      {"all", "", [](const auto&, const auto&) { return true; }},
      {"process", "&processes=101+db", [](const auto& p, const auto&) { return PidOf(p) == 101; }},
      {"processes", "&processes=101+db&processes=102+cc1plus",
       [](const auto& p, const auto&) { return PidOf(p) == 101 || PidOf(p) == 102; }},
      {"thread", "&threads=104+web+105",
       [](const auto& p, const auto& s) { return PidOf(p) == 104 && s.tid == 105; }},
      {"time within one index", chosen(1, 2),
       [=](const auto&, const auto& s) { return in(1, 2, s); }},
      {"time over several", chosen(3, 9), [=](const auto&, const auto& s) { return in(3, 9, s); }},
      {"time and process", chosen(2, 11) + "&processes=107+python3",
       [=](const auto& p, const auto& s) { return in(2, 11, s) && PidOf(p) == 107; }},
      {"command", "&commands=web", [](const auto& p, const auto&) { return PidOf(p) % 4 == 0; }},
      {"commands, one process", "&commands=web&commands=db&processes=101+db",
       [](const auto& p, const auto&) { return PidOf(p) == 101; }},
      {"container", "&containers=0123456789abcdef-1",
       [](const auto& p, const auto&) { return p.Find("container.id") == "0123456789abcdef-1"; }},
      {"service", "&services=shop",
       [](const auto& p, const auto&) { return p.Find("service.name") == "shop"; }},
      {"no service",
       "&services=", [](const auto& p, const auto&) { return p.Find("service.name").empty(); }},
      {"cgroup", "&cgroups=/system.slice/web.service",
       [](const auto& p, const auto&) { return PidOf(p) % 2 == 0; }},
      {"user", "&users=www-data", [](const auto& p, const auto&) { return PidOf(p) % 7 == 0; }},
      {"user and no cgroup", "&users=www-data&cgroups=",
       [](const auto& p, const auto&) { return PidOf(p) % 7 == 0 && PidOf(p) % 2 == 1; }},
      {"container and time", chosen(0, 5) + "&containers=0123456789abcdef-0",
       [=](const auto& p, const auto& s) {
         return in(0, 5, s) && p.Find("container.id") == "0123456789abcdef-0";
       }},
      {"nobody", "&processes=1+none", [](const auto&, const auto&) { return false; }},
  };
}

TEST(PageAnswer, EqualsTheFoldedStacksForEachFilter) {
  const std::vector<DecodedBatch> batches = Batches();
  for (const size_t per_index : {1, 5, 12}) {
    const PageStore store = StoreOf(batches, per_index);
    for (const Filter& filter : Filters()) {
      SCOPED_TRACE(std::string(filter.name) + ", batches an index: " + std::to_string(per_index));
      ProfileView view;
      for (const DecodedBatch& batch : batches) AddTo(&view, Part(batch, filter.keep));
      const Folded expected = Parsed(FoldedText(view));
      const Json answer = Json::parse(AnswerTo(store, filter.words + "&width=0&rows=100000"));
      EXPECT_EQ(FoldedOf(answer, answer["tree"]), expected);
      EXPECT_EQ(answer["tree"]["total"][0].get<int64_t>(), view.samples());
      EXPECT_EQ(answer["passing"].get<int64_t>(), view.samples());
      std::map<std::string, Sums> table;
      const Json& rows = answer["table"];
      for (size_t i = 0; i < rows["function"].size(); ++i)
        table[Label(answer["functions"], rows["function"][i])] = {rows["self"][i],
                                                                  rows["total"][i]};
      EXPECT_EQ(table, FunctionsOf(expected));
      EXPECT_EQ(rows["count"].get<size_t>(), table.size());
    }
  }
}

std::string KeyOfFunction(const Json& answer, size_t function) {
  const Json& f = answer["functions"];
  return KeyText(MixKey(f["type"][function].get<std::string>() + " " +
                            f["name"][function].get<std::string>() + " " +
                            f["file"][function].get<std::string>(),
                        0));
}

// By the function's name and type, then by place: its own and all values.
using LineSums = std::map<std::string, std::map<std::string, std::pair<int64_t, int64_t>>>;

LineSums LinesByFunction(const Json& answer) {
  LineSums out;
  const Json& lines = answer["table"]["lines"];
  for (size_t i = 0; i < lines["function"].size(); ++i) {
    const std::string place =
        lines["source"][i].get<std::string>() + ":" + std::to_string(lines["line"][i].get<int>());
    out[Label(answer["functions"], lines["function"][i])][place] = {lines["self"][i],
                                                                    lines["total"][i]};
  }
  return out;
}

// Questions that ask for no process are answered from classes; one that asks for every process has
// the same samples, and is answered from threads.
TEST(PageAnswer, ClassesAndThreadsGiveOneAnswer) {
  const PageStore store = StoreOf(Batches(), 5);
  const Json all = Json::parse(AnswerTo(store, "&width=0"));
  std::string processes;
  for (std::string key : all["processes"]["key"]) {
    std::ranges::replace(key, ' ', '+');
    processes += "&processes=" + key;
  }
  const std::string callers = "&callers=" + KeyOfFunction(all, 3);
  for (const std::string words :
       {"", "&hidden=kernel", "&hidden=native&hidden=cpython", "&hidden=native%2Binline&fold=1",
        "&hidden=native&hidden=native%2Binline",
        "&hidden=native&hidden=native%2Binline&hidden=kernel&by=none",
        "&hidden=native&hidden=native%2Binline&inverted=1", "&inverted=1",
        "&inverted=1&hidden=kernel&by=none", "&query=f1&hidden=kernel",
        "&query=%2Ff%5B13%5D%7Csys%2F", "&query=f", "&by=user&width=60", "&by=cgroup&inverted=1"}) {
    SCOPED_TRACE(words);
    const std::string all_of_it = "&width=0&lines=1&rows=100000" + words + callers;
    Json by_class = Json::parse(AnswerTo(store, all_of_it)),
         by_thread = Json::parse(AnswerTo(store, all_of_it + processes));
    for (const char* part : {"passing", "matched", "timeline", "shares", "types"})
      EXPECT_EQ(by_class[part], by_thread[part]) << part;
    EXPECT_EQ(by_class["table"]["self"], by_thread["table"]["self"]);
    EXPECT_EQ(by_class["table"]["total"], by_thread["table"]["total"]);
    EXPECT_EQ(LinesByFunction(by_class), LinesByFunction(by_thread));
    EXPECT_EQ(FoldedOf(by_class, by_class["tree"]), FoldedOf(by_thread, by_thread["tree"]));
    ASSERT_EQ(by_class.contains("sandwich"), by_thread.contains("sandwich"));
    if (!by_class.contains("sandwich")) continue;  // The function is hidden.
    EXPECT_EQ(by_class["sandwich"]["lines"], by_thread["sandwich"]["lines"]);
    for (const char* half : {"callers", "callees"})
      EXPECT_EQ(FoldedOf(by_class, by_class["sandwich"][half]),
                FoldedOf(by_thread, by_thread["sandwich"][half]))
          << half;
  }
}

PageStore Merged(const PageStore& from, size_t per_index) {
  PageStore store;
  const auto& indexes = from.indexes();
  for (size_t first = 0; first < indexes.size(); first += per_index) {
    const size_t end = std::min(first + per_index, indexes.size());
    absl::StatusOr<std::string> merged =
        MergeIndexes({indexes.begin() + static_cast<std::ptrdiff_t>(first),
                      indexes.begin() + static_cast<std::ptrdiff_t>(end)},
                     from.tables(), {});
    EXPECT_TRUE(merged.ok()) << merged.status();
    const auto bytes = std::make_shared<const std::string>(*std::move(merged));
    absl::StatusOr<PageIndex::Ptr> index = PageIndex::Open(*bytes, bytes, store.tables());
    EXPECT_TRUE(index.ok()) << index.status();
    if (index.ok()) store.Add(*index);
  }
  return store;
}

// Whatever tells no threads apart.
TEST(PageAnswer, AnIndexOfSeveralGivesTheAnswersOfItsParts) {
  const PageStore parts = StoreOf(Batches(), 2), merged = Merged(parts, 4);
  ASSERT_LT(merged.indexes().size(), parts.indexes().size());
  const std::string callers = "&callers=" + KeyOfFunction(Json::parse(AnswerTo(parts, "")), 3);
  for (const std::string words :
       {"", "&lanes=1", "&hidden=kernel", "&hidden=native&hidden=native%2Binline",
        "&hidden=native&hidden=native%2Binline&inverted=1", "&hidden=native%2Binline&fold=1",
        "&inverted=1", "&inverted=1&hidden=kernel&by=none", "&query=f1&hidden=kernel",
        "&query=%2Ff%5B13%5D%7Csys%2F", "&by=user&width=60", "&by=cgroup&inverted=1",
        "&containers=0123456789abcdef-1&services=", "&users=www-data&by=container"}) {
    SCOPED_TRACE(words);
    const std::string all = "&width=0&lines=1&rows=100000" + words + callers;
    Json expected = Json::parse(AnswerTo(parts, all)), answer = Json::parse(AnswerTo(merged, all));
    for (const char* part : {"passing", "matched", "timeline", "shares", "types", "lanes",
                             "processes", "threads", "commands", "containers", "services",
                             "cgroups", "users", "start_ms", "frequency_hz", "host"})
      EXPECT_EQ(answer[part], expected[part]) << part;
    EXPECT_EQ(answer["table"]["self"], expected["table"]["self"]);
    EXPECT_EQ(answer["table"]["total"], expected["table"]["total"]);
    EXPECT_EQ(LinesByFunction(answer), LinesByFunction(expected));
    EXPECT_EQ(FoldedOf(answer, answer["tree"]), FoldedOf(expected, expected["tree"]));
    ASSERT_EQ(answer.contains("sandwich"), expected.contains("sandwich"));
    if (!answer.contains("sandwich")) continue;
    EXPECT_EQ(answer["sandwich"]["lines"], expected["sandwich"]["lines"]);
    for (const char* half : {"callers", "callees"})
      EXPECT_EQ(FoldedOf(answer, answer["sandwich"][half]),
                FoldedOf(expected, expected["sandwich"][half]))
          << half;
  }
}

TEST(PageAnswer, AnIndexOfNothingIsNotMade) {
  const PageStore store = StoreOf(Batches(), 5);
  const PageTables& tables = store.tables();
  EXPECT_TRUE(absl::IsFailedPrecondition(MergeIndexes({}, tables, {}).status()));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(absl::IsCancelled(MergeIndexes(store.indexes(), tables, stop.get_token()).status()));
}

// What is remembered of the question before changes no answer.
TEST(PageAnswer, MemoryGivesTheAnswersThatItSaves) {
  const PageStore store = StoreOf(Batches(), 5);
  PageAnswerMemory memory;
  const Json all = Json::parse(AnswerTo(store, "&width=0"));
  for (const std::string& words :
       {std::string(""), std::string("&query=f1"), std::string("&order=name&rows=3"),
        "&callers=" + KeyOfFunction(all, 3), std::string("&hidden=kernel"),
        std::string("&hidden=kernel&query=sys"), std::string("&processes=101+db"),
        std::string("&query=f2")})
    EXPECT_EQ(AnswerTo(store, words, &memory), AnswerTo(store, words)) << words;
}

// Whatever the width: what is left out is in its parent's total, and the table is as it was.
TEST(PageAnswer, WhatIsTooNarrowStaysInItsParent) {
  const PageStore store = StoreOf(Batches(), 4);
  const Json whole = Json::parse(AnswerTo(store, "&width=0")),
             narrow = Json::parse(AnswerTo(store, "&width=40"));
  EXPECT_LT(narrow["tree"]["item"].size(), whole["tree"]["item"].size() / 2);
  EXPECT_EQ(narrow["tree"]["total"][0], whole["tree"]["total"][0]);
  EXPECT_EQ(narrow["table"]["self"], whole["table"]["self"]);
  EXPECT_EQ(narrow["table"]["total"], whole["table"]["total"]);
  const Json& tree = narrow["tree"];
  std::vector<int64_t> left = tree["total"];
  for (size_t i = 0; i < left.size(); ++i) {
    left[i] -= tree["self"][i].get<int64_t>();
    if (i > 0) left[tree["parent"][i].get<size_t>()] -= tree["total"][i].get<int64_t>();
    // Half a pixel, rounded down.
    if (i > 0) EXPECT_GE(tree["total"][i].get<int64_t>(), tree["total"][0].get<int64_t>() / 80);
  }
  EXPECT_GE(*std::ranges::min_element(left), 0);
}

// The key of a node's way, as the page makes it.
uint64_t KeyOf(const Json& answer, const Json& tree, size_t node) {
  if (node == 0) return 0;
  const int64_t item = tree["item"][node];
  const std::string text =
      item < 0
          ? "group " + answer["groups"][static_cast<size_t>(-2 - item)].get<std::string>()
          : answer["functions"]["type"][static_cast<size_t>(item)].get<std::string>() + " " +
                answer["functions"]["name"][static_cast<size_t>(item)].get<std::string>() + " " +
                answer["functions"]["file"][static_cast<size_t>(item)].get<std::string>();
  return StepKey(MixKey(text, 0), KeyOf(answer, tree, tree["parent"][node]));
}

TEST(PageAnswer, AZoomShowsWhatIsNarrowBelowIt) {
  const PageStore store = StoreOf(Batches(), 4);
  for (const std::string shape : {"", "&by=none", "&inverted=1", "&fold=1", "&hidden=kernel"}) {
    SCOPED_TRACE(shape);
    const Json whole = Json::parse(AnswerTo(store, shape + "&width=0"));
    const Json& tree = whole["tree"];
    size_t rare = 0;  // A narrow node with children of its own.
    for (size_t i = 1; i + 1 < tree["item"].size(); ++i)
      if (tree["parent"][i + 1] == i && tree["total"][i] < tree["total"][rare]) rare = i;
    const uint64_t key = KeyOf(whole, tree, rare);
    const Json zoomed = Json::parse(AnswerTo(store, shape + "&width=40&zoom=" + KeyText(key)));
    const Json& part = zoomed["tree"];
    size_t found = 0;
    for (size_t i = 1; i < part["item"].size(); ++i)
      if (KeyOf(zoomed, part, i) == key) found = i;
    ASSERT_NE(found, 0u);
    EXPECT_EQ(part["total"][found], tree["total"][rare]);
    const auto below = [](const Json& t, size_t node) {
      size_t count = 0;
      for (size_t i = node + 1; i < t["item"].size(); ++i) {
        size_t up = i;
        while (up > node) up = t["parent"][up].get<size_t>();
        count += up == node ? 1 : 0;
      }
      return count;
    };
    EXPECT_EQ(below(part, found), below(tree, rare));
  }
}

TEST(PageAnswer, InnermostFirstIsTheTableTurnedIntoATree) {
  const PageStore store = StoreOf(Batches(), 3);
  const Json answer = Json::parse(AnswerTo(store, "&inverted=1&width=0&rows=100000&by=none"));
  std::map<int64_t, int64_t> tops, selfs;
  const Json& tree = answer["tree"];
  for (size_t i = 1; i < tree["item"].size(); ++i)
    if (tree["parent"][i] == 0) tops[tree["item"][i]] = tree["total"][i];
  const Json& rows = answer["table"];
  for (size_t i = 0; i < rows["function"].size(); ++i)
    if (rows["self"][i] != 0) selfs[rows["function"][i]] = rows["self"][i];
  EXPECT_EQ(tops, selfs);
}

TEST(PageAnswer, CallersCalleesAndLinesHaveTheTablesNumbers) {
  const PageStore store = StoreOf(Batches(), 3);
  const Json all = Json::parse(AnswerTo(store, "&width=0&lines=1&rows=100000"));
  const LineSums by_function = LinesByFunction(all);
  int python = 0;
  for (size_t i = 0; i < all["table"]["function"].size(); ++i) {
    const size_t function = all["table"]["function"][i];
    const Json& f = all["functions"];
    const uint64_t key = MixKey(f["type"][function].get<std::string>() + " " +
                                    f["name"][function].get<std::string>() + " " +
                                    f["file"][function].get<std::string>(),
                                0);
    const Json answer = Json::parse(AnswerTo(store, "&width=0&callers=" + KeyText(key)));
    SCOPED_TRACE(f["name"][function].get<std::string>());
    const Json& sandwich = answer["sandwich"];
    for (const char* half : {"callers", "callees"}) {
      EXPECT_EQ(sandwich[half]["total"][0], all["table"]["total"][i]);
      EXPECT_EQ(sandwich[half]["self"][0], all["table"]["self"][i]);
    }
    const Json& own = sandwich["lines"];
    const auto& of_table = by_function.at(Label(f, function));
    ASSERT_EQ(own["line"].size(), of_table.size());
    for (size_t line = 0; line < own["line"].size(); ++line) {
      const auto& sums = of_table.at(own["source"][line].get<std::string>() + ":" +
                                     std::to_string(own["line"][line].get<int>()));
      EXPECT_EQ(sums,
                std::pair(own["self"][line].get<int64_t>(), own["total"][line].get<int64_t>()));
    }
    int64_t self = 0;
    for (const Json& line : sandwich["lines"]["self"]) self += line.get<int64_t>();
    EXPECT_EQ(self, all["table"]["self"][i].get<int64_t>());
    if (f["type"][function] != "cpython") continue;
    EXPECT_EQ(sandwich["lines"]["line"], Json({7}));
    EXPECT_EQ(sandwich["lines"]["source"], Json({"app.py"}));
    EXPECT_EQ(sandwich["lines"]["total"][0], all["table"]["total"][i]);
    ++python;
  }
  EXPECT_EQ(python, 3);
}

// Hidden frames leave their values to their callers; stacks of hidden frames only are not shown.
TEST(PageAnswer, HiddenFramesLeaveTheirValuesToTheirCallers) {
  const PageStore store = StoreOf(Batches(), 3);
  const Json whole = Json::parse(AnswerTo(store, "&width=0&by=none")),
             hidden = Json::parse(
                 AnswerTo(store, "&width=0&by=none&hidden=kernel&hidden=native&rows=100000"));
  Folded expected;
  for (const auto& [line, count] : FoldedOf(whole, whole["tree"])) {
    std::istringstream in(line);
    std::string shown;
    for (std::string part; std::getline(in, part, ';');) {
      const bool native =
          part.ends_with("_[k]") || part == "f0" || part == "f4" || part == "f8" ||
          part.starts_with("[x.so") ||
          (part.starts_with("f") && !part.ends_with("_[i]") && std::stoi(part.substr(1)) % 4 == 2);
      if (!native) shown += (shown.empty() ? "" : ";") + part;
    }
    if (!shown.empty()) expected[shown] += count;
  }
  EXPECT_EQ(FoldedOf(hidden, hidden["tree"]), expected);
  int64_t self = 0;
  for (const Json& row : hidden["table"]["self"]) self += row.get<int64_t>();
  EXPECT_EQ(self, hidden["tree"]["total"][0].get<int64_t>());
  EXPECT_EQ(whole["shares"], hidden["shares"]);
}

TEST(PageAnswer, SearchCoversEachStackOnce) {
  const PageStore store = StoreOf(Batches(), 3);
  const Json whole = Json::parse(AnswerTo(store, "&width=0&by=none"));
  int64_t expected = 0;
  for (const auto& [line, count] : FoldedOf(whole, whole["tree"]))
    if (line.find("f1") != line.npos || line.find("syscall") != line.npos) expected += count;
  for (const std::string query : {"%2Ff1%7Csyscall%2F", "%2FF1%7CSYSCALL%2F"}) {
    const Json answer = Json::parse(AnswerTo(store, "&rows=1&query=" + query));
    EXPECT_EQ(answer["matched"].get<int64_t>(), expected);
    EXPECT_EQ(answer["table"]["function"].size(), 1u);
    EXPECT_GT(answer["table"]["count"].get<int>(), 3);
  }
  const Json wrong = Json::parse(AnswerTo(store, "&query=%2F%28%2F"));
  EXPECT_TRUE(wrong["query_error"].get<std::string>().starts_with("no valid expression"));
  EXPECT_EQ(wrong["matched"], 0);
}

TEST(PageAnswer, TimelineListsAndLanesAddUp) {
  const PageStore store = StoreOf(Batches(), 5);
  const Json answer = Json::parse(AnswerTo(store, "&lanes=1"));
  const int64_t all = answer["passing"];
  const auto sum = [](const Json& list) {
    int64_t total = 0;
    for (const Json& value : list) total += value.get<int64_t>();
    return total;
  };
  EXPECT_EQ(sum(answer["timeline"]), all);
  for (const char* list :
       {"processes", "threads", "commands", "containers", "services", "cgroups", "users"})
    EXPECT_EQ(sum(answer[list]["count"]), all) << list;
  int64_t processes = 0, threads = 0;
  for (const Json& lane : answer["lanes"]) {
    EXPECT_EQ(sum(lane["count"]), lane["sum"].get<int64_t>());
    (lane["thread"] == "" ? processes : threads) += lane["sum"].get<int64_t>();
  }
  EXPECT_EQ(processes, all);
  EXPECT_GT(threads, 0);
  // A chosen time changes neither the timeline nor what a lane shows.
  const Json chosen = Json::parse(
      AnswerTo(store, "&lanes=1&chosen_from_ms=" + std::to_string(kRandomStartMs + 1000) +
                          "&chosen_to_ms=" + std::to_string(kRandomStartMs + 3000)));
  EXPECT_EQ(chosen["timeline"], answer["timeline"]);
  EXPECT_EQ(chosen["passing"].get<int64_t>(),
            answer["timeline"][1].get<int64_t>() + answer["timeline"][2].get<int64_t>());
}

TEST(PageAnswer, AStoppedOneIsCancelled) {
  const PageStore store = StoreOf(Batches(), 5);
  const absl::StatusOr<PageQuestion> question = ParsePageQuestion("from_ms=0&to_ms=2000000000000");
  ASSERT_TRUE(question.ok());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(absl::IsCancelled(WritePageAnswer(
      store, *question, {}, stop.get_token(), [](std::string_view) { return absl::OkStatus(); })));
}

}  // namespace
}  // namespace stackray
